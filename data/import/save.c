/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights that go into a predictor, or back into the bytes they came from. */
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/little.h"
#include "export/proto.h"
#include "import/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ a predictor ------ */

int ls_predictor_load_onnx(ls_predictor *predictor, const ls_onnx *onnx)
{
    LS__NEED_AS(predictor, "predictor", LS_EINVAL);
    LS__NEED(onnx);

    ls_array *list = ls__new((size_t)onnx->weights + 1, sizeof *list,
                             "an ONNX model");
    int n = 0, status = list ? 0 : LS_ENOMEM;

    for (int i = 0; i < onnx->weights && status == 0; i++) {
        const ls__weight *w = onnx->weight[i];
        ls_array *a = &list[n];

        if (!w->param)
            continue;
        *a = (ls_array){.name = w->param, .dtype = LS_F32, .rank = w->rank};
        memcpy(a->shape, w->shape, sizeof a->shape);
        a->data = ls__new((size_t)ls__count(w->rank, w->shape), sizeof(float),
                          w->param);
        if (!a->data)
            status = LS_ENOMEM;
        else
            ls__weight_fill(w, a->data);
        n++;
    }
    if (status == 0)
        status = ls_predictor_set(predictor, n, list);
    for (int i = 0; i < n; i++)
        free(list[i].data);
    free(list);
    return status;
}

/* ------ a model file ------ */

/* Axis j of the array is axis k of the parameter; NULL: no memory. */
static json_t *axes_of(const ls__weight *w)
{
    json_t *list = json_array();

    for (int j = 0; j < w->tensor->rank; j++)
        for (int k = 0; k < w->rank; k++)
            if (w->order[k] == j)
                json_array_append_new(list, json_integer(k));
    return list;
}

static bool in_order(const ls__weight *w)
{
    for (int k = 0; k < w->rank; k++)
        if (w->order[k] != k)
            return false;
    return true;
}

const char *ls_onnx_axes(ls_onnx *onnx)
{
    LS__NEED_OR(onnx, NULL);

    json_t *all = json_object();
    int status = all ? 0 : -1;

    for (int i = 0; i < onnx->weights && status == 0; i++) {
        const ls__weight *w = onnx->weight[i];

        if (w->param && w->of) {
            json_decref(all);
            ls__fail(LS_ENOTSUP, "\"%s\" lies otherwise in the file than by "
                     "another order of its axes: save it as F.onnx", w->param);
            return NULL;
        }
        if (w->tensor && w->param && !in_order(w))
            status = json_object_set_new(all, w->param, axes_of(w));
    }
    free(onnx->axes);
    onnx->axes = status == 0 ? ls__json_text(all, JSON_COMPACT) : NULL;
    json_decref(all);
    if (!onnx->axes)
        ls__no_memory("the axes of weights", 0);
    return onnx->axes;
}

/* ------ a file ------ */

/* A file to be written: bytes that were read, and a copy of them. */
typedef struct copy {
    const char *name; /* NULL: the model itself; else the file beside it */
    const uint8_t *from;
    size_t size;
    uint8_t *to;
    char *now; /* the name of the copy beside, where it is another */
} copy;

static copy *copy_of(copy *list, int n, const ls__weight *w)
{
    for (int i = 0; i < n; i++)
        if (w->tensor->bytes.at >= list[i].from &&
            w->tensor->bytes.at <= list[i].from + list[i].size &&
            !w->tensor->where == !list[i].name)
            return &list[i];
    return NULL;
}

/* Has another parameter the same numbers? */
static bool shared(const ls_onnx *onnx, const ls__weight *w)
{
    for (int i = 0; i < onnx->weights; i++)
        if (onnx->weight[i] != w && onnx->weight[i]->param &&
            onnx->weight[i]->tensor == w->tensor &&
            (!w->of || onnx->weight[i]->of != w->of))
            return true;
    return false;
}

static int put_weight(copy *list, int n, const ls_onnx *onnx,
                      const ls__weight *w, const ls_trainer *t)
{
    const ls__om_tensor *of = w->tensor;
    copy *c = copy_of(list, n, w);
    int64_t count = ls__count(w->rank, w->shape);
    uint8_t *to;
    float *now, *was;
    int status;

    LS__ASSERT(c);
    if ((of->type != LS__OM_FLOAT && of->type != LS__OM_DOUBLE) || !of->width)
        return ls__fail(LS_ENOTSUP, "\"%s\" is of type %lld: written are "
                        "weights that are F32 or F64 in the file", of->name,
                        (long long)of->type);
    now = ls__new((size_t)count, sizeof *now, of->name);
    was = ls__new((size_t)count, sizeof *was, of->name);
    status = now && was ? ls_trainer_get(t, w->param, count, now)
                        : LS_ENOMEM;
    to = c->to + (of->bytes.at - c->from);
    if (status == 0)
        ls__weight_fill(w, was);
    for (int64_t i = 0; status == 0 && i < count; i++) {
        uint8_t *at = to + ls__weight_place(w, i) * of->width;
        double wide = (double)now[i];

        if (memcmp(&now[i], &was[i], sizeof *now) == 0)
            continue;
        if (shared(onnx, w))
            status = ls__fail(LS_ENOTSUP, "\"%s\" and another parameter are "
                              "one initializer in the file, as they were "
                              "alike", w->name);
        else
            memcpy(at, of->width == 4 ? (const void *)&now[i] : &wide,
                   (size_t)of->width);
        ls__little(at, 1, (size_t)of->width);
    }
    free(now);
    free(was);
    return status;
}

/* The path of a file beside another one; to be freed. */
static char *beside(const char *path, const char *name)
{
    const char *slash = name ? strrchr(path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    size_t all = folder + strlen(name ? name : path) + 1;
    char *text = ls__new(all, 1, path);

    if (text) {
        memcpy(text, path, folder);
        memcpy(text + folder, name ? name : path, all - folder);
    }
    return text;
}

/* Is a path in the folder that the model was read from? */
static bool same_folder(const ls_onnx *onnx, const char *path)
{
    char *a = beside(onnx->om.path, "."), *b = beside(path, ".");
    char *x = a ? realpath(a, NULL) : NULL, *y = b ? realpath(b, NULL) : NULL;
    bool same = x && y && !strcmp(x, y);

    free(a);
    free(b);
    free(x);
    free(y);
    return same;
}

/* ------ files beside the copy, in the folder of the model ------ */

/* The messages around the name of a file beside: a model's graph, its
 * initializers, their entries of external data, and the value of one. */
static const int way[] = {7, 5, 13, 2};
enum { ENTRY = 3 };

/* The name of the copy that an entry tells the place of; NULL: of none. */
static const char *name_in(const copy *list, int n, ls__wire entry)
{
    ls__field key, value;

    if (!ls__wire_find(entry, 1, &key) || !ls__wire_find(entry, 2, &value) ||
        !ls__wire_is(key.bytes, "location"))
        return NULL;
    for (int i = 0; i < n; i++)
        if (list[i].now && ls__wire_is(value.bytes, list[i].name))
            return list[i].now;
    return NULL;
}

/* A message with the new names of files, and all else as it was. */
static ls__proto renamed(const copy *list, int n, ls__wire m, int depth)
{
    const char *name = depth == ENTRY ? name_in(list, n, m) : NULL;
    ls__proto all = {0}, part;
    ls__field f;

    for (const uint8_t *from = m.at; ls__wire_next(&m, &f) > 0; from = m.at)
        if (f.number != way[depth] || (depth == ENTRY && !name)) {
            ls__bytes_add(&all, from, (size_t)(m.at - from));
        } else if (name) {
            ls__proto_text(&all, way[depth], name);
        } else {
            part = renamed(list, n, f.bytes, depth + 1);
            ls__proto_message(&all, way[depth], &part);
        }
    return all;
}

/* Name the copies beside after the model's copy, as exporters do. */
static int name_copies(copy *list, int besides, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t room = strlen(base) + 24;

    for (int i = 0; i < besides; i++) {
        if (!(list[i].now = ls__new(room, 1, path)))
            return LS_ENOMEM;
        if (i)
            snprintf(list[i].now, room, "%s.%d.data", base, i);
        else
            snprintf(list[i].now, room, "%s.data", base);
        for (int k = 0; k < besides; k++)
            if (!strcmp(list[i].now, list[k].name))
                return ls__fail(LS_EINVAL, "%s: the weights of the model that "
                                "was read are in \"%s\", which would be "
                                "written over: save under another name",
                                path, list[k].name);
    }
    return 0;
}

/* Give the model, the last copy, the names of the others. */
static int rename_model(copy *list, int besides)
{
    copy *model = &list[besides];
    ls__wire old = {model->to, model->to + model->size};
    ls__proto now = renamed(list, besides, old, 0);

    free(model->to);
    model->to = (uint8_t *)now.bytes;
    model->size = now.size;
    return now.failed ? ls__no_memory("an ONNX model", now.size) : 0;
}

/* ------ writing ------ */

static int write_copy(const copy *c, const char *path)
{
    char *to = beside(path, c->now ? c->now : c->name);
    int status = to ? ls__bytes_save(to, c->to, c->size) : LS_ENOMEM;

    free(to);
    return status;
}

static int copy_all(copy *list, const ls__om *om)
{
    int n = om->besides + 1;

    for (int i = 0; i < om->besides; i++)
        list[i] = (copy){om->beside[i].name, om->beside[i].bytes,
                         om->beside[i].size, NULL, NULL};
    list[n - 1] = (copy){NULL, om->bytes, om->size, NULL, NULL};
    for (int i = 0; i < n; i++) {
        if (!(list[i].to = ls__new(list[i].size, 1, "an ONNX model")))
            return LS_ENOMEM;
        if (list[i].size)
            memcpy(list[i].to, list[i].from, list[i].size);
    }
    return 0;
}

int ls_onnx_save(const ls_onnx *onnx, const ls_trainer *trainer,
                 const char *path)
{
    LS__NEED(onnx);
    LS__NEED(trainer);
    LS__NEED(path);

    int besides = onnx->om.besides, n = besides + 1, status;
    copy *list = ls__new((size_t)n, sizeof *list, "an ONNX model");
    bool apart = besides && same_folder(onnx, path);

    if (!list)
        return LS_ENOMEM;
    status = copy_all(list, &onnx->om);
    if (status == 0 && apart)
        status = name_copies(list, besides, path);
    for (int i = 0; i < onnx->weights && status == 0; i++)
        if (onnx->weight[i]->tensor && onnx->weight[i]->param)
            status = put_weight(list, n, onnx, onnx->weight[i], trainer);
    if (status == 0 && apart)
        status = rename_model(list, besides);
    for (int i = 0; i < n && status == 0; i++) /* the model last */
        status = write_copy(&list[i], path);
    for (int i = 0; i < n; i++) {
        free(list[i].to);
        free(list[i].now);
    }
    free(list);
    return status;
}

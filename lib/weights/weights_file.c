/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters to a safetensors file and from one.  Loading checks everything -
 * the file, its names, shapes and element types - before the first value of
 * the model changes. */
#include "weights/weights_file.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/pattern.h"
#include "model/graph_json.h"
#include "file/convert.h"
#include "file/safetensors.h"
#include "weights/file_axes.h"

#include <stdlib.h>
#include <string.h>

/* ------ Saving ------ */

ls__safetensor ls__weights_tensor(const ls__slot *s, const float *value)
{
    ls__safetensor t = {.name = s->name, .rank = s->rank,
                        .data = value + s->offset};

    memcpy(t.shape, s->shape, sizeof s->shape);
    return t;
}

static int list_pairs(ls_setting *pair, const char *hex, const ls__texts *texts)
{
    int n = 0;

    pair[n++] = (ls_setting){"sha256", hex};
    if (texts->text)
        pair[n++] = (ls_setting){texts->key, texts->text};
    if (texts->axes)
        pair[n++] = (ls_setting){LS__AXES_KEY, texts->axes};
    for (int i = 0; i < texts->notes; i++)
        pair[n++] = texts->note[i];
    LS__ASSERT(n <= texts->notes + 3); /* of which there is room */
    return n;
}

int ls__weights_write(const char *path, int n, ls__safetensor *list,
                      const ls__texts *texts)
{
    ls_setting *pair = ls__new((size_t)texts->notes + 3, sizeof *pair,
                               "notes");
    float *own = NULL;
    char hex[65];
    json_t *axes;
    int status;

    if (!pair)
        return LS_ENOMEM;
    status = ls__axes_read(&axes, texts->axes, path);
    if (status == 0 && axes)
        status = ls__axes_turn(axes, path, n, list, &own);
    if (status == 0) {
        ls__safetensors_sha256(n, list, hex);
        status = ls__safetensors_write(path, n, list,
                                       list_pairs(pair, hex, texts), pair);
    }
    json_decref(axes);
    free(own);
    free(pair);
    return status;
}

int ls__weights_save(const ls__model_view *of, const char *path,
                     const char *graph, int notes, const ls_setting *note)
{
    const ls__texts texts = {LS__GRAPH_KEY, graph, notes, note, of->axes};
    int n = of->layout->count, status;
    ls__safetensor *list = ls__new((size_t)n, sizeof *list, "list of tensors");

    if (!list)
        return LS_ENOMEM;
    for (int i = 0; i < n; i++)
        list[i] = ls__weights_tensor(&of->layout->slot[i], of->value);
    status = ls__weights_write(path, n, list, &texts);
    free(list);
    return status;
}

/* ------ Loading ------ */

/* A load on its way: which tensor goes into which slot. */
typedef struct load {
    const ls__params *layout;
    float *value;
    const char *path, *names;
    const ls__safetensors *file;
    json_t *axes;        /* of arrays that lie otherwise; or NULL */
    float *room;         /* for one of these */
    const ls_entry **of; /* [slot]; NULL: the slot keeps its values */
} load;

static bool wanted(const load *l, const char *name)
{
    return !l->names || ls__matches(l->names, name);
}

static const ls_entry *find(const load *l, const char *name)
{
    for (int i = 0; i < l->file->count; i++)
        if (!strcmp(l->file->entry[i].name, name))
            return &l->file->entry[i];
    return NULL;
}

static int missing(const load *l, const char *name)
{
    const char *near = "";
    size_t most = 0;

    for (int i = 0; i < l->file->count; i++) {
        size_t n = ls__name_nearness(name, l->file->entry[i].name);

        if (n > most) {
            most = n;
            near = l->file->entry[i].name;
        }
    }
    return ls__fail(LS_ENOTFOUND, "%s: has no tensor \"%s\"%s%s%s", l->path,
                    name, *near ? "; the nearest is \"" : "", near,
                    *near ? "\"" : "");
}

static int check_shape(const load *l, const ls__slot *s, const ls_entry *e)
{
    char want[LS__SHAPE_TEXT], got[LS__SHAPE_TEXT];
    ls__turn t;
    int status = ls__axes_find(l->axes, l->path, s->name, s->rank, s->shape,
                               &t);
    int rank = t.is ? t.rank : s->rank;
    const int64_t *shape = t.is ? t.shape : s->shape;

    if (status < 0)
        return status;
    if (rank == e->rank &&
        !memcmp(shape, e->shape, (size_t)rank * sizeof *shape))
        return 0;
    return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" is %s, the parameter %s",
                    l->path, e->name, ls__shape_text(got, e->rank, e->shape),
                    ls__shape_text(want, rank, shape));
}

static int match(load *l, int i)
{
    const ls__slot *s = &l->layout->slot[i];
    const ls_entry *e;
    int status;

    if (!wanted(l, s->name))
        return 0;
    if (!(e = find(l, s->name)))
        return missing(l, s->name);
    if ((status = check_shape(l, s, e)) < 0 ||
        (status = ls__convert_check(e, l->path)) < 0)
        return status;
    l->of[i] = e;
    return 0;
}

/* No tensor that is wanted may be left over: it would be a misspelt name. */
static int check_unknown(const load *l, const ls_entry *e)
{
    const ls__params *p = l->layout;

    if (!wanted(l, e->name) || ls__params_find(p, e->name))
        return 0;
    return ls__fail(LS_ENOTFOUND, "%s: tensor \"%s\" is none of the %d "
                    "parameters; the nearest is \"%s\"", l->path, e->name,
                    p->count, ls__params_nearest(p, e->name));
}

static int check(load *l)
{
    int matched = 0, status = 0;

    for (int i = 0; i < l->file->count && status == 0; i++)
        status = check_unknown(l, &l->file->entry[i]);
    for (int i = 0; i < l->layout->count && status == 0; i++) {
        status = match(l, i);
        matched += status == 0 && l->of[i];
    }
    if (status == 0 && !matched)
        return ls__fail(LS_ENOTFOUND, "%s: the pattern \"%s\" matches no "
                        "parameter; the first is \"%s\"", l->path,
                        l->names ? l->names : "*",
                        l->layout->slot[0].name);
    return status;
}

/* Make room for the largest array that lies otherwise. */
static int make_room(load *l)
{
    int64_t most = 0;

    for (int i = 0; l->axes && i < l->layout->count; i++)
        if (l->of[i] && l->of[i]->elements > most)
            most = l->of[i]->elements;
    l->room = most ? ls__new((size_t)most, sizeof *l->room, "weights") : NULL;
    return most && !l->room ? LS_ENOMEM : 0;
}

static void take(load *l)
{
    for (int i = 0; i < l->layout->count; i++) {
        const ls__slot *s = &l->layout->slot[i];
        float *to = l->value + s->offset;
        ls__turn t;

        if (!l->of[i])
            continue;
        ls__axes_find(l->axes, l->path, s->name, s->rank, s->shape, &t);
        ls__convert(l->of[i], t.is ? l->room : to);
        if (t.is)
            ls__axes_copy(&t, l->room, to, false);
    }
}

int ls__weights_load(const ls__params *layout, float *value, const char *path,
                     const char *names)
{
    ls__safetensors file;
    load l = {layout, value, path, names, &file, NULL, NULL, NULL};
    int status = ls__safetensors_read(&file, path);

    if (status < 0)
        return status;
    status = ls__axes_read(&l.axes, ls__safetensors_meta(&file, LS__AXES_KEY),
                           path);
    l.of = ls__new((size_t)layout->count, sizeof *l.of, "list of tensors");
    if (status == 0)
        status = l.of ? check(&l) : LS_ENOMEM;
    if (status == 0)
        status = make_room(&l);
    if (status == 0)
        take(&l);
    json_decref(l.axes);
    free(l.room);
    free(l.of);
    ls__safetensors_free(&file);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See lora_file.h. */
#include "lora/lora_file.h"
#include "base/error.h"
#include "base/pattern.h"
#include "base/state_hash.h"
#include "file/json.h"
#include "file/safetensors.h"
#include "lora/lora.h"
#include "graph/op.h"
#include "model/model_file.h"
#include "model/weights_file.h"
#include "train/trainer.h"
#include <lockstep/lora.h>
#include <lockstep/model.h>

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static bool is_own(const ls__slot *s)
{
    return ls__matches(LS_LORA_OWN, s->name);
}

static const ls__slot *slot_of(const ls__model *m, const ls_node *n)
{
    return ls__params_declared(&m->params, n->param[0]);
}

/* ------ which model they are for ------ */

/* SHA-256 of all other parameters, each as in the state hash. */
static void hash_rest(const ls__model *m, char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < m->params.count; i++) {
        const ls__slot *s = &m->params.slot[i];

        if (is_own(s))
            continue;
        ls__state_array(&sha, "", s->name, s->rank, s->shape,
                        m->value + s->offset,
                        (size_t)s->size * sizeof *m->value);
    }
    ls__sha256_hex(&sha, hex);
}

/* ------ saving ------ */

/* alpha / rank */
static double scale_of(const ls__lora *l)
{
    return ls__attribute_number(l->scale, "scale");
}

static json_t *list_json(const ls_graph *g)
{
    json_t *list = json_array();
    ls__lora l;

    for (int at = 0; list && ls__lora_next(g, &at, &l);)
        if (json_array_append_new(
                list, json_pack("{s:s, s:I, s:f}", "layer", l.layer->name,
                                "rank", (json_int_t)ls__width(l.a), "scale",
                                scale_of(&l))) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Returns a text to be freed; NULL with a message. */
static char *describe(const ls__model *m)
{
    char hex[65], *text = NULL;
    json_t *all;
    size_t bytes;

    hash_rest(m, hex);
    all = json_pack("{s:i, s:s, s:o}", "version", VERSION, "base", hex,
                    "adapters", list_json(m->graph));
    if (all)
        text = ls__json_text(all, JSON_COMPACT, &bytes);
    else
        ls__no_memory("the description of adapters", 0);
    json_decref(all);
    return text;
}

static int list_tensors(const ls__model *m, ls__safetensor *list)
{
    int n = 0;

    for (int i = 0; i < m->params.count; i++) {
        const ls__slot *s = &m->params.slot[i];

        if (!is_own(s))
            continue;
        list[n] = (ls__safetensor){
            .name = s->name, .rank = s->rank, .data = m->value + s->offset};
        memcpy(list[n++].shape, s->shape, sizeof s->shape);
    }
    return n;
}

static int check_any(const ls__model *m, const char *path)
{
    if (m->graph && ls__lora_count(m->graph))
        return 0;
    return ls__fail(LS_EINVAL, "%s: the model has no adapters; ls_lora_add "
                    "adds them to its graph", path);
}

int ls__lora_save(const ls__model *m, const char *path, int notes,
                  const ls_setting *note)
{
    ls__texts texts = {.key = LS__LORA_KEY, .notes = notes, .note = note};
    int status = check_any(m, path);
    ls__safetensor *list;
    char *text;

    if (status < 0)
        return status;
    if (!(texts.text = text = describe(m)))
        return LS_ENOMEM;
    list = ls__new((size_t)m->params.count, sizeof *list, "list of tensors");
    status = list ? ls__weights_write(path, list_tensors(m, list), list, &texts)
                  : LS_ENOMEM;
    free(text);
    free(list);
    return status;
}

/* ------ reading what a file describes ------ */

static int bad(const char *path, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: the description of its adapters: %s", path,
                    what);
}

static int check_object(const json_t *all, const char *path)
{
    const json_t *base = json_object_get(all, "base");

    if (json_integer_value(json_object_get(all, "version")) != VERSION)
        return ls__fail(LS_ENOTSUP, "%s: this lockstep reads version %d of a "
                        "description of adapters", path, VERSION);
    if (!json_string_value(base) || json_string_length(base) != 64 ||
        !json_is_array(json_object_get(all, "adapters")))
        return bad(path, "it has no \"base\" or no \"adapters\"");
    return 0;
}

/* *all is to be freed. */
static int read_description(json_t **all, const char *path)
{
    ls__safetensors file;
    json_error_t error;
    const char *text;
    int status = ls__safetensors_read(&file, path);

    *all = NULL;
    if (status < 0)
        return status;
    if (!(text = ls__safetensors_meta(&file, LS__LORA_KEY)))
        status = ls__fail(LS_EFORMAT, "%s: holds no adapters (no \"%s\" in its "
                          "metadata)", path, LS__LORA_KEY);
    else if (!(*all = json_loads(text, JSON_REJECT_DUPLICATES, &error)))
        status = ls__json_fail(path, "the description of adapters is no JSON",
                               0, &error);
    if (status == 0)
        status = check_object(*all, path);
    ls__safetensors_free(&file);
    return status;
}

/* One of its adapters. */
typedef struct described {
    const char *layer;
    int64_t rank;
    double scale;
} described;

static int read_one(const json_t *from, const char *path, described *d)
{
    d->layer = json_string_value(json_object_get(from, "layer"));
    d->rank = json_integer_value(json_object_get(from, "rank"));
    d->scale = json_number_value(json_object_get(from, "scale"));
    if (d->layer && d->rank > 0 && d->scale > 0 && json_object_size(from) == 3)
        return 0;
    return bad(path, "an adapter has no layer, no rank or no scale");
}

/* ------ adding them to a graph ------ */

static int insert(ls_graph *g, const char *path, const described *d)
{
    ls_node *layer = ls__lora_layer(g, d->layer);
    int64_t in, out;

    if (!layer)
        return ls__fail(LS_ENOTFOUND, "%s: adapts \"%s\", which is no dense "
                        "layer with weights of its own here", path, d->layer);
    if (ls__lora_has(layer))
        return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which has an adapter "
                        "here", path, d->layer);
    in = ls__width(layer->in[0]);
    out = ls__width(layer);
    if (d->rank > (in < out ? in : out))
        return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which takes %lld to "
                        "%lld here, with rank %lld", path, d->layer,
                        (long long)in, (long long)out, (long long)d->rank);
    return ls__lora_insert(layer, d->rank, d->scale);
}

static int insert_all(ls_graph *g, const char *path, const json_t *list)
{
    int status = 0;

    for (size_t i = json_array_size(list); i-- > 0 && status == 0;) {
        described d;

        status = read_one(json_array_get(list, i), path, &d);
        if (status == 0)
            status = insert(g, path, &d);
    }
    return status;
}

int ls_lora_add_saved(ls_graph *g, const char *path)
{
    LS__NEED_AS(g, "graph", LS_EINVAL);

    json_t *all;
    int status;

    if (!path)
        ls__graph_null(g, __func__, "path");
    if (g->status)
        return ls__fail(g->status, "%s", g->message);
    status = read_description(&all, path);
    if (status == 0)
        status = insert_all(g, path, json_object_get(all, "adapters"));
    json_decref(all);
    if (status < 0)
        ls__graph_failed(g, status);
    return status;
}

/* ------ loading ------ */

static int check_one(const ls__model *m, const char *path, const described *d)
{
    ls__lora l;

    for (int at = 0; ls__lora_next(m->graph, &at, &l);)
        if (!strcmp(l.layer->name, d->layer)) {
            if (ls__width(l.a) == d->rank && scale_of(&l) == d->scale)
                return 0;
            return ls__fail(LS_EINVAL, "%s: the adapter of \"%s\" has rank "
                            "%lld and alpha %g, not %lld and %g", path,
                            d->layer, (long long)d->rank,
                            d->scale * (double)d->rank,
                            (long long)ls__width(l.a),
                            scale_of(&l) * (double)ls__width(l.a));
        }
    return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which has no adapter here",
                    path, d->layer);
}

static int check_all(const ls__model *m, const char *path, const json_t *all)
{
    const json_t *list = json_object_get(all, "adapters");
    int n = ls__lora_count(m->graph), status = 0;
    char hex[65];

    if ((size_t)n != json_array_size(list))
        return ls__fail(LS_EINVAL, "%s: has %lld adapters, the model %d", path,
                        (long long)json_array_size(list), n);
    for (int i = 0; i < n && status == 0; i++) {
        described d;

        status = read_one(json_array_get(list, (size_t)i), path, &d);
        if (status == 0)
            status = check_one(m, path, &d);
    }
    hash_rest(m, hex);
    if (status == 0 &&
        strcmp(hex, json_string_value(json_object_get(all, "base"))))
        return ls__fail(LS_EINVAL, "%s: these are adapters of another base: "
                        "its parameters have the SHA-256 %.16s.., here it is "
                        "%.16s..", path,
                        json_string_value(json_object_get(all, "base")), hex);
    return status;
}

int ls__lora_load(ls__model *m, const char *path)
{
    json_t *all;
    int status = check_any(m, path);

    if (status < 0)
        return status;
    status = read_description(&all, path);
    if (status == 0)
        status = check_all(m, path, all);
    if (status == 0)
        status = ls__weights_load(m, path, LS_LORA_OWN);
    json_decref(all);
    return status;
}

int ls_lora_load(ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);
    return ls__lora_load(&t->model, path);
}

static int open_both(ls__model *m, ls_graph *g, const char *path,
                     const char *adapters)
{
    ls__model_options o = {.purpose = LS__TO_PREDICT};
    int status = ls_lora_add_saved(g, adapters);

    if (status < 0 || (status = ls__model_open(m, g, &o)) < 0 ||
        (status = ls__weights_load(m, path, LS_LORA_REST)) < 0 ||
        (status = ls__lora_load(m, adapters)) < 0)
        return status;
    ls__exec_pack(m->plan, &m->weights, 0, 1, false);
    return 0;
}

int ls__lora_model_load(ls__model *m, const char *path, const char *adapters)
{
    ls_graph *g;
    int status = ls_graph_load(&g, path);

    if (status < 0)
        return status;
    status = open_both(m, g, path, adapters);
    ls_graph_free(g);
    return status;
}

/* ------ merging ------ */

/* w (in,out) = w + scale a b, a (in,rank), b (rank,out). */
static void add_product(int64_t in, int64_t out, int64_t rank, double scale,
                        const float *a, const float *b, float *w)
{
    for (int64_t i = 0; i < in; i++)
        for (int64_t j = 0; j < out; j++) {
            double sum = 0;

            for (int64_t k = 0; k < rank; k++)
                sum += (double)a[i * rank + k] * (double)b[k * out + j];
            w[i * out + j] = (float)((double)w[i * out + j] + scale * sum);
        }
}

/* The parameters of the merged model, laid out, with their values. */
static int copy_rest(ls__model *to, const ls__model *m)
{
    int status = ls__model_lay_out(to);

    for (int i = 0; status == 0 && i < to->params.count; i++) {
        const ls__slot *s = &to->params.slot[i];

        memcpy(to->value + s->offset,
               m->value + ls__params_find(&m->params, s->name)->offset,
               (size_t)s->size * sizeof *to->value);
    }
    return status;
}

static void merge_all(ls__model *to, const ls__model *m)
{
    ls__lora l;

    for (int at = 0; ls__lora_next(m->graph, &at, &l);) {
        const ls__slot *w = slot_of(m, l.layer);

        add_product(ls__width(l.layer->in[0]), ls__width(l.layer),
                    ls__width(l.a), scale_of(&l),
                    m->value + slot_of(m, l.a)->offset,
                    m->value + slot_of(m, l.b)->offset,
                    to->value + ls__params_find(&to->params, w->name)->offset);
    }
}

int ls__lora_merge(const ls__model *m, const char *path, int notes,
                   const ls_setting *note)
{
    ls__model merged = {0};
    int status = check_any(m, path);

    if (status < 0)
        return status;
    if ((status = ls__lora_without(&merged.graph, m->graph)) == 0 &&
        (status = copy_rest(&merged, m)) == 0) {
        merge_all(&merged, m);
        status = ls__model_save(&merged, path, notes, note);
    }
    ls__model_close(&merged);
    return status;
}

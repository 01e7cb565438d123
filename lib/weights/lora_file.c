/* SPDX-License-Identifier: BSD-3-Clause */
/* See lora_file.h. */
#include "weights/lora_file.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/pattern.h"
#include "model/graph_json.h"
#include "file/safetensors.h"
#include "graph/standing.h"
#include "state/state_hash.h"
#include "weights/lora.h"
#include "weights/model_file.h"
#include "weights/weights_file.h"
#include "state/trainer_state.h"
#include <lockstep/lora.h>
#include <lockstep/model.h>

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static bool is_own(const ls__slot *s)
{
    return ls__matches(LS_LORA_OWN, s->name);
}

/* ------ which model they are for ------ */

/* SHA-256 of all other parameters, each as in the state hash. */
static void hash_rest(const ls__params *layout, const float *value,
                      char hex[65])
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int i = 0; i < layout->count; i++) {
        const ls__slot *s = &layout->slot[i];

        if (is_own(s))
            continue;
        ls__state_array(&sha, "", s->name, s->rank, s->shape,
                        value + s->offset, (size_t)s->size * sizeof *value);
    }
    ls__sha256_hex(&sha, hex);
}

/* ------ saving ------ */

static json_t *list_json(const ls_graph *g)
{
    json_t *list = json_array();
    ls__adapter l;

    for (int at = 0; ls__lora_next(g, &at, &l);)
        list = ls__json_and(list, json_pack("{s:s, s:I, s:f}", "layer", l.layer,
                                            "rank", (json_int_t)l.rank,
                                            "scale", l.scale));
    return list;
}

/* Returns a text to be freed; NULL with a message. */
static char *describe(const ls__model_view *of)
{
    char hex[65], *text = NULL;
    json_t *all;

    hash_rest(of->layout, of->value, hex);
    all = json_pack("{s:i, s:s, s:o}", "version", VERSION, "base", hex,
                    "adapters", list_json(of->graph));
    if (all)
        text = ls__json_text(all, JSON_COMPACT);
    else
        ls__no_memory("the description of adapters", 0);
    json_decref(all);
    return text;
}

/* List the adapters' tensors, or all others; how many there are. */
static int list_tensors(const ls__model_view *of, bool own,
                        ls__safetensor *list)
{
    int n = 0;

    for (int i = 0; i < of->layout->count; i++) {
        const ls__slot *s = &of->layout->slot[i];

        if (is_own(s) == own)
            list[n++] = ls__weights_tensor(s, of->value);
    }
    return n;
}

static int check_any(const ls_graph *graph, const char *path)
{
    if (graph && ls__lora_count(graph))
        return 0;
    return ls__fail(LS_EINVAL, "%s: the model has no adapters; ls_lora_add "
                    "adds them to its graph", path);
}

int ls__lora_save(const ls__model_view *of, const char *path, int notes,
                  const ls_setting *note)
{
    ls__texts texts = {.key = LS__LORA_KEY, .notes = notes, .note = note};
    int status = check_any(of->graph, path);
    ls__safetensor *list;
    char *text;

    if (status < 0)
        return status;
    if (!(texts.text = text = describe(of)))
        return LS_ENOMEM;
    list = ls__new((size_t)of->layout->count, sizeof *list, "list of tensors");
    status = list ? ls__weights_write(path, list_tensors(of, true, list), list,
                                      &texts)
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

/* One of its adapters: layer, rank and scale. */
static int read_one(const json_t *from, const char *path, ls__adapter *d)
{
    d->layer = json_string_value(json_object_get(from, "layer"));
    d->rank = json_integer_value(json_object_get(from, "rank"));
    d->scale = json_number_value(json_object_get(from, "scale"));
    if (d->layer && d->rank > 0 && d->scale > 0 && json_object_size(from) == 3)
        return 0;
    return bad(path, "an adapter has no layer, no rank or no scale");
}

/* ------ adding them to a graph ------ */

static int insert_all(ls_graph *g, const char *path, const json_t *list)
{
    int status = 0;

    for (size_t i = json_array_size(list); i-- > 0 && status == 0;) {
        ls__adapter d;

        status = read_one(json_array_get(list, i), path, &d);
        if (status == 0)
            status = ls__lora_insert(g, path, &d);
    }
    return status;
}

int ls_lora_add_saved(ls_graph *g, const char *path)
{
    LS__NEED_AS(g, "graph", LS_EINVAL);

    json_t *all;
    int status;

    LS__NEED_STANDING(g, path);
    status = read_description(&all, path);
    if (status == 0)
        status = insert_all(g, path, json_object_get(all, "adapters"));
    json_decref(all);
    if (status < 0)
        ls__graph_failed(g, status);
    return status;
}

/* ------ loading ------ */

static int check_one(const ls_graph *g, const char *path, const ls__adapter *d)
{
    ls__adapter l;

    for (int at = 0; ls__lora_next(g, &at, &l);)
        if (!strcmp(l.layer, d->layer)) {
            if (l.rank == d->rank && l.scale == d->scale)
                return 0;
            return ls__fail(LS_EINVAL, "%s: the adapter of \"%s\" has rank "
                            "%lld and alpha %g, not %lld and %g", path,
                            d->layer, (long long)d->rank,
                            d->scale * (double)d->rank, (long long)l.rank,
                            l.scale * (double)l.rank);
        }
    return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which has no adapter here",
                    path, d->layer);
}

static int check_list(const ls_graph *g, const char *path, const json_t *list)
{
    int n = ls__lora_count(g), status = 0;

    if ((size_t)n != json_array_size(list))
        return ls__fail(LS_EINVAL, "%s: has %lld adapter%s, the model %d", path,
                        (long long)json_array_size(list),
                        ls__s((int64_t)json_array_size(list)), n);
    for (int i = 0; i < n && status == 0; i++) {
        ls__adapter d;

        status = read_one(json_array_get(list, (size_t)i), path, &d);
        if (status == 0)
            status = check_one(g, path, &d);
    }
    return status;
}

static int check_base(const ls__params *layout, const float *value,
                      const char *path, const char *base)
{
    char hex[65];

    hash_rest(layout, value, hex);
    return strcmp(hex, base)
               ? ls__fail(LS_EINVAL, "%s: these are adapters of another base: "
                          "its parameters have the SHA-256 %.16s.., here it is "
                          "%.16s..", path, base, hex)
               : 0;
}

int ls__lora_load(const ls_graph *g, const ls__params *layout, float *value,
                  const char *path)
{
    json_t *all;
    int status = check_any(g, path);

    if (status < 0)
        return status;
    status = read_description(&all, path);
    if (status == 0)
        status = check_list(g, path, json_object_get(all, "adapters"));
    if (status == 0)
        status = check_base(layout, value, path,
                            json_string_value(json_object_get(all, "base")));
    if (status == 0)
        status = ls__weights_load(layout, value, path, LS_LORA_OWN);
    json_decref(all);
    return status;
}

int ls_lora_load(ls_trainer *t, const char *path)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);

    const ls__state is = ls__state_of(t);

    return ls__lora_load(is.graph, is.layout, ls__state_set(t, 0), path);
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

/* The tensor of an adapted layer's weights becomes a new one, to be freed, with
 * its adapter added. */
static int merge_one(const ls__model_view *of, const ls__adapter *l,
                     ls__safetensor *list, float **merged)
{
    const ls__slot *w = ls__params_find(of->layout, l->w);
    size_t bytes = (size_t)w->size * sizeof **merged;

    if (!(*merged = ls__block(bytes, "merged weights")))
        return LS_ENOMEM;
    memcpy(*merged, of->value + w->offset, bytes);
    add_product(l->in, l->out, l->rank, l->scale,
                of->value + ls__params_find(of->layout, l->a)->offset,
                of->value + ls__params_find(of->layout, l->b)->offset, *merged);
    LS__ASSERT(w->size == l->in * l->out);
    while (strcmp(list->name, w->name))
        list++;
    list->data = *merged;
    return 0;
}

/* Write a graph without adapters, with the adapted layers' merged[] and all
 * other tensors. */
static int write_merged(const ls__model_view *of, const ls_graph *graph,
                        ls__texts texts, const char *path,
                        ls__safetensor *list, float **merged)
{
    int n = list_tensors(of, false, list), status;
    char *text = NULL;
    ls__adapter l;

    if ((status = ls__model_graph(graph, path, &text)) < 0)
        return status;
    for (int at = 0; status == 0 && ls__lora_next(of->graph, &at, &l);)
        status = merge_one(of, &l, list, merged++);
    texts.text = text;
    if (status == 0)
        status = ls__weights_write(path, n, list, &texts);
    free(text);
    return status;
}

int ls__lora_merge(const ls__model_view *of, const char *path, int notes,
                   const ls_setting *note)
{
    const ls__texts texts = {LS__GRAPH_KEY, NULL, notes, note, of->axes};
    int status = check_any(of->graph, path), count;
    ls_graph *graph = NULL;
    ls__safetensor *list;
    float **merged;

    if (status < 0 || (status = ls__lora_without(&graph, of->graph)) < 0)
        return status;
    count = ls__lora_count(of->graph);
    list = ls__new((size_t)of->layout->count, sizeof *list, "list of tensors");
    merged = ls__new((size_t)count, sizeof *merged, "merged weights");
    status = list && merged ? write_merged(of, graph, texts, path, list, merged)
                            : LS_ENOMEM;
    for (int i = 0; merged && i < count; i++)
        ls__block_free(merged[i]);
    free(merged);
    free(list);
    ls_graph_free(graph);
    return status;
}

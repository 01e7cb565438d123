/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters from a file that PyTorch's state_dict was saved to: its names and
 * its layouts.  Everything is checked before the first value changes.
 *
 *     ours                              PyTorch's
 *     dense     kernel (I,n)            weight (n,I)
 *     conv2d    kernel (h,w,C,n)        weight (n,C,h,w), C of a group
 *     norms     scale                   weight
 *     batch     mean, var               running_mean, running_var
 *     embed     embedding               weight
 *     biases    bias                    bias
 *
 * After a flatten the inputs of a dense layer are in the order (C,H,W) there
 * and (H,W,C) here, so its weights are those of a convolution as large as the
 * image.  A batch norm behind a layer that has none here is folded into it
 * (torch_norm.h); for recurrent layers see torch_steps.h. */
#include "torch/torch_file.h"
#include "base/error.h"
#include "base/pattern.h"
#include "file/convert.h"
#include "file/safetensors.h"
#include "graph/op.h"
#include "torch/torch_layout.h"
#include "torch/torch_names.h"
#include "torch/torch_norm.h"
#include "torch/torch_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a parameter is made of. */
typedef struct source {
    const ls_entry *of;   /* NULL: the slot keeps its values */
    const ls_entry *plus; /* added to it; NULL: nothing */
    bool plain;           /* a scale of ones or a bias of zeros */
    ls__torch_norm norm;  /* to be folded into it */
} source;

typedef struct load {
    ls__model *model;
    const char *path, *names;
    ls__safetensors file;
    ls__torch_names layers;
    source *source; /* [slot] */
    bool *taken;    /* [entry] */
} load;

/* ------ tensors ------ */

static int find(const load *l, const char *name)
{
    for (int i = 0; i < l->file.count; i++)
        if (!strcmp(l->file.entry[i].name, name))
            return i;
    return -1;
}

/* As it is, with "blocks.0" for "blocks_0", and with ".weight" for a parameter
 * that is a layer's only one. */
static int find_theirs(load *l, const char *name, char wanted[LS__TORCH_NAME])
{
    char other[LS__TORCH_NAME];
    size_t n;
    int i;

    ls__torch_name(&l->layers, name, true, true, other);
    ls__torch_name(&l->layers, name, true, false, wanted);
    if ((i = find(l, wanted)) >= 0 || (i = find(l, other)) >= 0)
        return i;
    n = strlen(other);
    snprintf(other + n, LS__TORCH_NAME - n, ".weight");
    return find(l, other);
}

/* Likewise of a recurrent layer. */
static int find_steps(load *l, const ls__torch_steps *s, bool other,
                      char wanted[LS__TORCH_NAME])
{
    char layer[LS__TORCH_NAME], module[LS__TORCH_NAME];
    int at = -1;

    ls__torch_steps_layer(s, layer, sizeof layer);
    for (int numbered = 1; numbered >= 0 && at < 0; numbered--) {
        ls__torch_name(&l->layers, layer, false, numbered, module);
        ls__torch_steps_name(s, module, other, wanted, LS__TORCH_NAME);
        at = find(l, wanted);
    }
    return at;
}

static int missing(const load *l, const char *name, const char *wanted)
{
    const char *near = "";
    size_t most = 0;

    for (int i = 0; i < l->file.count; i++) {
        size_t n = ls__name_nearness(wanted, l->file.entry[i].name);

        if (n > most) {
            most = n;
            near = l->file.entry[i].name;
        }
    }
    return ls__fail(LS_ENOTFOUND, "%s: has no tensor \"%s\" for the parameter "
                    "\"%s\"%s%s%s", l->path, wanted, name,
                    *near ? "; the nearest is \"" : "", near,
                    *near ? "\"" : "");
}

/* ------ checking ------ */

static int check_shape(const load *l, const ls__slot *s, const ls_entry *e)
{
    char want[LS__SHAPE_TEXT], got[LS__SHAPE_TEXT];
    int64_t shape[LS_MAX_RANK];
    int rank = s->rank;
    ls__torch_layout a;

    memcpy(shape, s->shape, sizeof shape);
    if (ls__torch_layout_of(l->model, s, &a)) {
        memcpy(shape, (int64_t[]){a.n, a.c, a.h, a.w}, 4 * sizeof *shape);
        rank = a.is_conv ? 4 : 2;
        shape[1] *= a.is_conv ? 1 : a.h * a.w;
    }
    if (rank == e->rank &&
        !memcmp(shape, e->shape, (size_t)rank * sizeof *shape))
        return 0;
    return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" is %s, the parameter \"%s\" "
                    "wants %s", l->path, e->name,
                    ls__shape_text(got, e->rank, e->shape), s->name,
                    ls__shape_text(want, rank, shape));
}

/* Whether a node has a parameter, as its weights or its bias. */
static bool is_of(const ls_node *n, int declared)
{
    for (int k = 0; k < n->params; k++)
        if (n->param[k] == declared)
            return ls__is_op(n, "dense") || ls__is_op(n, "conv2d");
    return false;
}

/* The layer of a parameter, if it is one that a batch norm can be folded
 * into. */
static const ls_node *layer_of(const ls__model *m, int declared)
{
    for (int i = 0; i < m->graph->node_count; i++)
        if (is_of(m->graph->nodes[i], declared))
            return m->graph->nodes[i];
    return NULL;
}

/* The batch norm behind the layer of slot i, if it has one. */
static int match_norm(load *l, int i)
{
    const ls__slot *s = &l->model->params.slot[i];
    const ls__torch_rename *r = ls__torch_names_of(&l->layers, s->name);
    const ls_node *n = layer_of(l->model, s->declared);

    if (!r || !r->norm)
        return 0;
    if (!n || strcmp(n->name, r->ours) || n->params < 2)
        return ls__fail(LS_EINVAL, "names of layers: a batch norm cannot be "
                        "folded into \"%s\", which is no dense layer or "
                        "convolution with a bias", r->ours);
    return ls__torch_norm_read(&l->source[i].norm, &l->file, l->path, r->norm,
                               r->epsilon, ls__width(n), l->taken);
}

/* A bias that PyTorch left out because a batch norm has one. */
static bool may_miss(const load *l, int i)
{
    return l->source[i].norm.n &&
           !strcmp(ls__torch_last_part(l->model->params.slot[i].name), "bias");
}

static int take_entry(load *l, const ls__slot *s, int at, const ls_entry **to)
{
    int status = check_shape(l, s, &l->file.entry[at]);

    if (status == 0)
        status = ls__convert_check(&l->file.entry[at], l->path);
    *to = &l->file.entry[at];
    l->taken[at] = true;
    return status;
}

/* A parameter of a recurrent layer. */
static int match_steps(load *l, int i, const ls__torch_steps *steps)
{
    const ls__slot *s = &l->model->params.slot[i];
    char wanted[LS__TORCH_NAME];
    int at = find_steps(l, steps, false, wanted), status;

    if (at < 0)
        return missing(l, s->name, wanted);
    if ((status = take_entry(l, s, at, &l->source[i].of)) < 0 || !steps->both)
        return status < 0 ? status : 1;
    if ((at = find_steps(l, steps, true, wanted)) < 0)
        return missing(l, s->name, wanted);
    if ((status = take_entry(l, s, at, &l->source[i].plus)) == 0)
        status = ls__torch_steps_check(steps, l->source[i].plus, l->path);
    return status < 0 ? status : 1;
}

/* The batch norm that a parameter is of, as an operator. */
static const ls_node *batch_norm_of(const ls__model *m, int declared)
{
    for (int i = 0; i < m->graph->node_count; i++)
        for (int k = 0; k < m->graph->nodes[i]->params; k++)
            if (m->graph->nodes[i]->param[k] == declared &&
                ls__is_op(m->graph->nodes[i], "batch_norm"))
                return m->graph->nodes[i];
    return NULL;
}

/* A batch norm has a counter too, and without affine no scale and no bias. */
static bool match_batch_norm(load *l, int i, const char *wanted)
{
    const ls__slot *s = &l->model->params.slot[i];
    const char *part = ls__torch_last_part(s->name);
    char counter[LS__TORCH_NAME];
    int at;

    if (!batch_norm_of(l->model, s->declared))
        return false;
    snprintf(counter, sizeof counter, "%.*snum_batches_tracked",
             (int)(ls__torch_last_part(wanted) - wanted), wanted);
    if ((at = find(l, counter)) >= 0)
        l->taken[at] = true;
    l->source[i].plain = !strcmp(part, "scale") || !strcmp(part, "bias");
    return l->source[i].plain;
}

static int match(load *l, int i)
{
    const ls__slot *s = &l->model->params.slot[i];
    ls__torch_steps steps = ls__torch_steps_of(l->model->graph, s->declared);
    char wanted[LS__TORCH_NAME];
    bool may_be_plain;
    int at, status;

    if (l->names && !ls__matches(l->names, s->name))
        return 0;
    if (steps.node)
        return match_steps(l, i, &steps);
    if ((status = match_norm(l, i)) < 0)
        return status;
    at = find_theirs(l, s->name, wanted);
    may_be_plain = match_batch_norm(l, i, at < 0 ? wanted
                                                 : l->file.entry[at].name);
    if (at < 0)
        return may_be_plain || may_miss(l, i) ? 1
                                              : missing(l, s->name, wanted);
    l->source[i].plain = false;
    status = take_entry(l, s, at, &l->source[i].of);
    return status < 0 ? status : 1;
}

/* Without a pattern nothing may be left over, as with strict=True. */
static int check_left(const load *l)
{
    for (int i = 0; i < l->layers.count; i++)
        if (!l->layers.rename[i].used)
            return ls__fail(LS_ENOTFOUND, "names of layers: no parameter's "
                            "name begins with \"%s\"; the first is \"%s\"",
                            l->layers.rename[i].ours,
                            l->model->params.slot[0].name);
    for (int i = 0; !l->names && i < l->file.count; i++)
        if (!l->taken[i])
            return ls__fail(LS_ENOTFOUND, "%s: tensor \"%s\" is none of the %d "
                            "parameters' (a pattern of names leaves others "
                            "alone)", l->path, l->file.entry[i].name,
                            l->model->params.count);
    return 0;
}

static int check(load *l)
{
    int matched = 0, status = 0;

    for (int i = 0; i < l->model->params.count && status >= 0; i++) {
        status = match(l, i);
        matched += status > 0;
    }
    if (status < 0)
        return status;
    if (!matched)
        return ls__fail(LS_ENOTFOUND, "%s: the pattern \"%s\" matches no "
                        "parameter; the first is \"%s\"", l->path, l->names,
                        l->model->params.slot[0].name);
    return check_left(l);
}

/* ------ taking ------ */

static int64_t largest(const ls__params *p)
{
    int64_t most = 0;

    for (int i = 0; i < p->count; i++)
        most = p->slot[i].size > most ? p->slot[i].size : most;
    return most;
}

static void add_entry(const ls_entry *e, const ls__slot *s, float *room,
                      float *to)
{
    ls__convert(e, room);
    for (int64_t i = 0; i < s->size; i++)
        to[i] += room[i];
}

/* The norm's part of a slot: of n outputs there is one bias each. */
static void fold(const ls__torch_norm *norm, const ls__slot *s, float *to)
{
    if (!strcmp(ls__torch_last_part(s->name), "bias"))
        ls__torch_norm_bias(norm, to);
    else
        ls__torch_norm_weights(norm, s->size / norm->n, to);
}

static int take(load *l)
{
    const ls__params *p = &l->model->params;
    float *room = ls__new((size_t)largest(p), sizeof *room, "a tensor");
    ls__torch_layout a;

    if (!room)
        return LS_ENOMEM;
    ls__exec_stale(l->model->plan, &l->model->weights);
    for (int i = 0; i < p->count; i++) {
        float *to = l->model->value + p->slot[i].offset;

        for (int64_t k = 0; l->source[i].plain && k < p->slot[i].size; k++)
            to[k] = !strcmp(ls__torch_last_part(p->slot[i].name), "scale");
        if (!l->source[i].of && !l->source[i].norm.n)
            continue;
        memset(room, 0, (size_t)p->slot[i].size * sizeof *room);
        if (l->source[i].of)
            ls__convert(l->source[i].of, room);
        if (ls__torch_layout_of(l->model, &p->slot[i], &a))
            ls__torch_arrange(&a, room, to);
        else
            memcpy(to, room, (size_t)p->slot[i].size * sizeof *to);
        if (l->source[i].plus)
            add_entry(l->source[i].plus, &p->slot[i], room, to);
        if (l->source[i].norm.n)
            fold(&l->source[i].norm, &p->slot[i], to);
    }
    free(room);
    return 0;
}

static int load_file(load *l, const char *layers)
{
    int status = ls__torch_names_read(&l->layers, layers);

    if (status < 0)
        return status;
    l->source = ls__new((size_t)l->model->params.count, sizeof *l->source,
                        "tensors");
    l->taken = ls__new((size_t)l->file.count + 1, sizeof *l->taken, "tensors");
    if (!l->source || !l->taken)
        return LS_ENOMEM;
    status = check(l);
    return status < 0 ? status : take(l);
}

int ls__torch_load(ls__model *m, const char *path, const char *names,
                   const char *layers)
{
    load l = {.model = m, .path = path, .names = names};
    int status;

    if (!m->graph)
        return ls__fail(LS_ENOTSUP, "%s: a gradient function of your own has "
                        "no layers whose layout PyTorch knows", path);
    if ((status = ls__safetensors_read(&l.file, path)) < 0)
        return status;
    status = load_file(&l, layers);
    for (int i = 0; l.source && i < m->params.count; i++)
        free(l.source[i].norm.values);
    free(l.source);
    free(l.taken);
    ls__torch_names_free(&l.layers);
    ls__safetensors_free(&l.file);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters from a file that PyTorch's state_dict was saved to: its names and
 * its layouts.  Everything is checked before the first value changes.
 *
 *     ours                              PyTorch's
 *     dense     kernel (I,n)            weight (n,I)
 *     conv2d    kernel (h,w,C,n)        weight (n,C,h,w), C of a group; of a
 *                                       transposed one (C,n,h,w), turned round
 *     norms     scale                   weight
 *     batch     mean, var               running_mean, running_var
 *     embed     embedding               weight
 *     biases    bias                    bias
 *
 * After a flatten the inputs of a dense layer are in the order (C,H,W) there
 * and (H,W,C) here, so its weights are those of a convolution as large as the
 * image, and a norm's those of one output.  What has an order there that cannot
 * be followed (torch_order.h) is refused.  A batch norm behind a layer that has
 * none here is folded into it (torch_norm.h); for others see torch_steps.h. */
#include "base/error.h"
#include "base/pattern.h"
#include "export/torch_heads.h"
#include "export/torch_layout.h"
#include "export/torch_names.h"
#include "export/torch_norm.h"
#include "export/torch_steps.h"
#include <lockstep/model.h>
#include <lockstep/torch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The source of a parameter: arrays of the file, or -1. */
typedef struct source {
    int of;              /* none: the parameter keeps its values */
    int plus;            /* added to it */
    int64_t first;       /* number of it where the parameter begins, */
    int64_t all;         /* out of that many; 0: all of it */
    bool plain;          /* a scale of ones or a bias of zeros */
    ls__torch_norm norm; /* to be folded into it */
    float *values;       /* values made of that; NULL: it stays */
} source;

typedef struct load {
    ls_archive *mine, *file;
    ls__net net; /* of the trainer: its parameters are those of `mine` */
    const ls__torch_order *order; /* [node] */
    const char *path, *names;
    ls__torch_names layers;
    source *source; /* [parameter] */
    bool *taken;    /* [array of the file] */
} load;

static const char *name_of(const load *l, int i)
{
    return l->net.param[i].of.name;
}

/* ------ tensors ------ */

/* Find a name as it is, with "blocks.0" for "blocks_0", and with ".weight" for
 * a parameter that is a layer's only one. */
static int find_theirs(load *l, const char *name, char wanted[LS__TORCH_NAME])
{
    char other[LS__TORCH_NAME];
    size_t n;
    int i;

    ls__torch_name(&l->layers, name, true, true, other);
    ls__torch_name(&l->layers, name, true, false, wanted);
    if ((i = ls__net_find(l->file, wanted)) < 0)
        i = ls__net_find(l->file, other);
    if (i >= 0)
        return i;
    n = strlen(other);
    snprintf(other + n, LS__TORCH_NAME - n, ".weight");
    return ls__net_find(l->file, other);
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
        at = ls__net_find(l->file, wanted);
    }
    return at;
}

static int missing(const load *l, const char *name, const char *wanted)
{
    const char *near = "";
    size_t most = 0;
    ls_entry e;

    for (int i = 0; ls_archive_entry(l->file, i, &e); i++) {
        size_t n = ls__name_nearness(wanted, e.name);

        if (n > most) {
            most = n;
            near = e.name;
        }
    }
    return ls__fail(LS_ENOTFOUND, "%s: has no tensor \"%s\" for the parameter "
                    "\"%s\"%s%s%s%s", l->path, wanted, name,
                    *near ? "; the nearest is \"" : "", near,
                    *near ? "\"" : "",
                    strcmp(ls__torch_last_part(name), "bias")
                        ? "" : "; the pattern of names \"!*.bias\" leaves "
                               "biases as they are");
}

/* ------ checking ------ */

/* Check that a parameter has an order there that is known. */
static int check_order(const load *l, const ls__net_param *p)
{
    const ls__net_node *n = ls__torch_node_of(&l->net, p);

    if (!n || ls__torch_is_known(&l->net, l->order, n))
        return 0;
    return ls__fail(LS_ENOTSUP, "%s: the parameter \"%s\" of %s \"%s\" stands "
                    "behind or beside numbers that PyTorch has in an order "
                    "that the graph does not tell; the pattern of names "
                    "\"!%s\" leaves it out, to be set in the order that is "
                    "here", l->path, p->of.name, n->op, n->name, p->of.name);
}

/* The node that has a parameter and is of one of two operators; NULL: none. */
static const ls__net_node *node_of(const load *l, int i, const char *op,
                                   const char *other)
{
    for (int at = 0; at < l->net.nodes; at++) {
        const ls__net_node *n = &l->net.node[at];

        if (ls__net_param_index(n, &l->net.param[i]) >= 0 &&
            (ls__net_is(n, op) || ls__net_is(n, other)))
            return n;
    }
    return NULL;
}

/* Reads the batch norm behind the layer of parameter i, if it has one. */
static int match_norm(load *l, int i)
{
    const ls__torch_rename *r = ls__torch_names_of(&l->layers, name_of(l, i));
    const ls__net_node *n = node_of(l, i, "dense", "conv2d");

    if (!r || !r->norm)
        return 0;
    if (!n || strcmp(n->name, r->ours) || n->params < 2)
        return ls__fail(LS_EINVAL, "names of layers: a batch norm cannot be "
                        "folded into \"%s\", which is no dense layer or "
                        "convolution with a bias", r->ours);
    return ls__torch_norm_read(&l->source[i].norm, l->file, l->path, r->norm,
                               r->epsilon, ls__net_width(n), l->taken);
}

/* Is it a bias that PyTorch left out because a batch norm has one? */
static bool may_miss(const load *l, int i)
{
    return l->source[i].norm.n &&
           !strcmp(ls__torch_last_part(name_of(l, i)), "bias");
}

static int take_entry(load *l, int i, int at, int *to)
{
    ls_entry e = {0};

    ls_archive_entry(l->file, at, &e);
    *to = at;
    l->taken[at] = true;
    return ls__torch_check(&l->net, l->order, l->file, l->path,
                           &l->net.param[i], &e);
}

/* Finds a parameter of a recurrent layer. */
static int match_steps(load *l, int i, const ls__torch_steps *steps)
{
    char wanted[LS__TORCH_NAME];
    int at = find_steps(l, steps, false, wanted), status;

    if (at < 0)
        return missing(l, name_of(l, i), wanted);
    if ((status = take_entry(l, i, at, &l->source[i].of)) < 0 || !steps->both)
        return status < 0 ? status : 1;
    if ((at = find_steps(l, steps, true, wanted)) < 0)
        return missing(l, name_of(l, i), wanted);
    status = take_entry(l, i, at, &l->source[i].plus);
    return status < 0 ? status : 1;
}

/* Take a part of what is one tensor for queries, keys and values. */
static int take_part(load *l, int i, int at, const ls__torch_heads *heads)
{
    const ls_entry *of = &l->net.param[i].of;
    int64_t wide = of->elements / ls__net_width(heads->layer); /* of a row */
    ls_entry e = {0};

    ls_archive_entry(l->file, at, &e);
    if (ls__torch_heads_check(heads, wide, &e, l->path) < 0)
        return LS_ESHAPE;
    l->source[i].of = at;
    l->source[i].first = heads->first * wide;
    l->source[i].all = e.elements;
    l->taken[at] = true;
    return 1;
}

/* Finds a parameter of an attention under PyTorch's own names; 0: it is of
 * none, or not there. */
static int match_heads(load *l, int i)
{
    ls__torch_heads heads = ls__torch_heads_of(&l->net, &l->net.param[i]);
    char module[LS__TORCH_NAME], wanted[LS__TORCH_NAME];
    bool of_three;

    for (int numbered = 1; heads.layer && numbered >= 0; numbered--) {
        ls__torch_name(&l->layers, heads.layer->name, false, numbered, module);
        module[ls__torch_last_part(module) - module] = 0;
        for (int k = 0; ls__torch_heads_name(&heads, module, k, wanted,
                                             sizeof wanted, &of_three); k++) {
            int at = ls__net_find(l->file, wanted);
            int status = at < 0     ? 0
                         : of_three ? take_part(l, i, at, &heads)
                                    : take_entry(l, i, at, &l->source[i].of);

            if (at >= 0)
                return status < 0 ? status : 1;
        }
    }
    return 0;
}

/* A batch norm has a counter too, and without affine no scale and no bias. */
static bool match_batch_norm(load *l, int i, const char *wanted)
{
    const char *part = ls__torch_last_part(name_of(l, i));
    char counter[LS__TORCH_NAME];
    int at;

    if (!node_of(l, i, "batch_norm", "batch_norm"))
        return false;
    snprintf(counter, sizeof counter, "%.*snum_batches_tracked",
             (int)(ls__torch_last_part(wanted) - wanted), wanted);
    if ((at = ls__net_find(l->file, counter)) >= 0)
        l->taken[at] = true;
    l->source[i].plain = !strcmp(part, "scale") || !strcmp(part, "bias");
    return l->source[i].plain;
}

/* Returns 1 where the file gives parameter i, 0 where it is not asked for. */
static int match(load *l, int i)
{
    ls__torch_steps steps = ls__torch_steps_of(&l->net, &l->net.param[i]);
    char wanted[LS__TORCH_NAME];
    bool may_be_plain;
    ls_entry e;
    int at, status;

    if (l->names && !ls__matches(l->names, name_of(l, i)))
        return 0;
    if ((status = check_order(l, &l->net.param[i])) < 0)
        return status;
    if (steps.node)
        return match_steps(l, i, &steps);
    if ((status = match_norm(l, i)) < 0)
        return status;
    at = find_theirs(l, name_of(l, i), wanted);
    may_be_plain = match_batch_norm(
        l, i, ls_archive_entry(l->file, at, &e) ? e.name : wanted);
    if (at < 0 && (status = match_heads(l, i)) != 0)
        return status;
    if (at < 0)
        return may_be_plain || may_miss(l, i)
                   ? 1 : missing(l, name_of(l, i), wanted);
    l->source[i].plain = false;
    status = take_entry(l, i, at, &l->source[i].of);
    return status < 0 ? status : 1;
}

/* Check that nothing is left over where there is no pattern, as with
 * strict=True. */
static int check_left(const load *l)
{
    ls_entry e;

    for (int i = 0; i < l->layers.count; i++)
        if (!l->layers.rename[i].used)
            return ls__fail(LS_ENOTFOUND, "names of layers: no parameter's "
                            "name begins with \"%s\"; the first is \"%s\"",
                            l->layers.rename[i].ours, name_of(l, 0));
    for (int i = 0; !l->names && ls_archive_entry(l->file, i, &e); i++)
        if (!l->taken[i])
            return ls__fail(LS_ENOTFOUND, "%s: tensor \"%s\" is none of the %d "
                            "parameters' (a pattern of names, as \"*\", leaves "
                            "others alone)", l->path, e.name, l->net.params);
    return 0;
}

static int check(load *l)
{
    int matched = 0, status = 0;

    for (int i = 0; i < l->net.params && status >= 0; i++) {
        status = match(l, i);
        matched += status > 0;
    }
    if (status < 0)
        return status;
    if (!matched)
        return ls__fail(LS_ENOTFOUND, "%s: the pattern \"%s\" matches no "
                        "parameter; the first is \"%s\"", l->path, l->names,
                        name_of(l, 0));
    return check_left(l);
}

/* ------ making values ------ */

/* Adds the second bias of a recurrent layer. */
static int add_plus(load *l, int i, float *room)
{
    const ls_entry *of = &l->net.param[i].of;
    ls__torch_steps steps = ls__torch_steps_of(&l->net, &l->net.param[i]);
    source *s = &l->source[i];
    ls_entry e = {0};
    int status = ls_archive_read(l->file, s->plus, of->elements, room);

    ls_archive_entry(l->file, s->plus, &e);
    if (status == 0)
        status = ls__torch_steps_check(&steps, of->elements, room, e.name,
                                       l->path);
    for (int64_t k = 0; status == 0 && k < of->elements; k++)
        s->values[k] += room[k];
    return status;
}

/* Folds the norm's part: of n outputs there is one bias each. */
static void fold(const ls__torch_norm *norm, const ls_entry *of, float *to)
{
    if (!strcmp(ls__torch_last_part(of->name), "bias"))
        ls__torch_norm_bias(norm, to);
    else
        ls__torch_norm_weights(norm, of->elements / norm->n, to);
}

/* Makes the values of parameter i, with room for as many. */
static int make(load *l, int i, float *room)
{
    const ls_entry *of = &l->net.param[i].of;
    size_t bytes = (size_t)of->elements * sizeof *room;
    source *s = &l->source[i];
    ls__torch_layout a;
    int status = 0;

    for (int64_t k = 0; k < of->elements; k++) /* scales of ones, if plain */
        room[k] = s->plain && !strcmp(ls__torch_last_part(of->name), "scale");
    if (s->of >= 0)
        status = ls_archive_read(l->file, s->of, s->all ? s->all : of->elements,
                                 room);
    if (status < 0)
        return status;
    room += s->first;
    if (ls__torch_layout_of(&l->net, l->order, &l->net.param[i], &a))
        ls__torch_arrange(&a, room, s->values);
    else
        memcpy(s->values, room, bytes);
    if (s->plus >= 0)
        status = add_plus(l, i, room);
    if (s->norm.n)
        fold(&s->norm, of, s->values);
    return status;
}

static int make_all(load *l)
{
    int status = 0;

    for (int i = 0; i < l->net.params && status == 0; i++) {
        source *s = &l->source[i];
        size_t n = (size_t)l->net.param[i].of.elements;
        float *room;

        if (s->of < 0 && !s->plain && !s->norm.n)
            continue;
        room = ls__new(s->all ? (size_t)s->all : n, sizeof *room, "a tensor");
        s->values = ls__new(n, sizeof *room, "a tensor");
        status = room && s->values ? make(l, i, room) : LS_ENOMEM;
        free(room);
    }
    return status;
}

/* ------ all of it ------ */

/* Opens the file, and the net of what l->mine shows, as status says. */
static int open_both(load *l, int status)
{
    if (status < 0)
        return status;
    if ((status = ls__net_open(&l->net, l->mine)) == LS_ENOTFOUND)
        return ls__fail(LS_ENOTSUP, "%s: a gradient function of your own has "
                        "no layers whose layout PyTorch knows", l->path);
    return status < 0 ? status : ls_archive_open(&l->file, l->path);
}

static int read_all(load *l, const char *layers)
{
    int status = ls__torch_names_read(&l->layers, layers);

    if (status < 0)
        return status;
    l->order = ls__torch_orders(&l->net);
    l->source = ls__new((size_t)l->net.params, sizeof *l->source, "tensors");
    l->taken = ls__new((size_t)ls_archive_entries(l->file) + 1,
                       sizeof *l->taken, "tensors");
    if (!l->order || !l->source || !l->taken)
        return LS_ENOMEM;
    for (int i = 0; i < l->net.params; i++)
        l->source[i] = (source){.of = -1, .plus = -1};
    status = check(l);
    return status < 0 ? status : make_all(l);
}

static void close_all(load *l)
{
    for (int i = 0; l->source && i < l->net.params; i++) {
        free(l->source[i].norm.values);
        free(l->source[i].values);
    }
    free(l->source);
    free(l->taken);
    ls__torch_names_free(&l->layers);
    ls__net_close(&l->net);
    ls_archive_close(l->mine);
    ls_archive_close(l->file);
}

int ls_trainer_load_torch(ls_trainer *t, const char *path, const char *names,
                          const char *layers)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(path);

    load l = {.path = path, .names = names};
    int status = open_both(&l, ls_archive_of_trainer(&l.mine, t));

    if (status == 0)
        status = read_all(&l, layers);
    for (int i = 0; status == 0 && i < l.net.params; i++)
        if (l.source[i].values)
            status = ls_trainer_set(t, name_of(&l, i),
                                    l.net.param[i].of.elements,
                                    l.source[i].values);
    close_all(&l);
    return status;
}

/* Give a predictor what was made, all at once. */
static int set_all(const load *l, ls_predictor *p)
{
    size_t n = (size_t)l->net.params;
    ls_array *a = ls__new(n + 1, sizeof *a, "tensors");
    int status;

    for (size_t i = 0; a && i < n; i++) {
        const ls_entry *of = &l->net.param[i].of;

        a[i] = (ls_array){.name = of->name, .dtype = LS_F32, .rank = of->rank,
                          .data = l->source[i].values};
        memcpy(a[i].shape, of->shape, sizeof a[i].shape);
    }
    status = a ? ls_predictor_set(p, (int)n, a) : LS_ENOMEM;
    free(a);
    return status;
}

int ls_predictor_load_torch(ls_predictor *p, const char *path,
                            const char *layers)
{
    LS__NEED_AS(p, "predictor", LS_EINVAL);
    LS__NEED(path);

    load l = {.path = path};
    int status = open_both(&l, ls_archive_of_predictor(&l.mine, p));

    if (status == 0)
        status = read_all(&l, layers);
    if (status == 0)
        status = set_all(&l, p);
    close_all(&l);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Initializers and constants as parameters of layers, or as nodes. */
#include "base/assert.h"
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>
#include <lockstep/initial.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ls__weight *ls__weight_new(ls__reader *r)
{
    ls_onnx *file = r->file;
    ls__weight *w = ls__arena_new(&file->arena, 1, sizeof *w);

    if (w && file->weights == file->capacity) {
        int capacity = file->capacity ? 2 * file->capacity : 64;
        ls__weight **grown = realloc(file->weight,
                                     (size_t)capacity * sizeof(*grown));

        if (!grown) {
            ls__no_memory("an ONNX model", (size_t)capacity * sizeof(*grown));
            return NULL;
        }
        file->weight = grown;
        file->capacity = capacity;
    }
    if (w)
        file->weight[file->weights++] = w;
    return w;
}

/* ------ names ------ */

static int take_name(ls__reader *r, const char *name)
{
    const char *kept = ls__arena_text(&r->file->arena, name);
    int *is = kept ? ls__names_number(&r->layers, kept) : NULL;

    if (!is)
        return LS_ENOMEM;
    return (*is)++ ? LS_EINVAL : 0;
}

/* "fc.weight" is of the layer "fc". */
static size_t without_ending(const char *name)
{
    static const char *const ends[] = {".weight", ".bias", ".kernel", ".scale",
                                       "/kernel", "_weight", NULL};
    size_t n = strlen(name);

    for (int i = 0; ends[i]; i++) {
        size_t end = strlen(ends[i]);

        if (n > end && !strcmp(name + n - end, ends[i]))
            return n - end;
    }
    return n;
}

int ls__read_layer(ls__reader *r, const ls__om_node *n,
                   const ls__named *weight, char name[LS__LAYER_NAME])
{
    const char *from = weight && weight->kind == LS__WEIGHT
                           ? weight->weight->name : n->output[0];
    size_t size;
    int status;

    for (int k = 1; n && !*from && k < n->outputs; k++)
        from = n->output[k];
    size = without_ending(from);
    if (size > LS__LAYER_NAME - 16)
        size = LS__LAYER_NAME - 16;
    snprintf(name, LS__LAYER_NAME, "%.*s", (int)size, from);
    for (int k = 2; (status = take_name(r, name)) == LS_EINVAL; k++)
        snprintf(name, LS__LAYER_NAME, "%.*s@%d", (int)size, from, k);
    return status;
}

/* ------ parameters ------ */

static void set_axes(ls__weight *w, const ls__named *v, int rank,
                     const int64_t *shape, const int *order)
{
    w->rank = rank;
    for (int k = 0; k < rank; k++) {
        w->shape[k] = shape[k];
        w->order[k] = order[k] < 0 ? -1 : v->order[order[k]];
    }
}

/* Has the weight a parameter of the same axes, or of two that are exchanged? */
static bool same_axes(const ls__weight *w, const ls__weight *as, bool exchanged)
{
    int last = w->rank - 1;
    bool same = w->rank == as->rank && (!exchanged || w->rank == 2);

    for (int k = 0; k < w->rank && same; k++)
        same = w->order[exchanged ? last - k : k] == as->order[k] &&
               w->shape[exchanged ? last - k : k] == as->shape[k];
    return same;
}

static int fits(const ls__named *v, int rank, const int64_t *shape,
                const int *order)
{
    char is[LS__VALUE_TEXT], wanted[LS__VALUE_TEXT];
    int axes = 0;
    bool all = true;

    for (int k = 0; k < rank; k++) {
        axes += order[k] >= 0;
        all &= order[k] < 0 ? shape[k] == 1
                            : order[k] < v->rank &&
                                  v->shape[order[k]] == shape[k];
    }
    if (all && axes == v->rank)
        return 0;
    return ls__refuse("\"%s\" is %s where %s is wanted", v->name,
                      ls__value_text(is, v->rank, v->shape),
                      ls__value_text(wanted, rank, shape));
}

static int two_ways(const char *name)
{
    return ls__refuse("\"%s\" is shared by operators that want its axes in "
                      "another order", name);
}

/* Constants as a parameter of that name. */
static int constants(ls__reader *r, const char *name, const ls__named *v,
                     double usual, int rank, const int64_t *shape,
                     const int *order, ls__weight **of)
{
    ls__weight *w = ls__weight_new(r);
    double *numbers;
    int64_t n = ls__count(rank, shape);

    if (!w || !(w->param = ls__arena_text(&r->file->arena, name)))
        return LS_ENOMEM;
    if (v) {
        w->number = v->number;
    } else {
        w->number = numbers = ls__arena_new(&r->file->arena, (size_t)n,
                                            sizeof *numbers);
        if (!numbers)
            return LS_ENOMEM;
        for (int64_t i = 0; i < n; i++)
            numbers[i] = usual;
    }
    w->rank = rank;
    memcpy(w->shape, shape, (size_t)rank * sizeof *shape);
    memcpy(w->order, order, (size_t)rank * sizeof *order);
    w->node = ls_buffer(r->graph, w->param, rank, shape);
    *of = w;
    return ls__made(w->node);
}

int ls__read_param(ls__reader *r, const char *layer, const char *own,
                   const ls__named *v, double usual, int rank,
                   const int64_t *shape, const int *order)
{
    char name[LS__LAYER_NAME + 32], other[LS__LAYER_NAME + 64];
    ls__weight *w, as = {0};
    int status = v ? fits(v, rank, shape, order) : 0;

    if (status < 0)
        return status;
    snprintf(name, sizeof name, "%s.%s", layer, own);
    if (!v || v->kind == LS__NUMBERS) {
        snprintf(other, sizeof other, "%s.constant", name);
        status = constants(r, other, v, usual, rank, shape, order, &w);
        return status < 0 ? status : ls_tie(r->graph, name, other, false);
    }
    if (v->kind != LS__WEIGHT)
        return ls__refuse("\"%s\" is computed, where an initializer is wanted",
                          v->name);
    w = v->weight;
    set_axes(&as, v, rank, shape, order);
    if (w->in_parts)
        return two_ways(v->name);
    if (w->param) {
        bool turned = same_axes(w, &as, true) && !same_axes(w, &as, false);

        if (!turned && !same_axes(w, &as, false))
            return two_ways(v->name);
        return ls_tie(r->graph, name, w->param, turned);
    }
    set_axes(w, v, rank, shape, order);
    if (!(w->param = ls__arena_text(&r->file->arena, w->name)))
        return LS_ENOMEM;
    return ls_rename(r->graph, name, w->param);
}

/* Have two that lie in one initializer numbers between those of each other? */
static bool across(const ls__weight *a, const ls__weight *b)
{
    int64_t low[2], high[2];

    for (int k = 0; k < 2; k++) {
        const ls__weight *w = k ? b : a;

        low[k] = high[k] = ls__weight_place(w, 0);
        for (int64_t i = 1; i < ls__count(w->rank, w->shape); i++) {
            int64_t at = ls__weight_place(w, i);

            low[k] = at < low[k] ? at : low[k];
            high[k] = at > high[k] ? at : high[k];
        }
    }
    return low[0] <= high[1] && low[1] <= high[0];
}

int ls__read_laid(ls__reader *r, const char *layer, const char *own,
                  ls__weight *of, const char *ending, int rank,
                  const int64_t *shape, const ls__lay *lay)
{
    char name[LS__LAYER_NAME + 32], param[LS__LAYER_NAME + 32];
    int64_t n = ls__count(rank, shape);
    ls__weight *w, is = {.name = of->name, .tensor = of->tensor, .rank = rank,
                         .of = of, .lay = *lay};

    memcpy(is.shape, shape, (size_t)rank * sizeof *shape);
    if (n > of->tensor->elements)
        return ls__refuse("\"%s\" is too small", of->name);
    snprintf(name, sizeof name, "%s.%s", layer, own);
    for (int i = 0; i < r->file->weights; i++) {
        w = r->file->weight[i];
        if (w->of == of && w->rank == rank &&
            !memcmp(&w->lay, lay, sizeof *lay))
            return ls_tie(r->graph, name, w->param, false);
        if (w->of == of && across(w, &is))
            return two_ways(of->name);
    }
    if (of->param)
        return two_ways(of->name);
    if (!(w = ls__weight_new(r)))
        return LS_ENOMEM;
    of->in_parts = true;
    *w = is;
    snprintf(param, sizeof param, "%.200s%s", of->name,
             n < of->tensor->elements ? ending : "");
    if (!(w->param = ls__arena_text(&r->file->arena, param)))
        return LS_ENOMEM;
    return ls_rename(r->graph, name, w->param);
}

/* Has a mask rows of -infinity alone? */
static bool has_blind(const ls__named *v)
{
    int64_t n = ls__value_count(v), last = v->rank ? v->shape[v->rank - 1] : 1;

    for (int64_t i = 0, seen = 0; i < n; i++) {
        seen = (i % last ? seen : 0) + !(v->number[i] == -(double)INFINITY);
        if (i % last == last - 1 && !seen)
            return true;
    }
    return false;
}

/* Known numbers as a parameter by itself. */
static int numbers_as_node(ls__reader *r, const char *name, const ls__named *v,
                           const int *order, ls__weight **w)
{
    char text[LS__LAYER_NAME];
    int status;

    for (int64_t i = 0; i < ls__value_count(v); i++)
        if (fabs(v->number[i]) >= (double)LS__ROWS && !v->is_real)
            return ls__refuse("it computes with the number of rows");
    r->blind |= has_blind(v);
    snprintf(text, sizeof text, "%s", name);
    while ((status = take_name(r, text)) == LS_EINVAL)
        snprintf(text, sizeof text, "%.150s@%d", name, r->file->weights);
    return status < 0 ? status : constants(r, text, v, 0, v->rank, v->shape,
                                           order, w);
}

/* An initializer as a parameter by itself, or as one of a layer's that is read
 * as a node, too. */
static int weight_as_node(ls__reader *r, const ls__named *v, const int *order)
{
    ls__weight *w = v->weight;
    const ls__om_tensor *t = w->tensor;
    char text[LS__LAYER_NAME];
    int status;

    if (w->node)
        return 0;
    if (w->in_parts)
        return two_ways(v->name);
    if (w->param) {
        if ((status = ls__read_layer(r, NULL, v, text)) < 0 ||
            (status = ls_tie(r->graph, text, w->param, false)) < 0)
            return status;
        w->node = ls_parameter(r->graph, text, w->rank, w->shape);
        return ls__made(w->node);
    }
    w->rank = t->rank;
    memcpy(w->shape, t->shape, sizeof w->shape);
    memcpy(w->order, order, sizeof w->order);
    if (!(w->param = ls__arena_text(&r->file->arena, w->name)))
        return LS_ENOMEM;
    w->node = ls_parameter(r->graph, w->param, t->rank, t->shape);
    return ls__made(w->node);
}

/* The parameter's axis k is the tensor's axis w->order[k]; the value's axis j
 * is the tensor's axis v->order[j]. */
static int set_node(ls__named *v, const ls__weight *w)
{
    int64_t inner[LS_MAX_RANK], shape[LS_MAX_RANK];
    int order[LS_MAX_RANK], axes = 0;
    ls_node *node = w->node;

    for (int k = 0; k < w->rank; k++)
        for (int j = v->rank; j-- > 0;)
            if (w->order[k] == (v->kind == LS__NUMBERS ? j : v->order[j])) {
                inner[axes] = w->shape[k];
                order[axes++] = j;
                break;
            }
    LS__ASSERT(axes == v->rank);
    if (axes != w->rank)
        node = ls_reshape(node, axes, inner);
    memcpy(shape, v->shape, sizeof shape);
    return ls__value_set(v, node, v->rank, shape, axes, order);
}

/* Axes in the order of the file. */
static const int plain[LS_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Rows of initializers as the node that Slice and Concat make of them. */
static int pieces_as_node(ls__reader *r, ls__named *v)
{
    ls_node **x = ls__arena_new(&r->file->arena, (size_t)v->pieces + 1,
                                sizeof(*x));
    int64_t shape[LS_MAX_RANK];
    int status = x ? 0 : LS_ENOMEM;

    memcpy(shape, v->shape, sizeof shape);
    for (int k = 0; k < v->pieces && status == 0; k++) {
        const ls__strip *p = &v->piece[k];
        ls__named of = {.name = p->weight->name, .kind = LS__WEIGHT,
                        .weight = p->weight};

        if (p->weight->param && memcmp(p->weight->order, plain,
                                       (size_t)p->weight->tensor->rank *
                                           sizeof *plain))
            status = two_ways(of.name);
        else if ((status = weight_as_node(r, &of, plain)) == 0 &&
                 !(x[k] = ls_slice(p->weight->node, 0, p->first, p->count)))
            status = ls__made(NULL);
    }
    return status < 0 ? status
                      : ls__value_set(v, ls_reshape(ls_concat(x, v->pieces, 0),
                                                    v->rank, shape),
                                      v->rank, shape, v->rank, plain);
}

int ls__read_as_node(ls__reader *r, const char *name, ls__named *v)
{
    ls__weight *w = NULL;
    bool zeros;
    int status;

    if (v->kind == LS__NODE)
        return 0;
    if (v->kind == LS__PIECES)
        return pieces_as_node(r, v);
    if (v->kind == LS__SEQUENCE || v->kind == LS__UNKNOWN)
        return ls__refuse("\"%s\" is a list, of which only parts are read",
                          name);
    if (v->rank >= LS_MAX_RANK)
        return ls__refuse("it has more than %d axes", LS_MAX_RANK - 1);
    zeros = ls__is_zero(v);
    if (v->kind == LS__WEIGHT) {
        w = v->weight;
        status = weight_as_node(r, v, plain);
    } else {
        status = numbers_as_node(r, name, v, plain, &w);
    }
    if (status == 0 && (status = set_node(v, w)) == 0 && zeros)
        v->zeros = v->node;
    return status;
}

/* ------ values ------ */

static double element(const ls__weight *w, int64_t i)
{
    return w->tensor ? ls__om_element(w->tensor, i) : w->number[i];
}

int64_t ls__weight_place(const ls__weight *w, int64_t i)
{
    int64_t extent[LS_MAX_RANK] = {0}, index[LS_MAX_RANK] = {0}, at = 0;

    if (w->of) {
        const ls__lay *l = &w->lay;

        at = l->start;
        for (int k = l->digits; k-- > 0; i /= l->size[k])
            at += k == l->table ? l->first[i % l->size[k]]
                                : i % l->size[k] * l->step[k];
        return at;
    }
    for (int k = w->rank; k-- > 0; i /= w->shape[k])
        if (w->order[k] >= 0) {
            extent[w->order[k]] = w->shape[k];
            index[w->order[k]] = i % w->shape[k];
        }
    for (int j = 0; j < LS_MAX_RANK && extent[j]; j++)
        at = at * extent[j] + index[j];
    return at;
}

void ls__weight_fill(const ls__weight *w, float *out)
{
    const double most = (double)FLT_MAX; /* for infinities, as masks have them:
                                            a parameter is finite */
    int64_t n = ls__count(w->rank, w->shape);

    for (int64_t i = 0; i < n; i++) {
        double x = element(w, ls__weight_place(w, i));

        out[i] = (float)(x > most ? most : x < -most ? -most : x);
    }
}

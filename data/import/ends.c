/* SPDX-License-Identifier: BSD-3-Clause */
/* What a graph begins and ends with: initializers, inputs, outputs. */
#include "base/error.h"
#include "import/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ls__read_numbers(ls__reader *r, const ls__om_tensor *t, ls__named *v)
{
    int status = ls__fold_new(r, v, t->rank, t->shape,
                              ls__om_is_real(t->type));

    if (status == 0 && !ls__om_elements(t, v->number))
        return ls__refuse("tensor \"%s\" is of type %lld", t->name,
                          (long long)t->type);
    return status;
}

static bool is_finite(const ls__om_tensor *t)
{
    for (int64_t i = 0; t->width && i < t->elements; i++)
        if (!isfinite(ls__om_element(t, i)))
            return false;
    return true;
}

/* An initializer: a parameter, if it is of floats and a gradient may go there.
 * One number is one only if a layer may have it (exporters write factors so),
 * and a mask of infinities is none.  Else it is numbers. */
int ls__read_tensor(ls__reader *r, const ls__om_tensor *t)
{
    ls__named *v = ls__read_value(r, t->name);
    ls__weight *w;

    if (!v)
        return LS_ENOMEM;
    if (v->kind != LS__UNKNOWN)
        return ls__refuse("\"%s\" stands there twice", t->name);
    if (!ls__om_is_real(t->type) || !r->matters[v - r->value] ||
        t->elements == 0 ||
        (t->elements == 1 && !r->layers_own[v - r->value]) || !is_finite(t))
        return ls__read_numbers(r, t, v);
    if (!(w = ls__weight_new(r)))
        return LS_ENOMEM;
    *w = (ls__weight){.name = t->name, .tensor = t};
    v->kind = LS__WEIGHT;
    v->weight = w;
    v->is_real = true;
    v->rank = t->rank;
    memcpy(v->shape, t->shape, sizeof v->shape);
    for (int k = 0; k < LS_MAX_RANK; k++)
        v->order[k] = k;
    return 0;
}

/* The size of an axis by its name: that of options.sizes; 0: none. */
static int64_t size_of(const ls__reader *r, const char *symbol)
{
    size_t n = strlen(symbol);

    for (const char *at = r->options->sizes; n && at && *at;) {
        const char *next = strchr(at, ',');

        if (!strncmp(at, symbol, n) && at[n] == '=')
            return strtoll(at + n + 1, NULL, 10);
        at = next ? next + 1 : NULL;
    }
    return 0;
}

int ls__read_input(ls__reader *r, const ls__om_value *in)
{
    const int last[] = {2, 3, 1};
    ls__named *v = ls__read_value(r, in->name);
    int64_t shape[LS_MAX_RANK], own[LS_MAX_RANK];
    int order[LS_MAX_RANK];
    bool turned = r->options->channels_last && in->rank == 4;
    ls_dtype dtype = in->type == LS__OM_FLOAT ? LS_F32 : LS_I32;
    ls_node *node;

    if (!v)
        return LS_ENOMEM;
    if (v->kind != LS__UNKNOWN) /* an initializer is listed here, too */
        return 0;
    if (in->rank < 1)
        return ls__refuse("input \"%s\" has no axis of rows", in->name);
    if (in->type != LS__OM_FLOAT && in->type != LS__OM_INT64 &&
        in->type != LS__OM_INT32)
        return ls__refuse("input \"%s\" is of type %lld: float, int32 and "
                          "int64 are read", in->name, (long long)in->type);
    if (in->shape[0] > INT32_MAX ||
        (in->shape[0] && r->rows && in->shape[0] != r->rows))
        return ls__refuse("input \"%s\" has %lld rows, one before it %lld: the "
                          "first axis of all inputs is the rows", in->name,
                          (long long)in->shape[0], (long long)r->rows);
    if (in->shape[0])
        r->rows = in->shape[0];
    shape[0] = LS__ROWS;
    for (int k = 1; k < in->rank; k++) {
        shape[k] = in->shape[k] ? in->shape[k] : size_of(r, in->symbol[k]);
        if (shape[k] <= 0 || shape[k] > INT32_MAX)
            return ls__refuse("input \"%s\": the size of axis %d, \"%s\", is "
                              "not known: give sizes \"%s=N\"", in->name, k,
                              in->symbol[k], in->symbol[k]);
    }
    for (int k = 0; k + 1 < in->rank; k++) {
        order[k] = turned ? last[k] : k + 1;
        own[k] = shape[order[k]];
    }
    node = ls_input(r->graph, in->name, dtype, in->rank - 1, own);
    if (!node)
        return ls__made(node);
    r->file->end[r->file->ends++] = (ls__end){in->name, node};
    return ls__value_set(v, node, in->rank, shape, in->rank - 1, order);
}

int ls__read_output(ls__reader *r, const ls__om_value *out)
{
    ls__named *v = ls__read_value(r, out->name), of;
    ls_node *node;
    int status;

    if (!v)
        return LS_ENOMEM;
    if (v->kind == LS__UNKNOWN && r->file->problems)
        return 0;
    if (v->kind == LS__UNKNOWN)
        return ls__refuse("output \"%s\" is made by no node", out->name);
    of = *v;
    if ((status = ls__read_as_node(r, out->name, &of)) < 0)
        return status;
    if (!(node = ls__value_plain(&of)))
        return ls__made(node);
    if (ls__value_rows(&of) != 0)
        return ls__refuse("output \"%s\": its first axis is not that of the "
                          "rows", out->name);
    r->file->end[r->file->ends++] = (ls__end){out->name, node};
    return ls_output(r->graph, node, out->name);
}

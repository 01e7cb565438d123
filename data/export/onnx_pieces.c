/* SPDX-License-Identifier: BSD-3-Clause */
/* See onnx_pieces.h. */
#include "export/onnx_pieces.h"

#include <string.h>

const char *ls__onnx_input(const ls__onnx *o, const ls__net_node *n, int k)
{
    return o->name[n->in[k]->id];
}

const char *ls__onnx_two(ls__onnx *o, const char *type, const char *a,
                         const char *b)
{
    return ls__onnx_call(o, type, 2, (const char *[]){a, b}, NULL);
}

const char *ls__onnx_reshape(ls__onnx *o, const char *x, int rank,
                             const int64_t *shape)
{
    return ls__onnx_two(o, "Reshape", x, ls__onnx_integers(o, rank, shape));
}

const char *ls__onnx_transpose(ls__onnx *o, const char *x, int rank,
                               const int64_t *order)
{
    ls__proto list = {0};

    ls__onnx_attribute_ints(&list, "perm", rank, order);
    return ls__onnx_call(o, "Transpose", 1, &x, &list);
}

const char *ls__onnx_shaped_as(ls__onnx *o, const char *x,
                               const ls__net_node *n)
{
    int64_t shape[LS_MAX_RANK + 1] = {0};

    memcpy(shape + 1, n->shape, (size_t)n->rank * sizeof *shape);
    return ls__onnx_reshape(o, x, n->rank + 1, shape);
}

bool ls__onnx_is_there(ls__onnx *o, const ls__net_param *p)
{
    bool there = o->there[p->id];

    o->there[p->id] = true;
    return there;
}

const char *ls__onnx_param(ls__onnx *o, const ls__net_node *n, int k,
                           const ls__onnx_shape *shape)
{
    const ls__net_param *p = n->param[k];
    ls__onnx_shape own = {.rank = p->of.rank};

    memcpy(own.of, p->of.shape, sizeof own.of);
    if (ls__onnx_is_there(o, p))
        return p->of.name;
    return ls__onnx_floats(o, p->of.name, shape ? *shape : own, p->of.data);
}

const char *ls__onnx_cast(ls__onnx *o, const char *x, int type)
{
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "to", type);
    return ls__onnx_call(o, "Cast", 1, &x, &list);
}

const char *ls__onnx_equal_floats(ls__onnx *o, ls__onnx_shape shape, float x)
{
    int64_t count = ls__count(shape.rank, shape.of);
    float *data = ls__arena_new(&o->arena, (size_t)count, sizeof *data);

    o->out.failed |= !data;
    for (int64_t i = 0; data && i < count; i++)
        data[i] = x;
    return data ? ls__onnx_floats(o, NULL, shape, data) : "";
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See onnx_pieces.h. */
#include "export/onnx_pieces.h"

#include <string.h>

const char *ls__onnx_input(const ls__onnx *o, const ls__net_node *n, int k)
{
    return o->name[n->in[k]->id];
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
    return ls__onnx_is_there(o, p)
               ? p->of.name
               : ls__onnx_floats(o, p->of.name, shape ? *shape : own,
                                 p->of.data);
}

void *ls__onnx_room(ls__onnx *o, int64_t n, size_t size)
{
    void *x = ls__arena_new(&o->arena, (size_t)n + 1, size);

    o->out.failed |= !x;
    return x;
}

const char *ls__onnx_equal_floats(ls__onnx *o, ls__onnx_shape shape, float x)
{
    int64_t count = ls__count(shape.rank, shape.of);
    float *data = ls__onnx_room(o, count, sizeof *data);

    for (int64_t i = 0; data && i < count; i++)
        data[i] = x;
    return data ? ls__onnx_floats(o, NULL, shape, data) : "";
}

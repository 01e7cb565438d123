/* SPDX-License-Identifier: BSD-3-Clause */
/* Bidirectional layers, which are one node in ONNX and seven in a graph: two
 * dense layers, two recurrent ones (the second between two reversals of its
 * steps), and what joins them. */
#include "export/onnx_pieces.h"
#include "export/onnx_recurrent.h"

#include <string.h>

/* ------ Are they there? ------ */

static bool is_back(const ls__net_node *n, const ls__net_node *lengths)
{
    return (ls__net_is(n, "reverse") && !lengths) ||
           (ls__net_is(n, "reverse_lengths") && n->in[1] == lengths);
}

/* The recurrent layer that gives the steps, itself or before its last state was
 * taken off. */
static const ls__net_node *layer_of(const ls__net_node *n)
{
    if (!ls__net_is(n, "reshape") || !ls__net_is(n->in[0], "slice") ||
        ls__net_integer(n->in[0], "first") || n->rank != 2)
        return n;
    n = n->in[0]->in[0];
    return ls__net_is_recurrent(n) && ls__net_integer(n, "ends") ? n : NULL;
}

/* One way without a state: steps of a dense layer; its lengths, or NULL. */
static bool is_way(const ls__net_node *n, const ls__net_node **lengths)
{
    *lengths = n && n->inputs > 1 ? n->in[1] : NULL;
    return n && ls__net_is_recurrent(n) && n->inputs <= 2 &&
           (!*lengths || (*lengths)->is_i32) &&
           ls__net_is(n->in[0], "dense") && !n->in[0]->is_transposed;
}

bool ls__onnx_joins_ways(const ls__net_node *node, ls__both_ways *both)
{
    const ls__net_node *a, *b, *lengths, *other;

    if (!ls__net_is(node, "concat") || node->inputs != 2 ||
        ls__net_integer(node, "axis") != 1)
        return false;
    a = layer_of(node->in[0]);
    if (!is_way(a, &lengths) || !is_back(node->in[1], lengths))
        return false;
    b = layer_of(node->in[1]->in[0]);
    if (!is_way(b, &other) || other != lengths ||
        ls__onnx_cell_of(a) != ls__onnx_cell_of(b) ||
        !is_back(b->in[0]->in[0], lengths) ||
        a->in[0]->in[0] != b->in[0]->in[0]->in[0] ||
        a->in[0]->shape[1] != b->in[0]->shape[1])
        return false;
    *both = (ls__both_ways){.x = a->in[0]->in[0], .lengths = lengths,
                            .dense = {a->in[0], b->in[0]}, .steps = {a, b}};
    return true;
}

/* ------ The node ------ */

void ls__onnx_both_ways(ls__onnx *o, const ls__net_node *node,
                        const ls__both_ways *both)
{
    static const int64_t steps_first[] = {1, 0, 2};
    static const int64_t rows_first[] = {2, 0, 1, 3};
    const ls__net_node *const biased[] = {both->dense[0], both->steps[0],
                                          both->dense[1], both->steps[1]};
    const ls__onnx_cell *cell = ls__onnx_cell_of(both->steps[0]);
    int64_t n = both->dense[0]->shape[1] / cell->gates;
    const char *in[5] = {"", "", "", "", ""}, *y;
    ls__proto list = {0};

    in[0] = ls__onnx_transpose(o, o->name[both->x->id], 3, steps_first);
    in[1] = ls__onnx_kernels(o, NULL, cell, 2, both->dense);
    in[2] = ls__onnx_kernels(o, NULL, cell, 2, both->steps);
    in[3] = ls__onnx_biases(o, NULL, cell, n, 2, biased);
    if (both->lengths)
        in[4] = ls__onnx_two(o, "Reshape", o->name[both->lengths->id],
                             ls__onnx_integers(o, 1, (int64_t[]){-1}));
    ls__onnx_attribute_int(&list, "hidden_size", n);
    ls__onnx_attribute_text(&list, "direction", "bidirectional");
    if (cell->states == 1)
        ls__onnx_attribute_int(&list, "linear_before_reset", 1);
    y = ls__onnx_call(o, cell->type, both->lengths ? 5 : 4, in, &list);
    y = ls__onnx_transpose(o, y, 4, rows_first); /* (rows,T,2,n) */
    o->name[node->id] =
        ls__onnx_two(o, "Reshape", y,
                     ls__onnx_integers(o, 3, (int64_t[]){0, 0, 2 * n}));
}

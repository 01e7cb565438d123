/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers in ONNX: its LSTM and GRU, which put steps first and order
 * the gates another way.  The gates' share of the input is computed before them
 * here, so the weights of their input are ones in the places of the gates. */
#include "export/onnx_recurrent.h"
#include "export/onnx_pieces.h"

#include <string.h>

static const ls__onnx_cell lstm = {"LSTM", 4, 2, {0, 3, 1, 2}};
static const ls__onnx_cell gru = {"GRU", 3, 1, {1, 0, 2}};

const ls__onnx_cell *ls__onnx_cell_of(const ls__net_node *node)
{
    return strncmp(node->op, "lstm", 4) ? &gru : &lstm;
}

/* The place of ONNX's place i of the gates of n units. */
static int64_t gate(const ls__onnx_cell *l, int64_t n, int64_t i)
{
    return l->order[i / n] * n + i % n;
}

/* Room for a constant of n zeros; NULL: no memory. */
static float *room(ls__onnx *o, int64_t n)
{
    float *x = ls__arena_new(&o->arena, (size_t)n, sizeof *x);

    o->out.failed |= !x;
    return x;
}

/* (1,G n,G n): 1 where ONNX's gate is ours. */
static const char *of_input(ls__onnx *o, const ls__onnx_cell *l, int64_t n)
{
    int64_t wide = l->gates * n;
    float *w = room(o, wide * wide);

    for (int64_t i = 0; w && i < wide; i++)
        w[i * wide + gate(l, n, i)] = 1;
    return w ? ls__onnx_floats(o, NULL, (ls__onnx_shape){3, {1, wide, wide}}, w)
             : "";
}

const char *ls__onnx_kernels(ls__onnx *o, const char *name,
                             const ls__onnx_cell *cell, int ways,
                             const ls__net_node *const *of)
{
    const int64_t *shape = of[0]->param[0]->of.shape;
    int64_t in = shape[0], wide = shape[1], n = wide / cell->gates;
    float *w = room(o, ways * wide * in);

    for (int64_t i = 0; w && i < ways * wide; i++)
        for (int64_t k = 0; k < in; k++) {
            const float *u = of[i / wide]->param[0]->of.data;

            w[i * in + k] = u[k * wide + gate(cell, n, i % wide)];
        }
    return w ? ls__onnx_floats(o, name, (ls__onnx_shape){3, {ways, wide, in}},
                               w)
             : "";
}

static const float *bias_of(const ls__net_node *n)
{
    return n && n->params > 1 ? n->param[1]->of.data : NULL;
}

const char *ls__onnx_biases(ls__onnx *o, const char *name,
                            const ls__onnx_cell *cell, int64_t n, int ways,
                            const ls__net_node *const *of)
{
    int64_t wide = cell->gates * n;
    float *b = room(o, 2 * ways * wide);

    for (int64_t i = 0; b && i < 2 * ways * wide; i++) {
        const float *from = bias_of(of[i / wide]);

        b[i] = from ? from[gate(cell, n, i % wide)] : 0;
    }
    return b ? ls__onnx_floats(o, name, (ls__onnx_shape){2, {ways, 2 * wide}},
                               b)
             : "";
}

/* (1,rows,n): GRU's state; array k of LSTM's. */
static const char *initial(ls__onnx *o, const char *state,
                           const ls__onnx_cell *l, int64_t k)
{
    static const int64_t swap[] = {1, 0, 2};
    ls__proto list = {0};
    const char *in[] = {state, NULL};

    if (l->states == 1)
        return ls__onnx_two(o, "Unsqueeze", state,
                            ls__onnx_integers(o, 1, (int64_t[]){0}));
    in[1] = ls__onnx_integers(o, 1, &k);
    ls__onnx_attribute_int(&list, "axis", 1);
    return ls__onnx_transpose(o, ls__onnx_call(o, "Gather", 2, in, &list), 3,
                              swap);
}

/* (rows,n), from ONNX's (1,rows,n). */
static const char *last(ls__onnx *o, const char *state)
{
    return ls__onnx_two(o, "Squeeze", state,
                        ls__onnx_integers(o, 1, (int64_t[]){0}));
}

/* The value: the steps, and where the node ends with it the last state behind
 * them, LSTM's c before h. */
static const char *value(ls__onnx *o, const ls__net_node *node,
                         const ls__onnx_cell *l, const char *const *result,
                         int64_t n)
{
    static const int64_t rows_first[] = {2, 0, 1, 3};
    const char *y =
        ls__onnx_transpose(o, result[0], 4, rows_first); /* (rows,T,1,n) */
    const char *in[3];
    ls__proto list = {0};

    if (!ls__net_integer(node, "ends"))
        return ls__onnx_two(o, "Reshape", y,
                            ls__onnx_integers(o, 3, (int64_t[]){0, 0, n}));
    in[0] = ls__onnx_two(o, "Reshape", y,
                         ls__onnx_integers(o, 2, (int64_t[]){0, -1}));
    for (int k = 0; k < l->states; k++)
        in[l->states - k] = last(o, result[1 + k]);
    ls__onnx_attribute_int(&list, "axis", 1);
    return ls__onnx_call(o, "Concat", 1 + l->states, in, &list);
}

void ls__onnx_recurrent(ls__onnx *o, const ls__net_node *node)
{
    static const int64_t steps_first[] = {1, 0, 2};
    const ls__onnx_cell *l = ls__onnx_cell_of(node);
    bool is_lstm = l == &lstm;
    int results = ls__net_integer(node, "ends") ? 1 + l->states : 1;
    const ls__net_node *z = node->in[0];
    int64_t n = z->shape[1] / l->gates;
    const char *in[7] = {"", "", "", "", "", "", ""}, *result[3];
    ls__proto list = {0};

    in[0] = ls__onnx_transpose(o, o->name[z->id], 3, steps_first);
    in[1] = of_input(o, l, n);
    in[2] = ls__onnx_kernels(o, node->param[0]->of.name, l, 1, &node);
    if (node->params > 1)
        in[3] = ls__onnx_biases(o, node->param[1]->of.name, l, n, 1,
                                (const ls__net_node *[]){NULL, node});
    for (int k = 1; k < node->inputs; k++) {
        const char *x = o->name[node->in[k]->id];

        if (node->in[k]->is_i32)
            in[4] = ls__onnx_two(o, "Reshape", x,
                                 ls__onnx_integers(o, 1, (int64_t[]){-1}));
        else
            in[5] = initial(o, x, l, l->states - 1);
        if (!node->in[k]->is_i32 && l->states > 1)
            in[6] = initial(o, x, l, 0);
    }
    ls__onnx_attribute_int(&list, "hidden_size", n);
    if (!is_lstm)
        ls__onnx_attribute_int(&list, "linear_before_reset", 1);
    ls__onnx_call_several(o, l->type, is_lstm ? 7 : 6, in,
                          results, result, &list);
    o->name[node->id] = value(o, node, l, result, n);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers in ONNX: its LSTM and GRU, which put steps first and order
 * the gates another way.  The gates' share of the input is computed before them
 * here, so the weights of their input are ones in the places of the gates.
 * Bidirectional layers are one node in ONNX and seven in a graph: two dense
 * layers, two recurrent ones (the second between two reversals of its steps),
 * and what joins them. */
#include "export/onnx_pieces.h"

#include <string.h>

typedef struct cell {
    const char *type;
    int gates, states;
    int order[4]; /* our gates in ONNX's order */
} cell;

static const cell lstm = {"LSTM", 4, 2, {0, 3, 1, 2}};
static const cell gru = {"GRU", 3, 1, {1, 0, 2}};

static const cell *cell_of(const ls__net_node *node)
{
    return strncmp(node->op, "lstm", 4) ? &gru : &lstm;
}

/* ------ constants ------ */

/* The place of ONNX's place i of the gates of n units. */
static int64_t gate(const cell *l, int64_t n, int64_t i)
{
    return l->order[i / n] * n + i % n;
}

/* (1,G n,G n): 1 where ONNX's gate is ours. */
static const char *of_input(ls__onnx *o, const cell *l, int64_t n)
{
    int64_t wide = l->gates * n;
    float *w = ls__onnx_room(o, wide * wide, sizeof *w);

    for (int64_t i = 0; w && i < wide; i++)
        w[i * wide + gate(l, n, i)] = 1;
    return w ? ls__onnx_floats(o, NULL, (ls__onnx_shape){3, {1, wide, wide}}, w)
             : "";
}

/* (ways,G n,in) of each way's kernel (in,G n). */
static const char *kernels(ls__onnx *o, const char *name, const cell *l,
                           int ways, const ls__net_node *const *of)
{
    const int64_t *shape = of[0]->param[0]->of.shape;
    int64_t in = shape[0], wide = shape[1], n = wide / l->gates;
    float *w = ls__onnx_room(o, ways * wide * in, sizeof *w);

    for (int64_t i = 0; w && i < ways * wide; i++)
        for (int64_t k = 0; k < in; k++) {
            const float *u = of[i / wide]->param[0]->of.data;

            w[i * in + k] = u[k * wide + gate(l, n, i % wide)];
        }
    return w ? ls__onnx_floats(o, name, (ls__onnx_shape){3, {ways, wide, in}},
                               w)
             : "";
}

/* (ways,2 G n) of each way's two biases, of the input and of the state: 0 where
 * a node is NULL or has none. */
static const char *biases(ls__onnx *o, const char *name, const cell *l,
                          int64_t n, int ways, const ls__net_node *const *of)
{
    int64_t wide = l->gates * n;
    float *b = ls__onnx_room(o, 2 * ways * wide, sizeof *b);

    for (int64_t i = 0; b && i < 2 * ways * wide; i++) {
        const ls__net_node *from = of[i / wide];
        const float *bias = from && from->params > 1 ? from->param[1]->of.data
                                                     : NULL;

        b[i] = bias ? bias[gate(l, n, i % wide)] : 0;
    }
    return b ? ls__onnx_floats(o, name, (ls__onnx_shape){2, {ways, 2 * wide}},
                               b)
             : "";
}

/* ------ a layer ------ */

/* The node of n units for each way: inputs from the second on, the first being
 * x with its rows first. */
static void call(ls__onnx *o, const cell *l, const char *x, int64_t n,
                 bool both, int inputs, const char **in, int results,
                 const char **result)
{
    ls__proto list = {0};

    in[0] = ls__onnx_of(o, "Transpose(v0; perm=[1, 0, 2])", x);
    ls__onnx_attribute(&list, "hidden_size", LS__ONNX_INTEGER, 1, &n);
    if (both)
        ls__onnx_attribute(&list, "direction", LS__ONNX_TEXT, 1,
                           &(const char *){"bidirectional"});
    if (l == &gru)
        ls__onnx_attribute(&list, "linear_before_reset", LS__ONNX_INTEGER, 1,
                           &(int64_t){1});
    ls__onnx_call_several(o, l->type, inputs, in, results, result, &list);
    result[0] = ls__onnx_of(o, "Transpose(v0; perm=[2, 0, 1, 3])", result[0]);
}

/* (1,rows,n): GRU's state; array k of LSTM's. */
static const char *initial(ls__onnx *o, const char *state, const cell *l,
                           int64_t k)
{
    return ls__onnx_text_of(o, NULL, l == &gru ? "Unsqueeze(v0, [0])"
                            : "Transpose(Gather(v0, [i0]; axis=1); perm=[1, 0, "
                              "2])", &state, &k);
}

/* The value: the steps, and where the node ends with it the last state behind
 * them, LSTM's c before h. */
static const char *value(ls__onnx *o, const cell *l, int results,
                         const char *const *result, int64_t n)
{
    const char *in[3];
    ls__proto list = {0};

    if (results == 1) /* (rows,T,ways,n) */
        return ls__onnx_text_of(o, NULL, "Reshape(v0, [0, 0, i0])", result, &n);
    in[0] = ls__onnx_of(o, "Reshape(v0, [0, -1])", result[0]);
    for (int k = 1; k < results; k++)
        in[results - k] = ls__onnx_of(o, "Squeeze(v0, [0])", result[k]);
    ls__onnx_attribute(&list, "axis", LS__ONNX_INTEGER, 1, &(int64_t){1});
    return ls__onnx_call(o, "Concat", 1 + l->states, in, &list);
}

void ls__onnx_recurrent(ls__onnx *o, const ls__net_node *node)
{
    const cell *l = cell_of(node);
    int results = ls__net_integer(node, "ends") ? 1 + l->states : 1;
    int64_t n = node->in[0]->shape[1] / l->gates;
    const char *in[7] = {"", "", "", "", "", "", ""}, *result[3];

    in[1] = of_input(o, l, n);
    in[2] = kernels(o, node->param[0]->of.name, l, 1, &node);
    if (node->params > 1)
        in[3] = biases(o, node->param[1]->of.name, l, n, 1,
                       (const ls__net_node *[]){NULL, node});
    for (int k = 1; k < node->inputs; k++) {
        const char *x = ls__onnx_input(o, node, k);

        if (node->in[k]->is_i32)
            in[4] = ls__onnx_of(o, "Reshape(v0, [-1])", x);
        else
            in[5] = initial(o, x, l, l->states - 1);
        if (!node->in[k]->is_i32 && l == &lstm)
            in[6] = initial(o, x, l, 0);
    }
    call(o, l, ls__onnx_input(o, node, 0), n, false, 5 + l->states, in, results,
         result);
    o->name[node->id] = value(o, l, results, result, n);
}

/* ------ both ways ------ */

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
    if (!is_way(b, &other) || other != lengths || cell_of(a) != cell_of(b) ||
        !is_back(b->in[0]->in[0], lengths) ||
        a->in[0]->in[0] != b->in[0]->in[0]->in[0] ||
        a->in[0]->shape[1] != b->in[0]->shape[1])
        return false;
    *both = (ls__both_ways){.x = a->in[0]->in[0], .lengths = lengths,
                            .dense = {a->in[0], b->in[0]}, .steps = {a, b}};
    return true;
}

void ls__onnx_both_ways(ls__onnx *o, const ls__net_node *node,
                        const ls__both_ways *both)
{
    const ls__net_node *const biased[] = {both->dense[0], both->steps[0],
                                          both->dense[1], both->steps[1]};
    const cell *l = cell_of(both->steps[0]);
    int64_t n = both->dense[0]->shape[1] / l->gates;
    const char *in[5] = {"", "", "", "", ""}, *y;

    in[1] = kernels(o, NULL, l, 2, both->dense);
    in[2] = kernels(o, NULL, l, 2, both->steps);
    in[3] = biases(o, NULL, l, n, 2, biased);
    if (both->lengths)
        in[4] = ls__onnx_of(o, "Reshape(v0, [-1])", o->name[both->lengths->id]);
    call(o, l, o->name[both->x->id], n, true, both->lengths ? 5 : 4, in, 1, &y);
    o->name[node->id] = value(o, l, 1, (const char *const *)&y, 2 * n);
}

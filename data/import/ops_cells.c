/* SPDX-License-Identifier: BSD-3-Clause */
/* LSTM and GRU.  The gates of a file come in another order than ours, and their
 * weights may be rows of several initializers, as PyTorch's exporters put them
 * together: each initializer is a parameter whose gates lie in our order. */
#include "base/error.h"
#include "import/reader.h"

#include <lockstep/arithmetic.h>

#include <string.h>

/* ------ rows of initializers ------ */

/* Are the rows of such a value vectors along its last axis? */
static int of_numbers(const ls__named *v)
{
    return v->kind == LS__PIECES ? v->piece->width != 0 : v->rank > 1;
}

static bool is_rows(const ls__named *v)
{
    if (v->kind != LS__WEIGHT || v->rank < 1 || v->rank > 2)
        return v->kind == LS__PIECES;
    return v->rank == v->weight->tensor->rank && v->order[0] == 0;
}

/* Are all axes before that one of one element? */
static bool leads(const ls__named *v, int axis)
{
    for (int k = 0; k < axis; k++)
        if (v->shape[k] != 1)
            return false;
    return true;
}

/* Append the rows of a value, `count` of them from `first` on. */
static bool append(ls__named *y, ls__strip *list, const ls__named *v,
                   int64_t first, int64_t count)
{
    ls__strip whole = {v->weight, 0, v->shape[0], 0};
    const ls__strip *from = v->kind == LS__PIECES ? v->piece : &whole;
    int n = v->kind == LS__PIECES ? v->pieces : 1;

    if (v->kind == LS__WEIGHT && v->rank > 1)
        whole.width = v->shape[1];
    for (int k = 0; k < n && count > 0; k++) {
        int64_t rows = from[k].count - first;

        if (rows > 0) {
            list[y->pieces] = from[k];
            list[y->pieces].first += first;
            list[y->pieces].count = rows < count ? rows : count;
            count -= list[y->pieces++].count;
        }
        first = rows > 0 ? 0 : -rows;
    }
    return count == 0;
}

/* The one axis of a Slice in steps of 1, and its part. */
static bool bounds(ls__reader *r, const ls__om_node *n, const ls__named *v,
                   int *axis, int64_t part[2])
{
    int64_t is[4] = {0, 0, 0, 1}, size;

    for (int k = 0; k < 4; k++)
        if (ls__read_in(r, n, k + 1) &&
            ls__read_sizes(r, n, k + 1, 1, &is[k]) != 1)
            return false;
    if ((*axis = ls__read_axis(is[2], v->rank)) < 0 || is[3] != 1)
        return false;
    size = v->shape[*axis];
    part[0] = ls__read_bound(is[0], size, false);
    part[1] = ls__read_bound(is[1], size, false) - part[0];
    return part[1] > 0;
}

/* Append rows of inputs 0 .. inputs - 1, whole but for a part of one, along an
 * axis before which there are ones: 1, or 0 where they are none of these. */
static int collect(ls__reader *r, const ls__om_node *n, int inputs, int axis,
                   const int64_t part[2], ls__named *y)
{
    int most = 0, behind = axis + 1;
    int64_t each = 1;
    ls__strip *list;

    for (int k = 0; k < inputs; k++) {
        const ls__named *v = ls__read_in(r, n, k);

        if (!v || !is_rows(v) || v->rank != y->rank || !leads(v, axis) ||
            axis >= v->rank - of_numbers(v) || of_numbers(v) != of_numbers(y) ||
            memcmp(v->shape + behind, y->shape + behind,
                   (size_t)(v->rank - behind) * sizeof *v->shape))
            return 0;
        most += v->kind == LS__PIECES ? v->pieces : 1;
    }
    if (!(list = ls__arena_new(&r->file->arena, (size_t)most, sizeof *list)))
        return LS_ENOMEM;
    for (int k = behind; k < y->rank - of_numbers(y); k++)
        each *= y->shape[k];
    y->shape[axis] = y->pieces = 0;
    for (int k = 0; k < inputs; k++) {
        const ls__named *v = ls__read_in(r, n, k);
        int64_t rows = part ? part[1] : v->shape[axis];

        if (!append(y, list, v, part ? part[0] * each : 0, rows * each))
            return 0;
        y->shape[axis] += rows;
    }
    y->kind = LS__PIECES;
    y->piece = list;
    return 1;
}

int ls__read_pieces(ls__reader *r, const ls__om_node *n)
{
    ls__named y = *ls__read_in(r, n, 0);
    int64_t part[2], at = 0;
    int axis = 0, made;

    if (!is_rows(&y))
        return 0;
    if (ls__om_is(n, "Slice")) {
        made = bounds(r, n, &y, &axis, part)
                   ? collect(r, n, 1, axis, part, &y) : 0;
    } else if (ls__om_is(n, "Concat")) {
        axis = ls__read_axis_of(n, 0, y.rank);
        made = axis < 0 ? 0 : collect(r, n, n->inputs, axis, NULL, &y);
    } else {
        made = ls__read_sizes(r, n, 1, 1, &at) == 1 && at == 0 &&
                       y.rank < LS_MAX_RANK && ls__om_is(n, "Unsqueeze")
                   ? collect(r, n, 1, 0, NULL, &y) : 0;
        if (made > 0)
            ls__value_unsqueeze(&y, 0);
    }
    return made > 0 ? ls__read_put(r, n, &y) : made;
}

/* ------ gates ------ */

typedef struct cell {
    int gates, states;
    int order[4]; /* our gate k is the file's order[k] */
    ls_node *(*build)(ls_node *x, int64_t n, const ls_recurrent_options *o,
                      const char *name);
} cell;

static const cell cells[] = {
    {4, 2, {0, 2, 3, 1}, ls_lstm_with}, {3, 1, {1, 0, 2}, ls_gru_with}};

/* Where n rows of a value from `row` on are: in which initializer.  width 0: a
 * row is one number. */
static int find(const ls__named *v, int64_t width, int64_t row, int64_t n,
                ls__weight **of, int64_t *first)
{
    int pieces = v->kind == LS__PIECES ? v->pieces : 0;
    int64_t wide = width ? width : 1;

    if (v->kind == LS__WEIGHT) {
        for (int k = 0; k < v->rank; k++)
            if (v->order[k] != k)
                return ls__refuse("\"%s\" is transposed", v->name);
        *of = v->weight;
        *first = row * wide;
        return 0;
    }
    for (int k = 0; k < pieces; row -= v->piece[k++].count)
        if (row < v->piece[k].count) {
            if (v->piece[k].width != width || row + n > v->piece[k].count)
                break;
            *of = v->piece[k].weight;
            *first = (v->piece[k].first + row) * wide;
            return 0;
        }
    return ls__refuse("\"%s\" is computed, where an initializer or rows of "
                      "some are wanted", v->name);
}

/* The parameter of a layer that rows from `row` on of a value are: a kernel of
 * `width` inputs, or the bias (width 0). */
static int gates(ls__reader *r, const char *layer, const char *own,
                 const ls__named *v, const cell *c, int64_t row, int64_t n,
                 int64_t width, const char *ending)
{
    int64_t wide = width ? width : 1, shape[2] = {width, c->gates * n};
    ls__lay lay = {.digits = 3, .table = 1, .size = {wide, c->gates, n},
                   .step = {1, 0, wide}};
    ls__weight *of = NULL, *other = NULL;
    bool ours = true; /* all of it, in our order, as PyTorch has it */
    int status;

    for (int k = 0; k < c->gates; k++) {
        if ((status = find(v, width, row + c->order[k] * n, n, &other,
                           &lay.first[k])) < 0)
            return status;
        if (k && other != of)
            return ls__refuse("the gates of \"%s\" are of several initializers",
                              v->name);
        of = other;
        ours &= lay.first[k] == k * n * wide;
    }
    if (ours && of->tensor->rank == 1 + (width > 0) &&
        of->tensor->shape[0] == c->gates * n) {
        ls__named whole = {.name = of->name, .kind = LS__WEIGHT, .weight = of,
                           .rank = of->tensor->rank, .order = {0, 1}};

        memcpy(whole.shape, of->tensor->shape, sizeof whole.shape);
        return ls__read_param(r, layer, own, &whole, 0, whole.rank,
                              shape + !width, width ? (int[]){1, 0}
                                                    : (int[]){0});
    }
    return ls__read_laid(r, layer, own, of, ending, width ? 2 : 1,
                         shape + !width, &lay);
}

/* ------ the layer ------ */

/* What a node has: inputs of a row's steps, and what it wants of them. */
typedef struct rnn {
    const cell *cell;
    ls__named x, state[2];
    const ls__named *w, *u, *b; /* of the input, of the state, biases */
    bool has_state, ends;
    int ways;
    bool back; /* the only way */
    int64_t steps, in, n;
    ls_node *start[2]; /* (ways,n) */
} rnn;

/* Are the activations those that there always were? */
static bool usual(const ls__om_node *n, const cell *c, int ways)
{
    static const char *const names[] = {"Sigmoid", "Tanh", "Tanh"};
    ls__wire at;
    ls__field f;
    int k = 0, each = 1 + c->states;

    if (!ls__om_attribute(n, "activations", &at))
        return true;
    while (ls__wire_next(&at, &f) > 0) {
        if (f.number != 9)
            continue;
        if (!ls__wire_is(f.bytes, names[k++ % each]))
            return false;
    }
    return k == each * ways;
}

static int refuse(ls__reader *r, const ls__om_node *n, const rnn *of)
{
    static const char *const none[] = {"clip", "activation_alpha",
                                       "activation_beta"};
    ls__wire at;

    for (int k = 0; k < 3; k++)
        if (ls__om_attribute(n, none[k], &at))
            return ls__refuse("its %s is not known here", none[k]);
    if (!usual(n, of->cell, of->ways))
        return ls__refuse("its activations are others than Sigmoid and Tanh");
    if (ls__om_integer(n, "input_forget", 0) || ls__om_integer(n, "layout", 0))
        return ls__refuse("its input_forget and layout must be 0");
    if (of->cell->states == 1 && !ls__om_integer(n, "linear_before_reset", 0))
        return ls__refuse("its linear_before_reset is 0; 1 is read, as PyTorch "
                          "has it");
    if (ls__read_in(r, n, 4) || ls__read_in(r, n, 7))
        return ls__refuse("its sequence_lens and peepholes are not read");
    return 0;
}

static int take(ls__reader *r, const ls__om_node *n, rnn *of)
{
    bool both = ls__om_says(n, "direction", "bidirectional");
    int status;

    of->cell = &cells[ls__om_is(n, "GRU")];
    of->back = ls__om_says(n, "direction", "reverse");
    of->ways = 1 + both;
    of->w = ls__read_in(r, n, 1);
    of->u = ls__read_in(r, n, 2);
    of->b = ls__read_in(r, n, 3);
    if ((status = refuse(r, n, of)) < 0)
        return status;
    if (!of->w || !of->u || of->x.rank != 3 || of->w->rank != 3 ||
        of->u->rank != 3 || ls__value_rows(&of->x) != 1)
        return ls__refuse("it wants (steps,rows,features): steps see each "
                          "other, rows do not");
    of->steps = of->x.shape[0];
    of->in = of->x.shape[2];
    of->n = of->u->shape[2];
    for (int k = 0; k < 2; k++) {
        const ls__named *v = k ? of->u : of->w;

        if (v->shape[0] != of->ways || v->shape[1] != of->cell->gates * of->n ||
            v->shape[2] != (k ? of->n : of->in) ||
            ls__om_integer(n, "hidden_size", of->n) != of->n ||
            (of->b && (of->b->rank != 2 || of->b->shape[0] != of->ways ||
                       of->b->shape[1] != 2 * of->cell->gates * of->n)))
            return ls__refuse("its weights do not fit");
    }
    for (int k = 1; k < n->outputs; k++)
        of->ends |= *n->output[k] &&
                    r->uses[ls__read_out(r, n, k) - r->value] > 0;
    return 0;
}

/* The states before the first step, h and then c: (ways,n), or none where they
 * are 0. */
static int begin(ls__reader *r, const ls__om_node *n, rnn *of)
{
    int status = 0;

    for (int k = 0; k < of->cell->states; k++) {
        const ls__named *v = ls__read_in(r, n, 5 + k);

        if (v && (v->rank != 3 || v->shape[2] != of->n))
            return ls__refuse("its states are not of its units");
        if (!v || ls__is_zero(v))
            continue;
        of->has_state = true;
        if ((status = ls__read_node_in(r, n, 5 + k, &of->state[k])) < 0)
            return status;
        if (of->state[k].shape[0] != of->ways ||
            (of->state[k].shape[1] != 1 && ls__value_rows(&of->state[k]) != 1))
            return ls__refuse("its states are not (ways,rows,units)");
        of->start[k] = ls__value_in_order(&of->state[k], 2, (int[]){0, 2});
        if (!of->start[k])
            return ls__made(NULL);
    }
    for (int k = 0; k < of->cell->states && of->has_state; k++)
        if (!of->start[k])
            of->start[k] = ls_scale_shift(of->start[!k], 0, 0);
    return 0;
}

/* The state of one way as ours: of an LSTM c, then h. */
static ls_node *state_of(const rnn *of, int way)
{
    ls_node *both[2] = {NULL, NULL};

    for (int k = 0; k < of->cell->states; k++)
        both[of->cell->states - 1 - k] = ls_slice(of->start[k], 0, way, 1);
    return of->cell->states > 1 ? ls_concat(both, 2, 0)
                                : ls_reshape(both[0], 1, &of->n);
}

/* The parameters of one way. */
static int parameters(ls__reader *r, const rnn *of, const char *layer, int way)
{
    const cell *c = of->cell;
    int64_t wide = c->gates * of->n;
    const char *const ends[] = {".forward", ".reverse"};
    int status;

    if ((status = gates(r, layer, "dense_i.kernel", of->w, c, way * wide, of->n,
                        of->in, ends[way])) < 0 ||
        (status = gates(r, layer, "dense_h.kernel", of->u, c, way * wide, of->n,
                        of->n, ends[way])) < 0)
        return status;
    for (int k = 0; k < 2; k++) {
        const char *own = k ? "dense_h.bias" : "dense_i.bias";
        char ending[32];

        if (!of->b || ls__is_zero(of->b)) {
            if (k == (c->states > 1)) /* the one that is always there */
                status = ls__read_param(r, layer, own, NULL, 0, 1, &wide,
                                        (int[]){0});
        } else {
            strcpy(ending, k ? ".h" : ".x");
            strcat(ending, ends[way]);
            status = gates(r, layer, own, of->b, c, (2 * way + k) * wide, of->n,
                           0, ending);
        }
        if (status < 0)
            return status;
    }
    return 0;
}

/* Output `out`, of a node or, where nobody reads it, of none. */
static int put(ls__reader *r, const ls__om_node *n, int out, ls_node *node,
               int rank, const int64_t *shape, int axes, const int *order)
{
    ls__named *y;

    if (out >= n->outputs || !*n->output[out])
        return 0;
    y = ls__read_out(r, n, out);
    return ls__value_set(y, node, rank, shape, axes, order);
}

/* The states after the last step, out of each way's. */
static int put_states(ls__reader *r, const ls__om_node *n, const rnn *of,
                      ls_node *const *last)
{
    int64_t shape[] = {of->ways, LS__ROWS, of->n};
    int status = 0, states = of->cell->states;

    for (int k = 0; k < states && status == 0; k++) {
        ls_node *part[2];

        for (int way = 0; way < of->ways; way++)
            part[way] = states > 1 ? ls_slice(last[way], 0, !k, 1)
                                   : ls_reshape(last[way], 2,
                                                (int64_t[]){1, of->n});
        status = put(r, n, 1 + k, of->ways > 1 ? ls_concat(part, 2, 0)
                                               : part[0],
                     3, shape, 2, (int[]){0, 2});
    }
    return status;
}

static int recurrent(ls__reader *r, const ls__om_node *n, ls__named *v)
{
    rnn of = {.x = *v};
    ls_node *x, *y[2] = {NULL, NULL}, *last[2] = {NULL, NULL};
    int status;

    if ((status = take(r, n, &of)) < 0 || (status = begin(r, n, &of)) < 0)
        return status;
    x = ls__value_in_order(&of.x, 2, (int[]){0, 2});
    for (int way = 0; way < of.ways; way++) {
        ls_recurrent_options o = ls_recurrent_defaults();
        bool back = way || of.back;
        char name[LS__LAYER_NAME];

        if (!x || (way && !y[0]))
            return ls__made(NULL);
        if ((status = ls__read_layer(r, n, NULL, name)) < 0 ||
            (status = parameters(r, &of, name, way)) < 0)
            return status;
        o.two_biases = of.b && !ls__is_zero(of.b);
        o.state = of.has_state ? state_of(&of, way) : NULL;
        o.last = of.ends ? &last[way] : NULL;
        y[way] = of.cell->build(back ? ls_reverse(x, NULL) : x, of.n, &o, name);
        y[way] = back ? ls_reverse(y[way], NULL) : y[way];
    }
    if (of.ways > 1)
        y[0] = ls_reshape(ls_concat(y, 2, 1), 3,
                          (int64_t[]){of.steps, 2, of.n});
    status = put(r, n, 0, y[0], 4,
                 (int64_t[]){of.steps, of.ways, LS__ROWS, of.n}, 1 + of.ways,
                 of.ways > 1 ? (int[]){0, 1, 3} : (int[]){0, 3});
    if (status == 0 && of.ends)
        status = put_states(r, n, &of, last);
    return status < 0 ? status : 1;
}

const ls__read_row ls__read_cells[] = {
    {"LSTM GRU", recurrent, LS__AS_NODE}, {NULL, NULL, 0}};

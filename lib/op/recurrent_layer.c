/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers in a graph: what a node's shape and parameters are. */
#include "op/recurrent_layer.h"
#include "op/op_table.h"

#include <string.h>

const ls__rnn_cell ls__lstm = {"lstm", 4, 2, false};
const ls__rnn_cell ls__gru = {"gru", 3, 1, true};

_Static_assert((LS__FROM | LS__LENGTHS) + 1 == (int)LS__RECURRENT,
               "a cell's operators");

/* ------ shapes and parameters ------ */

static int check_from(const ls_node *n)
{
    const ls_node *s = n->in[ls__recurrent_from(n)];
    const ls__rnn_cell *c = ls__cell_of(n);
    int64_t want[] = {c->states, ls__recurrent_units(n)};
    int skip = c->states == 1; /* GRU's is (n) */
    char is[LS__SHAPE_TEXT], must[LS__SHAPE_TEXT];

    if (s->dtype == LS_F32 && s->rank == 2 - skip &&
        !memcmp(s->shape, want + skip, (size_t)s->rank * sizeof *want))
        return 0;
    return ls__fail(LS_ESHAPE, "%s \"%s\": the state is %s; it must be LS_F32 "
                    "%s", n->op->name, n->name,
                    ls__shape_text(is, s->rank, s->shape),
                    ls__shape_text(must, 2 - skip, want + skip));
}

int ls__recurrent_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    const ls__rnn_cell *c = ls__cell_of(n);
    char text[LS__SHAPE_TEXT];
    int64_t units, steps, shape[2];
    int lengths = ls__recurrent_lengths(n);

    if (ls__want(n, 0, LS_F32, 2) < 0)
        return LS_ESHAPE;
    if (x->rank != 2 || x->shape[1] % c->gates)
        return ls__fail(LS_ESHAPE, "%s \"%s\": gates are %s; they must be "
                        "(steps,%d units)", n->op->name, n->name,
                        ls__shape_text(text, x->rank, x->shape), c->gates);
    units = ls__recurrent_units(n);
    steps = ls__recurrent_steps(n);
    if ((ls__recurrent_from(n) >= 0 && check_from(n) < 0) ||
        (lengths >= 0 && ls__want_lengths(n, lengths, steps) < 0))
        return LS_ESHAPE;
    shape[0] = steps;
    if (ls__recurrent_ends(n))
        shape[0] = (steps + c->states) * units;
    shape[1] = units;
    return ls__node_set_shape(n, LS_F32, ls__recurrent_ends(n) ? 1 : 2, shape);
}

ls_node *ls__recurrent_declare(ls_node *n)
{
    const ls__recurrent_of *of = n->of;
    int64_t units = ls__recurrent_units(n), wide = n->in[0]->shape[1];
    int64_t kernel[] = {units, wide};

    n = ls__node_param(n, "kernel", LS__INIT_ORTHOGONAL, units, wide, 2,
                       kernel);
    return n && (of->bias || !ls__cell_of(n)->bias_of_x)
               ? ls__node_param(n, "bias", LS__INIT_ZEROS, units, wide, 1,
                                &wide)
               : n;
}

ls_node *ls__recurrent_node(ls_node *gates, const ls__rnn_cell *c,
                            const ls_recurrent_options *o, const char *name)
{
    int kind = (o->state ? LS__FROM : 0) | (o->lengths ? LS__LENGTHS : 0);
    const ls__op *op = c == &ls__lstm ? &ls__op_lstm[kind] : &ls__op_gru[kind];
    ls_node *second = o->state ? o->state : o->lengths;
    ls_node *third = o->state ? o->lengths : NULL;

    return ls__node_with(ls__node_new(op, name, gates, second, third),
                         &(ls__recurrent_of){o->last != NULL,
                                             o->two_biases && c->bias_of_x});
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers in a graph: what a node's shape and parameters are, and the
 * layers, each a dense layer and an operator that goes through the steps. */
#include "base/sized.h"
#include "op/recurrent_layer.h"
#include "graph/undo.h"
#include "op/layer.h"
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

#include <string.h>

const ls__cell ls__lstm = {"lstm", 4, 2, false};
const ls__cell ls__gru = {"gru", 3, 1, true};

/* ------ shapes and parameters ------ */

static int check_from(const ls_node *n)
{
    const ls_node *s = n->in[ls__recurrent_from(n)];
    const ls__cell *c = ls__cell_of(n);
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

static int check_lengths(const ls_node *n)
{
    const ls_node *l = n->in[ls__recurrent_lengths(n)];
    char text[LS__SHAPE_TEXT];

    if (l->dtype == LS_I32 && l->size == 1)
        return 0;
    return ls__fail(LS_ESHAPE, "%s \"%s\": lengths are %s; they must be one "
                    "LS_I32 a row", n->op->name, n->name,
                    ls__shape_text(text, l->rank, l->shape));
}

int ls__recurrent_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    const ls__cell *c = ls__cell_of(n);
    char text[LS__SHAPE_TEXT];
    int64_t units, steps, shape[2];

    if (ls__want(n, 0, LS_F32, 2) < 0)
        return LS_ESHAPE;
    if (x->rank != 2 || x->shape[1] % c->gates)
        return ls__fail(LS_ESHAPE, "%s \"%s\": gates are %s; they must be "
                        "(steps,%d units)", n->op->name, n->name,
                        ls__shape_text(text, x->rank, x->shape), c->gates);
    units = ls__recurrent_units(n);
    steps = ls__recurrent_steps(n);
    if ((ls__recurrent_from(n) >= 0 && check_from(n) < 0) ||
        (ls__recurrent_lengths(n) >= 0 && check_lengths(n) < 0))
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
    int lengths = ls__recurrent_lengths(n);
    ls_node *l = lengths >= 0 ? n->in[lengths] : NULL;
    int64_t limit = ls__recurrent_steps(n) + 1;

    if (l && limit < l->limit) /* batches are checked against the smallest */
        l->limit = limit;
    n = ls__node_param(n, "kernel", LS__INIT_ORTHOGONAL, units, wide, 2,
                       kernel);
    return n && (of->bias || !ls__cell_of(n)->bias_of_x)
               ? ls__node_param(n, "bias", LS__INIT_ZEROS, units, wide, 1,
                                &wide)
               : n;
}

/* ------ layers ------ */

/* The state after the last step, out of the value that holds it, and the steps
 * themselves. */
static ls_node *separate(ls_node *y, const ls__cell *c, int64_t t, int64_t n,
                         ls_node **last)
{
    ls_node *state = ls_slice(y, 0, t * n, c->states * n);

    if (c->states > 1)
        state = ls_reshape(state, 2, (int64_t[]){c->states, n});
    y = ls_reshape(ls_slice(y, 0, 0, t * n), 2, (int64_t[]){t, n});
    *last = y ? state : NULL;
    return y;
}

/* Neither x nor n can be such a layer's. */
static ls_node *refused(const ls_node *x, const ls__cell *c, int64_t n,
                        const char *name)
{
    char text[LS__SHAPE_TEXT];

    ls__fail(LS_ESHAPE, "%s \"%s\": %lld units for %s; it takes "
             "(steps,features)", c->name, name, (long long)n,
             ls__shape_text(text, x->rank, x->shape));
    return ls__graph_failed(x->graph, LS_ESHAPE);
}

/* The steps of a dense layer's value. */
static ls_node *steps(ls_node *gates, const ls__cell *c,
                      const ls_recurrent_options *o, const char *name)
{
    int kind = (o->state ? LS__FROM : 0) | (o->lengths ? LS__LENGTHS : 0);
    const ls__op *op = c == &ls__lstm ? &ls__op_lstm[kind] : &ls__op_gru[kind];
    ls_node *y = ls__node_new(op, name, gates, o->state ? o->state : o->lengths,
                              o->state ? o->lengths : NULL);

    if (y)
        *(ls__recurrent_of *)y->of =
            (ls__recurrent_of){o->last != NULL, o->two_biases};
    return ls__node_done(y);
}

/* One way through the steps. */
static ls_node *one_way(ls_node *x, const ls__cell *c, int64_t n,
                        const ls_recurrent_options *o, const char *name)
{
    const char *of_x, *of_h;
    ls_node *y;

    if (!x || !(of_x = ls__path(x->graph, name, "dense_i")) ||
        !(of_h = ls__path(x->graph, name, "dense_h")))
        return NULL;
    y = ls__dense(x, c->gates * n, of_x, c->bias_of_x,
                  (ls__extents){2, {ls__width(x), c->gates * n}});
    y = steps(y, c, o, of_h);
    return y && o->last ? separate(y, c, x->shape[0], n, o->last) : y;
}

/* ------ both ways ------ */

/* The shape of a state of one way, with an axis before it. */
static ls__extents state_shape(const ls__cell *c, int64_t n, int64_t ways)
{
    return c->states > 1 ? (ls__extents){3, {ways, c->states, n}}
                         : (ls__extents){2, {ways, n}};
}

static bool has_both(const ls_node *state, const ls__cell *c, int64_t n,
                     const char *name)
{
    ls__extents want = state_shape(c, n, 2);
    char is[LS__SHAPE_TEXT], must[LS__SHAPE_TEXT];

    if (state->dtype == LS_F32 && state->rank == want.rank &&
        !memcmp(state->shape, want.of, (size_t)want.rank * sizeof *want.of))
        return true;
    ls__fail(LS_ESHAPE, "%s \"%s\": the state is %s; of a bidirectional layer "
             "it must be LS_F32 %s", c->name, name,
             ls__shape_text(is, state->rank, state->shape),
             ls__shape_text(must, want.rank, want.of));
    ls__graph_failed(state->graph, LS_ESHAPE);
    return false;
}

/* One way's state out of that of both. */
static ls_node *state_of(ls_node *both, const ls__cell *c, int64_t n, int way)
{
    ls__extents one = state_shape(c, n, 1);

    return ls_reshape(ls_slice(both, 0, way, 1), one.rank - 1, one.of + 1);
}

/* Way 0 and way 1 through the steps, the latter put right again. */
static ls_node *way(ls_node *x, const ls__cell *c, int64_t n,
                    const ls_recurrent_options *options, int which,
                    const char *name)
{
    ls__extents one = state_shape(c, n, 1);
    ls_recurrent_options o = *options;
    ls_node *y;

    if (o.state && !(o.state = state_of(o.state, c, n, which)))
        return NULL;
    y = which ? one_way(ls_reverse(x, o.lengths), c, n, &o, name)
              : one_way(x, c, n, &o, name);
    if (o.last)
        *o.last = ls_reshape(*o.last, one.rank, one.of);
    return which ? ls_reverse(y, o.lengths) : y;
}

static ls_node *both_ways(ls_node *x, const ls__cell *c, int64_t n,
                          const ls_recurrent_options *options,
                          const char *name)
{
    const char *other = ls__path(x->graph, name, "reverse");
    ls_recurrent_options o = *options;
    ls_node *y[2], *last[2] = {NULL, NULL};

    if (!other || (o.state && !has_both(o.state, c, n, name)))
        return NULL;
    for (int k = 0; k < 2; k++) {
        o.last = options->last ? &last[k] : NULL;
        if (!(y[k] = way(x, c, n, &o, k, k ? other : name)))
            return NULL;
    }
    if (options->last && !(*options->last = ls_concat(last, 2, 0)))
        return NULL;
    return ls_concat(y, 2, 1);
}

static ls_node *layer(ls_node *x, const ls__cell *c, int64_t n,
                      const ls_recurrent_options *o, const char *name)
{
    ls_node *y;

    if (x->rank != 2 || n < 1 || n > INT32_MAX)
        return refused(x, c, n, name);
    ls__undo_enter(x->graph);
    y = o->bidirectional ? both_ways(x, c, n, o, name)
                         : one_way(x, c, n, o, name);
    if (!y && o->last)
        *o->last = NULL;
    return ls__undo_leave(x->graph, y);
}

void ls_recurrent_defaults_bytes(ls_recurrent_options *options, size_t size)
{
    const ls_recurrent_options o = {.size = sizeof o};

    LS__NEED_OR(options, );
    ls__sized_defaults(options, size, &o, sizeof o);
}

static ls_node *with(ls_node *x, const ls__cell *c, int64_t n,
                     const ls_recurrent_options *options, const char *name)
{
    ls_recurrent_options o = ls_recurrent_defaults();
    int status = ls__sized_take("recurrent", &o, sizeof o, options);

    if (status == 0 && o.last)
        *o.last = NULL;
    if (!x || x->graph->status)
        return NULL;
    name = name ? name : "";
    if (status == 0 && o.two_biases && !c->bias_of_x)
        status = ls__fail(LS_EINVAL, "%s \"%s\": two_biases are a GRU's",
                          c->name, name);
    if (status < 0)
        return ls__graph_failed(x->graph, status);
    return layer(x, c, n, &o, name);
}

ls_node *ls_lstm(ls_node *x, int64_t n, const char *name)
{
    return with(x, &ls__lstm, n, NULL, name);
}

ls_node *ls_gru(ls_node *x, int64_t n, const char *name)
{
    return with(x, &ls__gru, n, NULL, name);
}

ls_node *ls_lstm_with(ls_node *x, int64_t n,
                      const ls_recurrent_options *options, const char *name)
{
    return with(x, &ls__lstm, n, options, name);
}

ls_node *ls_gru_with(ls_node *x, int64_t n,
                     const ls_recurrent_options *options, const char *name)
{
    return with(x, &ls__gru, n, options, name);
}

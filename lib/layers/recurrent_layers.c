/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers, each a dense layer and an operator that goes through the
 * steps, one way or both. */
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"
#include "graph/standing.h"
#include "layers/shape.h"
#include "op/layer_parts.h"
#include <lockstep/arithmetic.h>

#include <string.h>

/* The state after the last step, out of the value that holds it, and the steps
 * themselves. */
static ls_node *separate(ls_node *y, const ls__rnn_cell *c, int64_t t,
                         int64_t n, ls_node **last)
{
    ls_node *state = ls_slice(y, 0, t * n, c->states * n);

    if (c->states > 1)
        state = ls_reshape(state, 2, (int64_t[]){c->states, n});
    y = ls_reshape(ls_slice(y, 0, 0, t * n), 2, (int64_t[]){t, n});
    *last = y ? state : NULL;
    return y;
}

/* Neither x nor n can be such a layer's. */
static ls_node *refused(const ls_node *x, const ls__rnn_cell *c, int64_t n,
                        const char *name)
{
    ls__shape s = ls__shape_of(x);
    char text[LS__SHAPE_TEXT];

    ls__fail(LS_ESHAPE, "%s \"%s\": %lld units for %s; it takes "
             "(steps,features)", c->name, name, (long long)n,
             ls__shape_text(text, s.rank, s.of));
    return ls__graph_failed(ls__graph_of(x), LS_ESHAPE);
}

/* One way through the steps. */
static ls_node *one_way(ls_node *x, const ls__rnn_cell *c, int64_t n,
                        const ls_recurrent_options *o, const char *name)
{
    int64_t wide = c->gates * n, matrix[] = {x ? ls__last_of(x) : 0, wide};
    const char *of_h;
    ls_node *y;

    if (!x || !(of_h = ls__path(ls__graph_of(x), name, "dense_h")))
        return NULL;
    y = ls__projection(x, wide, name, "dense_i",
                      c->bias_of_x || o->two_biases, 2, matrix);
    y = ls__recurrent_node(y, c, o, of_h);
    return y && o->last
               ? separate(y, c, ls__shape_of(x).of[0], n, o->last) : y;
}

/* ------ both ways ------ */

/* The shape of a state of one way, with an axis before it. */
static ls__shape state_shape(const ls__rnn_cell *c, int64_t n, int64_t ways)
{
    return c->states > 1 ? (ls__shape){3, {ways, c->states, n}}
                         : (ls__shape){2, {ways, n}};
}

static bool has_both(const ls_node *state, const ls__rnn_cell *c, int64_t n,
                     const char *name)
{
    ls__shape want = state_shape(c, n, 2), s = ls__shape_of(state);
    char is[LS__SHAPE_TEXT], must[LS__SHAPE_TEXT];

    if (s.rank == want.rank &&
        !memcmp(s.of, want.of, (size_t)want.rank * sizeof *want.of))
        return true;
    ls__fail(LS_ESHAPE, "%s \"%s\": the state is %s; of a bidirectional layer "
             "it must be LS_F32 %s", c->name, name,
             ls__shape_text(is, s.rank, s.of),
             ls__shape_text(must, want.rank, want.of));
    ls__graph_failed(ls__graph_of(state), LS_ESHAPE);
    return false;
}

/* One way's state out of that of both. */
static ls_node *state_of(ls_node *both, const ls__rnn_cell *c, int64_t n,
                         int way)
{
    ls__shape one = state_shape(c, n, 1);

    return ls_reshape(ls_slice(both, 0, way, 1), one.rank - 1, one.of + 1);
}

/* Way 0 and way 1 through the steps, the latter put right again. */
static ls_node *way(ls_node *x, const ls__rnn_cell *c, int64_t n,
                    const ls_recurrent_options *options, int which,
                    const char *name)
{
    ls__shape one = state_shape(c, n, 1);
    ls_recurrent_options o = *options;
    ls_node *y;

    LS__ASSERT(which == 0 || which == 1);
    if (o.state && !(o.state = state_of(o.state, c, n, which)))
        return NULL;
    y = which ? one_way(ls_reverse(x, o.lengths), c, n, &o, name)
              : one_way(x, c, n, &o, name);
    if (o.last)
        *o.last = ls_reshape(*o.last, one.rank, one.of);
    return which ? ls_reverse(y, o.lengths) : y;
}

static ls_node *both_ways(ls_node *x, const ls__rnn_cell *c, int64_t n,
                          const ls_recurrent_options *options,
                          const char *name)
{
    const char *other = ls__path(ls__graph_of(x), name, "reverse");
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

static ls_node *layer(ls_node *x, const ls__rnn_cell *c, int64_t n,
                      const ls_recurrent_options *o, const char *name)
{
    ls_graph *g = ls__graph_of(x);
    ls_node *y;

    if (ls__shape_of(x).rank != 2 || n < 1 || n > INT32_MAX)
        return refused(x, c, n, name);
    ls__undo_enter(g);
    y = o->bidirectional ? both_ways(x, c, n, o, name)
                         : one_way(x, c, n, o, name);
    if (!y && o->last)
        *o->last = NULL;
    return ls__undo_leave(g, y);
}

LS__DEFAULTS(ls_recurrent_options, ls_recurrent_defaults_bytes)

static ls_node *with(ls_node *x, const ls__rnn_cell *c, int64_t n,
                     const ls_recurrent_options *options, const char *name)
{
    ls_recurrent_options o = ls_recurrent_defaults();
    int status = ls__sized_take("recurrent", &o, sizeof o, options);

    if (status == 0 && o.last)
        *o.last = NULL;
    if (!ls__node_stands(x))
        return NULL;
    name = name ? name : "";
    if (status < 0)
        return ls__graph_failed(ls__graph_of(x), status);
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

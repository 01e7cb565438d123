/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers, out of what each of their steps shows: "steps" has of each
 * the state's share of the gates, the gates, and the state after it (h, then
 * LSTM's c); "steps back", in reverse order, the gradients by that share, what
 * it was given by h after it, what passes the gates by, and by c before it. */
#include "operators.h"

typedef struct cell {
    const asked *q;
    bool lstm, ends;
    int from, lengths;         /* inputs, or -1 */
    int64_t t, n, wide, gates; /* steps, units, gates x units, gates */
    int64_t share, states;     /* words of all rows: wide, n */
    int64_t one, back;         /* of a step, of a step back */
    place steps, steps_back, u, bias, state;
} cell;

static bool find_cell(const asked *q, cell *c)
{
    int64_t x[MOST_RANK];

    memset(c, 0, sizeof *c);
    c->q = q;
    c->lstm = strncmp(q->n->op, "lstm", 4) == 0;
    c->ends = integer(q, "ends", 0);
    c->from = strstr(q->n->op, "_from") ? 1 : -1;
    c->lengths = !strstr(q->n->op, "_lengths") ? -1 : c->from > 0 ? 2 : 1;
    if (axes(q->from->shape, x) != 2)
        return false;
    c->gates = c->lstm ? 4 : 3;
    c->t = x[0];
    c->wide = x[1];
    c->n = c->wide / c->gates;
    c->share = q->rows * c->wide;
    c->states = q->rows * c->n;
    c->one = 2 * c->share + (c->lstm ? 2 : 1) * c->states;
    c->back = c->share + 3 * c->states;
    c->u = param_of(q, 0, c->n * c->wide);
    c->bias = param_of(q, 1, c->wide);
    c->state = c->from > 0 ? input_of(q, c->from) : 0;
    c->steps = shown(q, "forward", "steps", c->t * c->one);
    c->steps_back = shown(q, "backward", "steps back", c->t * c->back);
    return c->n > 0 && c->steps && c->u && (c->from < 0 || c->state) &&
           (c->bias || !param(q->n, 1));
}

/* ------ where numbers are; 0: it is a zero ------ */

static f32 at(place x) { return x ? word(x) : 0; }

/* The state's share of gate g, and the gate. */
static place share_at(const cell *c, int64_t t, int64_t i, int64_t g,
                      int64_t j)
{
    return c->steps + t * c->one + i * c->wide + g * c->n + j;
}

static place gate_at(const cell *c, int64_t t, int64_t i, int64_t g, int64_t j)
{
    return share_at(c, t, i, g, j) + c->share;
}

/* h, or c, of unit j before step t. */
static place state_at(const cell *c, int64_t t, int64_t i, int64_t j, bool of_c)
{
    int64_t states = c->lstm ? 2 : 1;

    if (t > 0)
        return c->steps + (t - 1) * c->one + 2 * c->share +
               of_c * c->states + i * c->n + j;
    return c->state ? c->state + i * states * c->n +
                          (c->lstm && !of_c ? c->n : 0) + j
                    : 0;
}

/* Gradients of step t: by the state's share; 0 given by h after it, 1 what
 * passes the gates by, 2 by c before it. */
static place d_at(const cell *c, int64_t t, int64_t i, int64_t k)
{
    return c->steps_back + (c->t - 1 - t) * c->back + i * c->wide + k;
}

static place back_at(const cell *c, int64_t t, int64_t i, int64_t j,
                     int64_t which)
{
    return c->steps_back + (c->t - 1 - t) * c->back + c->share +
           which * c->states + i * c->n + j;
}

static bool counts(const cell *c, int64_t t, int64_t i)
{
    place length = c->lengths > 0 ? input_of(c->q, c->lengths) : 0;

    return !length || t < (int32_t)word(length + i);
}

/* ------ the cells ------ */

/* x, u: the shares of input and state of the gates i, f, g, o; c: the cell
 * before.  out: i, f, g, o, c', h'. */
static void lstm(const f32 *x, const f32 *u, f32 c, f32 out[6])
{
    for (int k = 0; k < 4; k++) {
        f32 gate = f_add(x[k], u[k]);

        out[k] = k == 2 ? e_tanh(gate) : e_sigmoid(gate);
    }
    out[4] = f_fma(out[1], c, f_mul(out[0], out[2]));
    out[5] = f_mul(out[3], e_tanh(out[4]));
}

/* Gates r, z, n; out: those, and h'. */
static void gru(const f32 *x, const f32 *u, f32 h, f32 out[6])
{
    out[0] = e_sigmoid(f_add(x[0], u[0]));
    out[1] = e_sigmoid(f_add(x[1], u[1]));
    out[2] = e_tanh(f_fma(out[0], u[2], x[2]));
    out[3] = f_fma(out[1], h, f_mul(f_sub(F(1.0f), out[1]), out[2]));
}

static f32 through_sigmoid(f32 s, f32 d)
{
    return f_mul(d, f_mul(s, f_sub(F(1.0f), s)));
}

static f32 through_tanh(f32 t, f32 d)
{
    return f_mul(d, f_fma(f_neg(t), t, F(1.0f)));
}

/* k: the gates; dh: by h after the step; out: the gradients by the gates, and
 * by the cell before. */
static void lstm_back(const f32 *k, f32 c, f32 next, f32 dh, f32 dc, f32 out[5])
{
    f32 t = e_tanh(next), e = f_add(dc, through_tanh(t, f_mul(dh, k[3])));

    out[0] = through_sigmoid(k[0], f_mul(e, k[2]));
    out[1] = through_sigmoid(k[1], f_mul(e, c));
    out[2] = through_tanh(k[2], f_mul(e, k[0]));
    out[3] = through_sigmoid(k[3], f_mul(dh, t));
    out[4] = f_mul(e, k[1]);
}

/* hn: the state's share of n; out: the gradients by x (3), by hn, and what of
 * dh passes the gates by. */
static void gru_back(const f32 *k, f32 hn, f32 h, f32 dh, f32 out[5])
{
    out[2] = through_tanh(k[2], f_mul(dh, f_sub(F(1.0f), k[1])));
    out[0] = through_sigmoid(k[0], f_mul(out[2], hn));
    out[1] = through_sigmoid(k[1], f_mul(dh, f_sub(h, k[2])));
    out[3] = f_mul(out[2], k[0]);
    out[4] = f_mul(dh, k[1]);
}

/* ------ forward ------ */

/* Gate k = g n + j of a row: its state times a column, plus bias. */
static f32 share(const cell *c, int64_t t, int64_t i, int64_t k)
{
    f32 *h = room_for(c->n), y;

    for (int64_t j = 0; j < c->n; j++)
        h[j] = at(state_at(c, t, i, j, false));
    y = multiplied(NULL, h, words(c->u + k, c->n, c->wide), c->n);
    return after_layer(c->bias ? f_add(y, word(c->bias + k)) : y);
}

/* Number `which` of a unit: gates, then c and h. */
static f32 unit(const cell *c, int64_t t, int64_t i, int64_t j, int64_t which)
{
    f32 out[6];

    (c->lstm ? lstm : gru)(words(c->q->x + (i * c->t + t) * c->wide + j,
                                 c->gates, c->n),
                           words(share_at(c, t, i, 0, j), c->gates, c->n),
                           at(state_at(c, t, i, j, c->lstm)), out);
    return out[which];
}

static f32 of_step(const cell *c)
{
    int64_t t = c->q->at / c->one, k = c->q->at % c->one, i, j;

    if (k < c->share)
        return share(c, t, k / c->wide, k % c->wide);
    k -= c->share;
    i = k / c->wide;
    if (k < c->share)
        return counts(c, t, i) ? unit(c, t, i, k % c->n, k % c->wide / c->n)
                               : 0;
    k -= c->share;
    i = k % c->states / c->n;
    j = k % c->n;
    if (!counts(c, t, i))
        return at(state_at(c, t, i, j, k >= c->states));
    return unit(c, t, i, j, !c->lstm ? 3 : k < c->states ? 5 : 4);
}

/* A number among those kept: gates as x lies; GRU's share of n, which is 0
 * beyond a row's length; the states before each step. */
static f32 of_kept(const cell *c)
{
    int64_t k = c->q->at, gates = c->t * c->share, i;
    int64_t hn = c->lstm ? 0 : c->t * c->states, all = (c->t + 1) * c->states;

    if (k < gates)
        return word(gate_at(c, k / c->wide % c->t, k / c->wide / c->t, 0,
                            k % c->wide));
    k -= gates;
    i = k % c->states / c->n;
    if (k < hn)
        return counts(c, k / c->states, i)
                   ? word(share_at(c, k / c->states, i, 2, k % c->n)) : 0;
    k -= hn;
    return at(state_at(c, k % all / c->states, i, k % c->n, k >= all));
}

/* A number of the value: the steps' h, then c and h after the last. */
static f32 of_value(const cell *c)
{
    int64_t i = c->q->at / c->q->size, k = c->q->at % c->q->size;
    int64_t t = k / c->n, j = k % c->n;

    if (t >= c->t)
        return at(state_at(c, c->t, i, j, c->lstm && t == c->t));
    return counts(c, t, i) ? at(state_at(c, t + 1, i, j, false)) : 0;
}

/* ------ backward ------ */

/* The gradient by c after step t, made by the step after it; by what else. */
static place given_c(const cell *c, int64_t t, int64_t i, int64_t j)
{
    if (t + 1 < c->t)
        return back_at(c, t + 1, i, j, 2);
    return c->ends ? c->q->dy + i * c->q->size + c->t * c->n + j : 0;
}

static f32 unit_back(const cell *c, int64_t t, int64_t i, int64_t j,
                     int64_t which)
{
    const f32 *k = words(gate_at(c, t, i, 0, j), c->gates, c->n);
    f32 out[5], dh = f_add(word(back_at(c, t, i, j, 0)),
                           word(c->q->dy + i * c->q->size + t * c->n + j));

    if (c->lstm)
        lstm_back(k, at(state_at(c, t, i, j, true)),
                  at(state_at(c, t + 1, i, j, true)), dh,
                  at(given_c(c, t, i, j)), out);
    else
        gru_back(k, word(share_at(c, t, i, 2, j)),
                 at(state_at(c, t, i, j, false)), dh, out);
    return out[which];
}

/* The gradient by h before step t: that of its gates times a row of U, and what
 * passes by. */
static f32 through_state(const cell *c, int64_t t, int64_t i, int64_t j)
{
    return f_add(multiplied(NULL, words(d_at(c, t, i, 0), c->wide, 1),
                            words(c->u + j * c->wide, c->wide, 1), c->wide),
                 word(back_at(c, t, i, j, 1)));
}

/* Number `which` of back_at(). */
static f32 passed(const cell *c, int64_t t, int64_t i, int64_t j,
                  int64_t which)
{
    if (which == 0 && t + 1 < c->t)
        return through_state(c, t + 1, i, j);
    if (which == 0)
        return c->ends ? word(c->q->dy + i * c->q->size + c->t * c->n +
                              (c->lstm ? c->n : 0) + j)
                       : 0;
    if (!counts(c, t, i))
        return at(which == 1 ? back_at(c, t, i, j, 0) : given_c(c, t, i, j));
    return which == (c->lstm ? 2 : 1) ? unit_back(c, t, i, j, 4) : 0;
}

static f32 of_step_back(const cell *c)
{
    int64_t t = c->t - 1 - c->q->at / c->back, k = c->q->at % c->back, i, g;

    if (k < c->share) {
        g = k % c->wide / c->n;
        i = k / c->wide;
        return counts(c, t, i) ? unit_back(c, t, i, k % c->n,
                                           !c->lstm && g == 2 ? 3 : g)
                               : 0;
    }
    k -= c->share;
    return passed(c, t, k % c->states / c->n, k % c->n, k / c->states);
}

/* The gradient by the gates of x. */
static f32 of_x(const cell *c)
{
    const asked *q = c->q;
    int64_t k = q->at % c->wide, t = q->at / c->wide % c->t;
    int64_t i = q->at / c->wide / c->t;

    return plus_others(q, counts(c, t, i)
                              ? unit_back(c, t, i, k % c->n, k / c->n) : 0);
}

/* dU or dbias: over steps, and in each over rows. */
static f32 of_kernel(const cell *c, bool bias)
{
    const asked *q = c->q;
    int64_t k = q->at % c->wide, j = q->at / c->wide, n = c->t * q->rows;
    f32 *h = room_for(n), *d = room_for(n);
    const f32 *before = sum_before(q);

    for (int64_t p = 0; p < n; p++) {
        d[p] = word(d_at(c, p / q->rows, p % q->rows, k));
        h[p] = bias ? 0 : at(state_at(c, p / q->rows, p % q->rows, j, false));
    }
    return bias ? column(before, d, n) : multiplied(before, h, d, n);
}

/* The gradient by the state before the first step: c, then h. */
static f32 of_state(const cell *c)
{
    const asked *q = c->q;
    int64_t wide = (c->lstm ? 2 : 1) * c->n, i = q->at / wide;
    int64_t j = q->at % c->n;

    return plus_others(q, c->lstm && q->at % wide < c->n
                              ? word(back_at(c, 0, i, j, 2))
                              : through_state(c, 0, i, j));
}

static f32 backward(const cell *c)
{
    const asked *q = c->q;

    if (!q->dy || !c->steps_back)
        return unknown(q->n->op);
    if (is_what("steps back"))
        return of_step_back(c);
    if (is_dx(q, 0))
        return of_x(c);
    if (c->from > 0 && is_dx(q, c->from))
        return of_state(c);
    return is_dparam(q, 0) || is_dparam(q, 1) ? of_kernel(c, of->index == 1)
                                              : unknown(q->n->op);
}

f32 steps_makes(const asked *q)
{
    cell c;

    if (!find_cell(q, &c))
        return unknown(q->n->op);
    if (is_what("steps"))
        return of_step(&c);
    if (is_what("kept"))
        return of_kept(&c);
    return is_y() ? of_value(&c) : backward(&c);
}

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

/* ------ numbers of a step ------ */

/* In the order of "steps", and of "steps back": by the state's share, by h
 * after the step, what passes the gates by, by c before it. */
enum { SHARE, GATE, H, C, D_SHARE, D_H, PASSES, D_C };

/* Where one of row i is, number k of the gates or of the units.  Step -1 has
 * the state before the first, the step behind the last what c and h after that
 * are given.  0: it is a zero. */
static place where(const cell *c, int which, int64_t t, int64_t i, int64_t k)
{
    place step = c->steps + t * c->one;
    place back = c->steps_back + (c->t - 1 - t) * c->back;

    if (which < H)
        return step + which * c->share + i * c->wide + k;
    if (which <= C && t >= 0)
        return step + 2 * c->share + (which - H) * c->states + i * c->n + k;
    if (which <= C && !c->lstm)
        return c->state ? c->state + i * c->n + k : 0;
    if (which <= C)
        return c->state ? c->state + (2 * i + (which == H)) * c->n + k : 0;
    if (which == D_SHARE)
        return back + i * c->wide + k;
    if (t < c->t)
        return back + c->share + (which - D_H) * c->states + i * c->n + k;
    return c->ends ? c->q->dy + i * c->q->size + c->t * c->n + k : 0;
}

static f32 number(const cell *c, int which, int64_t t, int64_t i, int64_t k)
{
    place x = where(c, which, t, i, k);

    return x ? word(x) : 0;
}

static bool counts(const cell *c, int64_t t, int64_t i)
{
    place length = c->lengths > 0 ? input_of(c->q, c->lengths) : 0;

    return !length || t < (int32_t)word(length + i);
}

/* ------ the cells ------ */

/* x, u: the shares of input and state of the gates i, f, g, o; c: the cell
 * before.  out: i, f, g, o, h', c'. */
static void lstm(const f32 *x, const f32 *u, f32 c, f32 out[6])
{
    for (int k = 0; k < 4; k++) {
        f32 gate = f_add(x[k], u[k]);

        out[k] = k == 2 ? e_tanh(gate) : e_sigmoid(gate);
    }
    out[5] = f_fma(out[1], c, f_mul(out[0], out[2]));
    out[4] = f_mul(out[3], e_tanh(out[5]));
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

/* ------ a number is made ------ */

/* Gate k = g n + j of a row: its state times a column, plus bias. */
static f32 share(const cell *c, int64_t t, int64_t i, int64_t k)
{
    f32 *h = room_for(c->n), y;

    for (int64_t j = 0; j < c->n; j++)
        h[j] = number(c, H, t - 1, i, j);
    y = multiplied(NULL, h, words(c->u + k, c->n, c->wide), c->n);
    return after_layer(c->bias ? f_add(y, word(c->bias + k)) : y);
}

/* Number `which` of a unit: gates, then h and c. */
static f32 unit(const cell *c, int64_t t, int64_t i, int64_t j, int64_t which)
{
    f32 out[6];

    (c->lstm ? lstm : gru)(words(c->q->x + (i * c->t + t) * c->wide + j,
                                 c->gates, c->n),
                           words(where(c, SHARE, t, i, j), c->gates, c->n),
                           number(c, c->lstm ? C : H, t - 1, i, j), out);
    return out[which];
}

static f32 unit_back(const cell *c, int64_t t, int64_t i, int64_t j,
                     int64_t which)
{
    const f32 *k = words(where(c, GATE, t, i, j), c->gates, c->n);
    f32 out[5], dh = f_add(number(c, D_H, t, i, j),
                           word(c->q->dy + i * c->q->size + t * c->n + j));

    if (c->lstm)
        lstm_back(k, number(c, C, t - 1, i, j), number(c, C, t, i, j), dh,
                  number(c, D_C, t + 1, i, j), out);
    else
        gru_back(k, number(c, SHARE, t, i, 2 * c->n + j),
                 number(c, H, t - 1, i, j), dh, out);
    return out[which];
}

/* The gradient by h before step t: that of its gates times a row of U, and what
 * passes by. */
static f32 through_state(const cell *c, int64_t t, int64_t i, int64_t j)
{
    return f_add(multiplied(NULL, words(where(c, D_SHARE, t, i, 0), c->wide, 1),
                            words(c->u + j * c->wide, c->wide, 1), c->wide),
                 number(c, PASSES, t, i, j));
}

static f32 made(const cell *c, int which, int64_t t, int64_t i, int64_t k)
{
    int64_t j = k % c->n, g = k / c->n;
    bool is_in = counts(c, t, i);

    switch (which) {
    case SHARE: return share(c, t, i, k);
    case GATE: return is_in ? unit(c, t, i, j, g) : 0;
    case H:
    case C:
        return is_in ? unit(c, t, i, k, c->gates + which - H)
                     : number(c, which, t - 1, i, k);
    case D_SHARE:
        return is_in ? unit_back(c, t, i, j, !c->lstm && g == 2 ? 3 : g) : 0;
    case D_H:
        return t + 1 < c->t ? through_state(c, t + 1, i, k)
                            : number(c, D_C, c->t, i, c->lstm * c->n + k);
    }
    if (!is_in)
        return which == PASSES ? number(c, D_H, t, i, k)
                               : number(c, D_C, t + 1, i, k);
    return which == (c->lstm ? D_C : PASSES) ? unit_back(c, t, i, k, 4) : 0;
}

/* ------ who asks for it ------ */

static f32 of_step(const cell *c, bool back)
{
    int64_t one = back ? c->back : c->one, t = c->q->at / one;
    int64_t k = c->q->at % one, gates = back ? c->share : 2 * c->share;

    t = back ? c->t - 1 - t : t;
    if (k < gates)
        return made(c, (back ? D_SHARE : SHARE) + (int)(k / c->share), t,
                    k % c->share / c->wide, k % c->wide);
    k -= gates;
    return made(c, (back ? D_H : H) + (int)(k / c->states), t,
                k % c->states / c->n, k % c->n);
}

/* A number among those kept: gates as x lies; GRU's share of n, which is 0
 * beyond a row's length; the states before each step. */
static f32 of_kept(const cell *c)
{
    int64_t k = c->q->at, gates = c->t * c->share, i, t;
    int64_t hn = c->lstm ? 0 : c->t * c->states, all = (c->t + 1) * c->states;

    if (k < gates)
        return number(c, GATE, k / c->wide % c->t, k / c->wide / c->t,
                      k % c->wide);
    k -= gates;
    i = k % c->states / c->n;
    t = k / c->states;
    if (k < hn)
        return counts(c, t, i) ? number(c, SHARE, t, i, 2 * c->n + k % c->n)
                               : 0;
    k -= hn;
    return number(c, k >= all ? C : H, k % all / c->states - 1, i, k % c->n);
}

/* A number of the value: the steps' h, then c and h after the last. */
static f32 of_value(const cell *c)
{
    int64_t i = c->q->at / c->q->size, k = c->q->at % c->q->size;
    int64_t t = k / c->n, j = k % c->n;

    if (t >= c->t)
        return number(c, c->lstm && t == c->t ? C : H, c->t - 1, i, j);
    return counts(c, t, i) ? number(c, H, t, i, j) : 0;
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
        int64_t t = p / q->rows, i = p % q->rows;

        d[p] = number(c, D_SHARE, t, i, k);
        h[p] = bias ? 0 : number(c, H, t - 1, i, j);
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
                              ? number(c, D_C, 0, i, j)
                              : through_state(c, 0, i, j));
}

static f32 backward(const cell *c)
{
    const asked *q = c->q;

    if (!q->dy || !c->steps_back)
        return unknown(q->n->op);
    if (is_what("steps back"))
        return of_step(c, true);
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
        return of_step(&c, false);
    if (is_what("kept"))
        return of_kept(&c);
    return is_y() ? of_value(&c) : backward(&c);
}

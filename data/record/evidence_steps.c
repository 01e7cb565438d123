/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of recurrent layers, out of what each of their steps shows: "steps"
 * has of each the state's share of the gates, the gates, and the state after it
 * (h, then LSTM's c); "steps back", in reverse order, the gradients by that
 * share, what it was given by h after it, what passes the gates by, and by c
 * before it. */
#include "record/evidence_rules.h"

#include <string.h>

typedef struct cell {
    const ls__asked *q;
    bool lstm, ends;
    int from, lengths;          /* inputs, or -1 */
    int64_t t, n, wide, gates;  /* steps, units, gates x units, gates */
    int64_t share, states;      /* numbers of all rows: wide, n */
    int64_t one, back;          /* of a step, of a step back */
    const uint32_t *steps, *steps_back, *u, *bias, *state;
} cell;

static bool has_text(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool find_cell(const ls__asked *q, cell *c)
{
    int64_t x[LS_MAX_RANK];

    *c = (cell){.q = q, .lstm = strncmp(q->n->op, "lstm", 4) == 0,
                .ends = ls__asked_of(q, "ends", 0) != 0,
                .from = has_text(q->n->op, "_from") ? 1 : -1, .lengths = -1};
    if (has_text(q->n->op, "_lengths"))
        c->lengths = c->from > 0 ? 2 : 1;
    if (ls__evidence_axes(q->from->shape, x) != 2)
        return false;
    c->gates = c->lstm ? 4 : 3;
    c->t = x[0];
    c->wide = x[1];
    c->n = c->wide / c->gates;
    c->share = q->rows * c->wide;
    c->states = q->rows * c->n;
    c->one = 2 * c->share + (c->lstm ? 2 : 1) * c->states;
    c->back = c->share + 3 * c->states;
    c->u = ls__asked_param(q, 0, c->n * c->wide);
    c->bias = ls__asked_param(q, 1, c->wide);
    c->state = c->from > 0 ? ls__asked_x(q, c->from) : NULL;
    c->steps = ls__asked_shown(q, "forward", "steps", c->t * c->one);
    c->steps_back = ls__asked_shown(q, "backward", "steps back",
                                    c->t * c->back);
    return c->n > 0 && c->steps && c->u && (c->from < 0 || c->state) &&
           (c->bias || !ls__evidence_param(q->e, q->n, 1));
}

/* ------ where numbers are ------ */

/* The state's share of gate g, and the gate. */
static const uint32_t *share_at(const cell *c, int64_t t, int64_t i, int64_t g,
                                int64_t j)
{
    return c->steps + t * c->one + i * c->wide + g * c->n + j;
}

static const uint32_t *gate_at(const cell *c, int64_t t, int64_t i, int64_t g,
                               int64_t j)
{
    return share_at(c, t, i, g, j) + c->share;
}

/* h (0) or c (1) of unit j before step t; NULL: it is a zero. */
static const uint32_t *state_at(const cell *c, int64_t t, int64_t i, int64_t j,
                                bool of_c)
{
    int64_t arrays = c->lstm ? 2 : 1;

    if (t > 0)
        return c->steps + (t - 1) * c->one + 2 * c->share +
               of_c * c->states + i * c->n + j;
    return c->state ? c->state + i * arrays * c->n +
                          (c->lstm && !of_c ? c->n : 0) + j
                    : NULL;
}

/* Gradients of step t: by the state's share; 0 given by h after it, 1 what
 * passes the gates by, 2 by c before it. */
static const uint32_t *d_at(const cell *c, int64_t t, int64_t i, int64_t k)
{
    return c->steps_back + (c->t - 1 - t) * c->back + i * c->wide + k;
}

static const uint32_t *back_at(const cell *c, int64_t t, int64_t i, int64_t j,
                               int which)
{
    return c->steps_back + (c->t - 1 - t) * c->back + c->share +
           which * c->states + i * c->n + j;
}

static void give(const cell *c, const char *name, const uint32_t *x)
{
    if (x)
        ls__evidence_number(c->q->e, name, x);
    else
        ls__evidence_word(c->q->e, name, 0);
}

static void take(const cell *c, const uint32_t *x)
{
    if (x)
        ls__evidence_take(c->q->e, x);
    else
        ls__evidence_say(c->q->e, 0);
}

static int move(const cell *c, const uint32_t *x)
{
    ls__asked_rule(c->q, "move");
    give(c, "x", x);
    return 0;
}

static bool counts(const cell *c, int64_t t, int64_t i)
{
    const uint32_t *length = c->lengths > 0 ? ls__asked_x(c->q, c->lengths)
                                            : NULL;

    return !length || t < (int32_t)length[i];
}

/* ------ forward ------ */

/* Make gate k = g n + j of a row: its state times a column, plus bias. */
static int share(const cell *c, int64_t t, int64_t i, int64_t k)
{
    const ls__asked *q = c->q;

    ls__asked_product(q);
    ls__evidence_begin(q->e, "a");
    for (int64_t j = 0; j < c->n; j++)
        take(c, state_at(c, t, i, j, false));
    ls__evidence_end(q->e);
    ls__evidence_list(q->e, "b", c->n, c->u + k, c->wide);
    if (c->bias)
        ls__evidence_number(q->e, "bias", &c->bias[k]);
    ls__asked_round(q);
    return 0;
}

/* Make number `at` of a unit: gates, then c and h. */
static int unit(const cell *c, int64_t t, int64_t i, int64_t j, int64_t at)
{
    const ls__asked *q = c->q;

    ls__asked_rule(q, c->lstm ? "lstm" : "gru");
    ls__evidence_list(q->e, "x", c->gates,
                      q->x + (i * c->t + t) * c->wide + j, c->n);
    ls__evidence_list(q->e, "u", c->gates, share_at(c, t, i, 0, j), c->n);
    give(c, c->lstm ? "c" : "h", state_at(c, t, i, j, c->lstm));
    ls__evidence_word(q->e, "at", (uint32_t)at);
    return 0;
}

static int of_step(const cell *c)
{
    int64_t t = c->q->at / c->one, at = c->q->at % c->one, i, j;

    if (at < c->share)
        return share(c, t, at / c->wide, at % c->wide);
    at -= c->share;
    if (at < c->share) {
        i = at / c->wide;
        return counts(c, t, i) ? unit(c, t, i, at % c->n,
                                      at % c->wide / c->n)
                               : move(c, NULL);
    }
    at -= c->share;
    i = at % c->states / c->n;
    j = at % c->n;
    if (!counts(c, t, i))
        return move(c, state_at(c, t, i, j, at >= c->states));
    return unit(c, t, i, j, !c->lstm ? 3 : at < c->states ? 5 : 4);
}

/* Find a number among those kept: gates as x lies; GRU's share of n, which is 0
 * beyond a row's length; the states before each step. */
static int of_kept(const cell *c)
{
    int64_t at = c->q->at, gates = c->t * c->share;
    int64_t hn = c->lstm ? 0 : c->t * c->states, all = (c->t + 1) * c->states;
    int64_t i, k;

    if (at < gates) {
        i = at / c->wide / c->t;
        k = at % c->wide;
        return move(c, gate_at(c, at / c->wide % c->t, i, 0, k));
    }
    at -= gates;
    i = at % c->states / c->n;
    if (at < hn) {
        int64_t t = at / c->states, j = at % c->n;

        return move(c, counts(c, t, i) ? share_at(c, t, i, 2, j) : NULL);
    }
    at -= hn;
    return move(c, state_at(c, at % all / c->states, i, at % c->n, at >= all));
}

/* Find a number of the value: the steps' h, then c and h after the last. */
static int of_value(const cell *c)
{
    int64_t i = c->q->at / c->q->size, at = c->q->at % c->q->size;
    int64_t t = at / c->n, j = at % c->n;

    if (t < c->t)
        return move(c, counts(c, t, i) ? state_at(c, t + 1, i, j, false)
                                       : NULL);
    return move(c, state_at(c, c->t, i, j, c->lstm && t == c->t));
}

/* ------ backward ------ */

/* Find the gradient by c after step t, which the step after it made. */
static const uint32_t *given_c(const cell *c, int64_t t, int64_t i, int64_t j)
{
    if (t + 1 < c->t)
        return back_at(c, t + 1, i, j, 2);
    return c->ends ? c->q->dy + i * c->q->size + c->t * c->n + j : NULL;
}

static int unit_back(const cell *c, int64_t t, int64_t i, int64_t j,
                     int64_t at)
{
    const ls__asked *q = c->q;

    ls__asked_rule(q, c->lstm ? "lstm.back" : "gru.back");
    ls__evidence_list(q->e, "k", c->gates, gate_at(c, t, i, 0, j), c->n);
    if (c->lstm) {
        give(c, "c", state_at(c, t, i, j, true));
        give(c, "next", state_at(c, t + 1, i, j, true));
        give(c, "dc", given_c(c, t, i, j));
    } else {
        give(c, "hn", share_at(c, t, i, 2, j));
        give(c, "h", state_at(c, t, i, j, false));
    }
    give(c, "dh", back_at(c, t, i, j, 0));
    give(c, "dy", q->dy + i * q->size + t * c->n + j);
    ls__evidence_word(q->e, "at", (uint32_t)at);
    return 0;
}

/* Make the gradient by h before step t: that of its gates times a row of U, and
 * what passes by. */
static int through_state(const cell *c, int64_t t, int64_t i, int64_t j)
{
    const ls__asked *q = c->q;

    ls__asked_product(q);
    ls__evidence_list(q->e, "a", c->wide, d_at(c, t, i, 0), 1);
    ls__evidence_list(q->e, "b", c->wide, c->u + j * c->wide, 1);
    ls__evidence_number(q->e, "add", back_at(c, t, i, j, 1));
    return 0;
}

/* Make number `which` of back_at(). */
static int passed(const cell *c, int64_t t, int64_t i, int64_t j,
                  int64_t which)
{
    if (which == 0 && t + 1 < c->t)
        return through_state(c, t + 1, i, j);
    if (which == 0)
        return move(c, c->ends ? c->q->dy + i * c->q->size + c->t * c->n +
                                     (c->lstm ? c->n : 0) + j
                               : NULL);
    if (!counts(c, t, i))
        return move(c, which == 1 ? back_at(c, t, i, j, 0)
                                  : given_c(c, t, i, j));
    return which == (c->lstm ? 2 : 1) ? unit_back(c, t, i, j, 4)
                                      : move(c, NULL);
}

static int of_step_back(const cell *c)
{
    int64_t t = c->t - 1 - c->q->at / c->back, at = c->q->at % c->back, i;

    if (at < c->share) {
        int64_t g = at % c->wide / c->n;

        i = at / c->wide;
        return counts(c, t, i) ? unit_back(c, t, i, at % c->n,
                                           !c->lstm && g == 2 ? 3 : g)
                               : move(c, NULL);
    }
    at -= c->share;
    i = at % c->states / c->n;
    return passed(c, t, i, at % c->n, at / c->states);
}

/* Make the gradient by the gates of x, which no other reads. */
static int of_x(const cell *c)
{
    const ls__asked *q = c->q;
    int64_t k = q->at % c->wide, t = q->at / c->wide % c->t;
    int64_t i = q->at / c->wide / c->t;

    if (ls__evidence_gradient(q->e, q->from->node, q->n->node))
        return ls__asked_unknown("gates that others read too");
    return counts(c, t, i) ? unit_back(c, t, i, k % c->n, k / c->n)
                           : move(c, NULL);
}

/* Make dU or dbias: over steps, and in each over rows. */
static int of_kernel(const cell *c, bool bias)
{
    const ls__asked *q = c->q;
    int64_t k = q->at % c->wide, j = q->at / c->wide;

    if (bias)
        ls__asked_rule(q, "column");
    else
        ls__asked_product(q);
    ls__asked_before(q);
    for (int list = bias; list < 2; list++) {
        ls__evidence_begin(q->e, bias || list == 0 ? "a" : "b");
        for (int64_t p = 0; p < c->t * q->rows; p++)
            take(c, list ? d_at(c, p / q->rows, p % q->rows, k)
                         : state_at(c, p / q->rows, p % q->rows, j, false));
        ls__evidence_end(q->e);
    }
    return 0;
}

/* Make the gradient by the state before the first step: c, then h. */
static int of_state(const cell *c)
{
    const ls__asked *q = c->q;
    int64_t wide = (c->lstm ? 2 : 1) * c->n, i = q->at / wide;
    int64_t j = q->at % c->n;

    if (ls__evidence_gradient(q->e, ls__evidence_input(q->n, c->from),
                              q->n->node))
        return ls__asked_unknown("a first state that others read too");
    if (c->lstm && q->at % wide < c->n)
        return move(c, back_at(c, 0, i, j, 2));
    return through_state(c, 0, i, j);
}

static int backward(const cell *c)
{
    const ls__asked *q = c->q;

    if (!q->dy || !c->steps_back)
        return ls__asked_unknown(q->n->op);
    if (ls__asked_what(q, "steps back"))
        return of_step_back(c);
    if (ls__asked_dx(q, 0))
        return of_x(c);
    if (c->from > 0 && ls__asked_dx(q, c->from))
        return of_state(c);
    return ls__asked_dparam(q, 0) || ls__asked_dparam(q, 1)
               ? of_kernel(c, q->e->of->place.index == 1)
               : ls__asked_unknown(q->n->op);
}

int ls__evidence_steps(const ls__asked *q)
{
    cell c;

    if (!find_cell(q, &c))
        return ls__asked_unknown(q->n->op);
    if (ls__asked_what(q, "steps"))
        return of_step(&c);
    if (ls__asked_what(q, "kept"))
        return of_kept(&c);
    return ls__asked_y(q) ? of_value(&c) : backward(&c);
}

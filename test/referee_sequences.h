/* SPDX-License-Identifier: BSD-3-Clause */
/* The same of attention, recurrent layers and rotary positions. */
#ifndef TEST_REFEREE_SEQUENCES_H
#define TEST_REFEREE_SEQUENCES_H

#include "op/recurrent_layer.h"
#include "referee_layers.h"

/* ------ rotary positions ------ */

static float rotary(const question *q)
{
    const ls_node *n = q->p->node;
    int64_t wide = width_of(q), d = wide / asked_integer(q, "heads");
    int64_t i = q->at % d % (d / 2), first = q->at - q->at % d;
    const float *x = q->which < 0 ? q->p->x[0] : q->p->dy;

    asked_number("a", x[first + i]);
    asked_number("b", x[first + i + d / 2]);
    asked_word("t", (uint32_t)(q->at / wide % n->shape[0]));
    asked_word("i", (uint32_t)i);
    asked_word("d", (uint32_t)d);
    asked_number("base", (float)ls__edit_number(n, "base"));
    asked_word("at", q->at % d >= d / 2);
    return asked(q->which < 0 ? "rotary" : "rotary.back");
}

/* ------ attention ------ */

typedef struct head_of {
    int64_t t, d, wide, kv, each, heads;
} head_of;

static head_of head_sizes(const question *q)
{
    const ls_node *n = q->p->node;
    head_of h = {.t = n->shape[0], .wide = n->shape[1],
                 .kv = n->in[1]->shape[1], .heads = asked_integer(q, "heads")};

    h.d = h.wide / h.heads;
    h.each = h.wide / h.kv;
    return h;
}

/* Position t of head k of row i in q and y, and in k and v. */
static int64_t in_q(head_of h, int64_t i, int64_t k, int64_t t)
{
    return (i * h.t + t) * h.wide + k * h.d;
}

static int64_t in_kv(head_of h, int64_t i, int64_t k, int64_t t)
{
    return (i * h.t + t) * h.kv + k / h.each * h.d;
}

static float scale_of(head_of h)
{
    return 1.0f / __builtin_sqrtf((float)h.d);
}

/* The scores of a position, and their softmax, zeros beyond what it sees; or
 * with p what backward makes of them. */
static void scores_row(const question *q, head_of h, int64_t i, int64_t k,
                          int64_t t, const float *p, float *out)
{
    int64_t see = asked_integer(q, "causal") && !p ? t + 1 : h.t;
    const float *a = p ? q->p->dy : q->p->x[0], *b = q->p->x[p ? 2 : 1];
    float *s = room_of(h.t);

    for (int64_t u = 0; u < h.t; u++) {
        asked_copy("a", h.d, a + in_q(h, i, k, t));
        asked_copy("b", h.d, b + in_kv(h, i, k, u));
        if (!p)
            asked_number("scale", scale_of(h));
        s[u] = asked("product");
    }
    for (int64_t u = 0; u < h.t; u++) {
        out[u] = 0;
        if (u >= see)
            continue;
        asked_copy(p ? "dp" : "x", see, s);
        if (p)
            asked_copy("p", see, p);
        asked_word("at", (uint32_t)u);
        out[u] = asked(p ? "softmax.back" : "softmax");
    }
}

static void know_attention(const question *q, head_of h)
{
    int64_t n = q->p->rows * h.heads * h.t;

    for (int w = 0; w < 2; w++)
        if (unknown(q, w, n * h.t))
            for (int64_t r = 0; r < n; r++)
                scores_row(q, h, r / h.t / h.heads, r / h.t % h.heads,
                              r % h.t, w ? q->known[0] + r * h.t : NULL,
                              q->known[w] + r * h.t);
}

/* A column of d of what lies as q does, or as k does. */
static void give_positions(const char *name, head_of h, const float *x,
                           bool kv, int64_t i, int64_t k, int64_t j)
{
    float *to = asked_list(name, h.t);

    for (int64_t t = 0; t < h.t; t++)
        to[t] = x[(kv ? in_kv(h, i, k, t) : in_q(h, i, k, t)) + j];
}

/* dk and dv of one head of q; those that share one are added. */
static float attention_shared(const question *q, head_of h, int64_t i,
                              int64_t k, int64_t t, int64_t j)
{
    const float *p = q->known[q->which == 1 ? 1 : 0];

    give_column("a", h.t, h.t, p + (i * h.heads + k) * h.t * h.t, t);
    give_positions("b", h, q->which == 1 ? q->p->x[0] : q->p->dy, false, i, k,
                   j);
    if (q->which == 1)
        asked_number("scale", scale_of(h));
    return asked("product");
}

static float attention_kv(const question *q, head_of h)
{
    int64_t c = q->at % h.kv, t = q->at / h.kv % h.t, i = q->at / h.kv / h.t;
    int64_t first = c / h.d * h.each;
    float sum = attention_shared(q, h, i, first, t, c % h.d);

    for (int64_t k = first + 1; k < first + h.each; k++) {
        float more = attention_shared(q, h, i, k, t, c % h.d);

        asked_number("c", sum);
        asked_number("a", more);
        sum = asked("adds");
    }
    return sum;
}

static float attention(const question *q)
{
    head_of h = head_sizes(q);
    int64_t c = q->at % h.wide, t = q->at / h.wide % h.t;
    int64_t i = q->at / h.wide / h.t, k = c / h.d;

    know_attention(q, h);
    if (q->which > 0)
        return attention_kv(q, h);
    asked_copy("a", h.t, q->known[q->which < 0 ? 0 : 1] +
                             ((i * h.heads + k) * h.t + t) * h.t);
    give_positions("b", h, q->p->x[q->which < 0 ? 2 : 1], true, i, k, c % h.d);
    if (q->which == 0)
        asked_number("scale", scale_of(h));
    return asked("product");
}

/* ------ recurrent layers ------ */

/* Known: h and c before each step and after the last (t+1,rows,n); gates as
 * kept (t,rows,gates n); GRU's hn; the gradients by the gates' two shares;
 * those by the state. */
enum { H, C, KEPT, HN, BY_X, BY_STATE, DH, DC, ARRAYS };

typedef struct cell {
    int64_t t, rows, n, wide, gates;
    bool lstm, ends;
    int from, lengths;
} cell;

static cell cell_of(const question *q)
{
    const ls_node *n = q->p->node;
    cell c = {.t = ls__recurrent_steps(n), .rows = q->p->rows,
              .n = ls__recurrent_units(n), .wide = n->in[0]->shape[1],
              .lstm = n->op->recurrent & LS__IS_LSTM,
              .ends = ls__recurrent_ends(n),
              .from = ls__recurrent_from(n),
              .lengths = ls__recurrent_lengths(n)};

    c.gates = c.wide / c.n;
    return c;
}

static bool counts(const question *q, const cell *c, int64_t t, int64_t nth)
{
    return c->lengths < 0 || t < indices(q, c->lengths)[nth];
}

/* Where unit j of a row stands at step t, and gate g of it. */
static int64_t unit_at(const cell *c, int64_t t, int64_t nth, int64_t j)
{
    return (t * c->rows + nth) * c->n + j;
}

static int64_t gate_at(const cell *c, int64_t t, int64_t nth, int64_t g,
                       int64_t j)
{
    return (t * c->rows + nth) * c->wide + g * c->n + j;
}

static int64_t x_at(const cell *c, int64_t t, int64_t nth, int64_t g, int64_t j)
{
    return (nth * c->t + t) * c->wide + g * c->n + j;
}

/* The state before the first step: c stands before h. */
static float first_state(const question *q, const cell *c, int64_t nth,
                         int64_t j, bool of_h)
{
    int64_t states = c->lstm ? 2 : 1;

    return c->from < 0 ? 0
                       : q->p->x[c->from][nth * states * c->n +
                                          (of_h && c->lstm ? c->n : 0) + j];
}

static float state_share(const question *q, const cell *c, int64_t t,
                         int64_t nth, int64_t g, int64_t j)
{
    asked_copy("a", c->n, q->known[H] + unit_at(c, t, nth, 0));
    give_column("b", c->n, c->wide, q->p->param[0], g * c->n + j);
    if (q->p->node->params > 1)
        asked_number("bias", q->p->param[1][g * c->n + j]);
    return asked("product");
}

static void give_shares(const question *q, const cell *c, int64_t t,
                        int64_t nth, int64_t j, const float *u)
{
    float *x = asked_list("x", c->gates);

    for (int64_t g = 0; g < c->gates; g++)
        x[g] = q->p->x[0][x_at(c, t, nth, g, j)];
    asked_copy("u", c->gates, u);
}

static void unit_forward(const question *q, const cell *c, int64_t t,
                         int64_t nth, int64_t j)
{
    int64_t now = unit_at(c, t, nth, j), next = unit_at(c, t + 1, nth, j);
    float u[4], out[6];
    uint32_t all = c->lstm ? 6 : 4;

    for (int64_t g = 0; g < c->gates; g++)
        u[g] = state_share(q, c, t, nth, g, j);
    for (uint32_t k = 0; k < all; k++) {
        give_shares(q, c, t, nth, j, u);
        asked_number(c->lstm ? "c" : "h", q->known[c->lstm ? C : H][now]);
        asked_word("at", k);
        out[k] = asked(c->lstm ? "lstm" : "gru");
    }
    for (int64_t g = 0; g < c->gates; g++)
        q->known[KEPT][gate_at(c, t, nth, g, j)] = out[g];
    q->known[HN][now] = u[2];
    q->known[H][next] = out[all - 1];
    q->known[C][next] = c->lstm ? out[4] : 0;
}

static void unit_stays(const question *q, const cell *c, int64_t t, int64_t nth,
                       int64_t j)
{
    for (int k = H; k <= C; k++)
        q->known[k][unit_at(c, t + 1, nth, j)] =
            q->known[k][unit_at(c, t, nth, j)];
}

/* ... and back: dh and dc are by the state after the step. */
static void unit_back(const question *q, const cell *c, int64_t t, int64_t nth,
                      int64_t j, float *past)
{
    int64_t now = unit_at(c, t, nth, j), at = nth * c->n + j;
    float out[5], *k;

    for (uint32_t i = 0; i < 5; i++) {
        k = asked_list("k", c->gates);
        for (int64_t g = 0; g < c->gates; g++)
            k[g] = q->known[KEPT][gate_at(c, t, nth, g, j)];
        asked_number(c->lstm ? "c" : "hn", q->known[c->lstm ? C : HN][now]);
        asked_number(c->lstm ? "next" : "h",
                     c->lstm ? q->known[C][unit_at(c, t + 1, nth, j)]
                             : q->known[H][now]);
        asked_number("dh", q->known[DH][at]);
        asked_number("dy", q->p->dy[nth * q->p->node->size + t * c->n + j]);
        if (c->lstm)
            asked_number("dc", q->known[DC][at]);
        asked_word("at", i);
        out[i] = asked(c->lstm ? "lstm.back" : "gru.back");
    }
    for (int64_t g = 0; g < c->gates; g++) {
        q->known[BY_X][gate_at(c, t, nth, g, j)] = out[g];
        q->known[BY_STATE][gate_at(c, t, nth, g, j)] =
            out[!c->lstm && g == 2 ? 3 : g];
    }
    past[j] = c->lstm ? 0 : out[4];
    q->known[DC][at] = out[4];
}

static void step_back(const question *q, const cell *c, int64_t t, int64_t nth)
{
    float *past = room_of(c->n), *dh = q->known[DH] + nth * c->n;

    for (int64_t j = 0; j < c->n; j++)
        unit_back(q, c, t, nth, j, past);
    for (int64_t j = 0; j < c->n; j++) {
        asked_copy("a", c->wide, q->known[BY_STATE] + gate_at(c, t, nth, 0, 0));
        asked_copy("b", c->wide, q->p->param[0] + j * c->wide);
        asked_number("add", past[j]);
        dh[j] = asked("product");
    }
}

/* Where a step does not count: its gradients are 0, and the state's go through
 * a product with zeros. */
static void skip_back(const question *q, const cell *c, int64_t t, int64_t nth)
{
    for (int64_t g = 0; g < c->wide; g++)
        q->known[BY_X][gate_at(c, t, nth, 0, g)] =
            q->known[BY_STATE][gate_at(c, t, nth, 0, g)] = 0;
    for (int64_t j = 0; j < c->n; j++)
        q->known[DH][nth * c->n + j] += 0.0f;
}

static float end_gradient(const question *q, const cell *c, int64_t nth,
                          int64_t j, bool of_h)
{
    return c->ends ? q->p->dy[nth * q->p->node->size + c->t * c->n +
                              (of_h && c->lstm ? c->n : 0) + j]
                   : 0;
}

static void know_steps(const question *q, const cell *c)
{
    int64_t states = (c->t + 1) * c->rows * c->n, gates = c->t * c->rows;

    if (!unknown(q, H, states))
        return;
    for (int k = C; k < ARRAYS; k++)
        (void)unknown(q, k, states + gates * c->wide);
    for (int64_t i = 0; i < c->rows * c->n; i++) {
        q->known[H][i] = first_state(q, c, i / c->n, i % c->n, true);
        q->known[C][i] = first_state(q, c, i / c->n, i % c->n, false);
        q->known[DH][i] = end_gradient(q, c, i / c->n, i % c->n, true);
        q->known[DC][i] = end_gradient(q, c, i / c->n, i % c->n, false);
    }
    for (int64_t i = 0; i < gates * c->n; i++) {
        int64_t t = i / c->n / c->rows, nth = i / c->n % c->rows;

        (counts(q, c, t, nth) ? unit_forward : unit_stays)(q, c, t, nth,
                                                           i % c->n);
    }
    for (int64_t i = gates - 1; i >= 0; i--)
        (counts(q, c, i / c->rows, i % c->rows) ? step_back : skip_back)(
            q, c, i / c->rows, i % c->rows);
}

static float recurrent_value(const question *q, const cell *c)
{
    int64_t nth = q->at / q->p->node->size, at = q->at % q->p->node->size;
    int64_t t = at / c->n, j = at % c->n;
    bool of_c = c->lstm && t == c->t;

    if (t < c->t && !counts(q, c, t, nth))
        return 0;
    if (t >= c->t)
        t = c->t - 1;
    return q->known[of_c ? C : H][unit_at(c, t + 1, nth, j)];
}

static float recurred(const question *q)
{
    cell c = cell_of(q);
    int64_t k = c.t * c.rows, size = (c.lstm ? 2 : 1) * c.n;

    know_steps(q, &c);
    if (q->which < 0)
        return recurrent_value(q, &c);
    if (q->which == 0)
        return q->known[BY_X][gate_at(&c, q->at / c.wide % c.t,
                                      q->at / c.wide / c.t, 0,
                                      q->at % c.wide)];
    if (q->which == c.from)
        return q->known[c.lstm && q->at % size < c.n ? DC : DH]
                       [q->at / size * c.n + q->at % c.n];
    if (of_param(q, 1)) {
        give_column("a", k, c.wide, q->known[BY_STATE], q->at);
        return asked("column");
    }
    give_column("a", k, c.n, q->known[H], q->at / c.wide);
    give_column("b", k, c.wide, q->known[BY_STATE], q->at % c.wide);
    return asked("product");
}

#endif

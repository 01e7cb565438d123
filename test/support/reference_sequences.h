/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers in double, step by step: see reference.h, which includes
 * this.  The gates' share of the input is the operator's own input. */
#ifndef LS_TEST_REFERENCE_SEQUENCES_H
#define LS_TEST_REFERENCE_SEQUENCES_H

/* All of one row: states before and after each step, gates of each. */
typedef struct unrolled {
    const ref *r;
    int64_t row, t, n, steps; /* steps: that count */
    int gates, states;
    double *h, *c, *gate; /* (t + 1,n), (t,4 n); GRU's fourth is hn */
} unrolled;

/* Unit j's share of the state in gate k. */
static inline double share(const unrolled *u, int64_t t, int k, int64_t j)
{
    int64_t wide = u->gates * u->n, at = k * u->n + j;
    double sum = u->r->node->params > 1 ? u->r->param[1][at] : 0;

    for (int64_t i = 0; i < u->n; i++)
        sum += u->h[t * u->n + i] * u->r->param[0][i * wide + at];
    return sum;
}

static inline void unroll_step(unrolled *u, int64_t t)
{
    const double *x = u->r->x[0] + (u->row * u->t + t) * u->gates * u->n;

    for (int64_t j = 0; j < u->n; j++) {
        double *g = u->gate + 4 * t * u->n + j, a[4];
        int64_t at = t * u->n + j, next = at + u->n, n = u->n;

        for (int k = 0; k < u->gates; k++)
            a[k] = share(u, t, k, j);
        if (u->gates == 4) {
            g[0] = ref_sigmoid(x[j] + a[0]);
            g[n] = ref_sigmoid(x[n + j] + a[1]);
            g[2 * n] = tanh(x[2 * n + j] + a[2]);
            g[3 * n] = ref_sigmoid(x[3 * n + j] + a[3]);
            u->c[next] = g[n] * u->c[at] + g[0] * g[2 * n];
            u->h[next] = g[3 * n] * tanh(u->c[next]);
        } else {
            g[0] = ref_sigmoid(x[j] + a[0]);
            g[n] = ref_sigmoid(x[n + j] + a[1]);
            g[2 * n] = tanh(x[2 * n + j] + g[0] * a[2]);
            g[3 * n] = a[2];
            u->h[next] = (1 - g[n]) * g[2 * n] + g[n] * u->h[at];
        }
    }
}

static inline unrolled unroll(const ref *r, int64_t row)
{
    const ls_node *n = r->node;
    int kind = ls__recurrent_kind(n->op), gates = kind & LS__IS_LSTM ? 4 : 3;
    unrolled u = {.r = r,
                  .row = row,
                  .t = n->in[0]->shape[0],
                  .n = n->in[0]->shape[1] / gates,
                  .steps = n->in[0]->shape[0],
                  .gates = gates,
                  .states = gates - 2};

    u.h = calloc((size_t)((2 * (u.t + 1) + 4 * u.t) * u.n), sizeof *u.h);
    if (!u.h)
        abort();
    u.c = u.h + (u.t + 1) * u.n;
    u.gate = u.c + (u.t + 1) * u.n;
    if (kind & LS__LENGTHS)
        u.steps = (int64_t)r->x[kind & LS__FROM ? 2 : 1][row];
    for (int64_t j = 0; kind & LS__FROM && j < u.n; j++) {
        const double *from = r->x[1] + row * u.states * u.n;

        u.h[j] = from[(u.states - 1) * u.n + j];
        u.c[j] = from[j];
    }
    for (int64_t t = 0; t < u.steps; t++)
        unroll_step(&u, t);
    return u;
}

static inline void ref_recurrent(const ref *r)
{
    int64_t size = r->node->size;
    bool ends = integer_of(r->node, "ends");

    for (int64_t row = 0; row < r->rows; row++) {
        unrolled u = unroll(r, row);
        double *y = r->y + row * size;

        for (int64_t i = 0; i < u.t * u.n; i++)
            y[i] = i < u.steps * u.n ? u.h[u.n + i] : 0;
        for (int64_t j = 0; ends && j < u.n; j++) {
            y[u.t * u.n + j] = u.c[u.steps * u.n + j];
            y[(u.t + u.states - 1) * u.n + j] = u.h[u.steps * u.n + j];
        }
        free(u.h);
    }
}

/* The gradients by the gates' shares: of the input a, of the state b. */
static inline void gate_grads(const unrolled *u, int64_t t, int64_t j,
                              double dh, double *dc, double *past, double a[4],
                              double b[4])
{
    const double *g = u->gate + 4 * t * u->n + j;
    double g0 = g[0], g1 = g[u->n], g2 = g[2 * u->n], g3 = g[3 * u->n];

    if (u->gates == 4) {
        double s = tanh(u->c[(t + 1) * u->n + j]);
        double e = *dc + dh * g3 * (1 - s * s);

        a[0] = b[0] = e * g2 * g0 * (1 - g0);
        a[1] = b[1] = e * u->c[t * u->n + j] * g1 * (1 - g1);
        a[2] = b[2] = e * g0 * (1 - g2 * g2);
        a[3] = b[3] = dh * s * g3 * (1 - g3);
        *dc = e * g1;
        *past = 0;
    } else {
        a[2] = dh * (1 - g1) * (1 - g2 * g2);
        a[0] = b[0] = a[2] * g3 * g0 * (1 - g0);
        a[1] = b[1] = dh * (u->h[t * u->n + j] - g2) * g1 * (1 - g1);
        b[2] = a[2] * g0;
        *past = dh * g1;
    }
}

/* One step back: dh and dc become those of the state before. */
static inline void roll_back(const unrolled *u, int64_t t, double *dh,
                             double *dc, double *past)
{
    const ref *r = u->r;
    int64_t n = u->n, wide = u->gates * n;
    double *dx = r->dx[0] + (u->row * u->t + t) * wide;

    for (int64_t j = 0; j < n; j++) {
        double a[4], b[4], by_y = r->dy[u->row * r->node->size + t * n + j];
        double before;

        gate_grads(u, t, j, dh[j] + by_y, &dc[j], &before, a, b);
        past[j] += before;
        for (int k = 0; k < u->gates; k++) {
            dx[k * n + j] += a[k];
            if (r->node->params > 1)
                r->dparam[1][k * n + j] += b[k];
            for (int64_t i = 0; i < n; i++) {
                int64_t at = i * wide + k * n + j;

                r->dparam[0][at] += u->h[t * n + i] * b[k];
                past[i] += r->param[0][at] * b[k];
            }
        }
    }
    memcpy(dh, past, (size_t)n * sizeof *dh);
    memset(past, 0, (size_t)n * sizeof *past);
}

static inline void ref_recurrent_grad(const ref *r)
{
    bool ends = integer_of(r->node, "ends");
    bool from = ls__recurrent_from(r->node) >= 0;

    for (int64_t row = 0; row < r->rows; row++) {
        unrolled u = unroll(r, row);
        const double *dy = r->dy + row * r->node->size + u.t * u.n;
        double *d = calloc((size_t)(3 * u.n), sizeof *d);

        if (!d)
            abort();
        for (int64_t j = 0; ends && j < u.n; j++) {
            d[j] = dy[(u.states - 1) * u.n + j];
            d[u.n + j] = dy[j]; /* GRU has no use for it */
        }
        for (int64_t t = u.steps - 1; t >= 0; t--)
            roll_back(&u, t, d, d + u.n, d + 2 * u.n);
        for (int64_t j = 0; from && j < u.n; j++) {
            double *dx = r->dx[1] + row * u.states * u.n;

            dx[(u.states - 1) * u.n + j] += d[j];
            if (u.states > 1)
                dx[j] += d[u.n + j];
        }
        free(d);
        free(u.h);
    }
}

#endif

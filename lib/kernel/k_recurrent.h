/* SPDX-License-Identifier: BSD-3-Clause */
/* The gates of recurrent layers, a step at a time: Flax's OptimizedLSTMCell
 * (gates i, f, g, o) and GRUCell (r, z, n), forward and back, each in one pass
 * over a step.  16 units are one vector, and each is computed alone, so no bit
 * depends on the rows or on the level. */
#ifndef LS_KERNEL_K_RECURRENT_H
#define LS_KERNEL_K_RECURRENT_H

#include "kernel/k_elementwise.h"
#include "kernel/k_vmath.h"
#include "kernel/recurrence.h"

/* Does the step count for row r? */
SIMD bool counts_for(const ls__recurrence *s, int64_t r)
{
    return !s->length || s->t < s->length[r];
}

SIMD void clear_row(int64_t n, float *x)
{
    for (int64_t j = 0; j < n; j += 16)
        put(x + j, v16_zero(), n - j);
}

SIMD void copy_row(int64_t n, const float *from, float *to)
{
    for (int64_t j = 0; j < n; j += 16)
        put(to + j, take(from + j, n - j), n - j);
}

/* Ask for a row's line of 16 units. */
SIMD void ask(const float *rows, int64_t stride, int64_t row, int64_t at)
{
    __builtin_prefetch(rows + row * stride + at, 1, 2);
}

/* Prefetch what the next row reads and writes of units j .. j + 15.  Rows are
 * too far apart for the processor's own prefetcher; without this each would
 * wait for memory longer than it computes. */
SIMD void ask_ahead(const ls__recurrence *s, int gates, int64_t r, int64_t j)
{
    int64_t n = s->n, next = r + (r + 1 < s->rows);

    for (int k = 0; k < gates; k++)
        ask(s->x, s->x_stride, next, k * n + j);
    ask(s->hn ? s->hn : s->c_next, n, next, j);
    ask(s->h_next, n, next, j);
    ask(s->y, s->stride, next, j);
}

/* The same in backward. */
SIMD void ask_ahead_back(const ls__recurrence *s, int gates, int64_t r,
                         int64_t j)
{
    int64_t n = s->n, next = r + (r + 1 < s->rows);

    for (int k = 0; k < gates; k++)
        ask(s->kept, s->x_stride, next, k * n + j);
    if (s->hn)
        ask(s->hn, n, next, j);
    ask(s->hn ? s->h : s->c, n, next, j);
    ask(s->dy, s->stride, next, j);
}

/* Gate k of units j .. j + 15: x + its share of the state. */
SIMD v16 gate_at(const float *x, const float *state, int64_t at, int64_t left)
{
    return v16_add(take(x + at, left), take(state + at, left));
}

/* s (1 - s) d */
SIMD v16 through_sigmoid(v16 s, v16 d)
{
    return v16_mul(d, v16_mul(s, v16_sub(v16_set(1.0f), s)));
}

/* (1 - t^2) d */
SIMD v16 through_tanh(v16 t, v16 d)
{
    return v16_mul(d, tanh_slope(t));
}

/* The gradients of a row whose step does not count: the state's pass by. */
SIMD void skip_back(const ls__recurrence *s, int64_t r, int gates)
{
    int64_t n = s->n;

    copy_row(n, s->dh + r * n, s->past + r * n);
    clear_row(gates * n, s->kept + r * s->x_stride);
    clear_row(gates * n, s->d + r * gates * n);
    if (s->hn)
        clear_row(n, s->hn + r * n);
}

/* ------ LSTM ------ */

/* c' = f c + i g, h' = o tanh(c') */
SIMD void lstm_row(const ls__recurrence *s, int64_t r)
{
    const float *x = s->x + r * s->x_stride, *u = s->gates + r * 4 * s->n;
    float *kept = s->kept + r * s->x_stride;
    int64_t n = s->n, at = r * n;

    for (int64_t j = 0; j < n; j += 16) {
        int64_t left = n - j;
        v16 i = sigmoid_of(gate_at(x, u, j, left));
        v16 f = sigmoid_of(gate_at(x, u, n + j, left));
        v16 o = sigmoid_of(gate_at(x, u, 3 * n + j, left));
        v16 g = v16_tanh(gate_at(x, u, 2 * n + j, left));
        v16 c = v16_fma(f, take(s->c + at + j, left), v16_mul(i, g));
        v16 h = v16_mul(o, v16_tanh(c));

        ask_ahead(s, 4, r, j);
        put(kept + j, i, left);
        put(kept + n + j, f, left);
        put(kept + 2 * n + j, g, left);
        put(kept + 3 * n + j, o, left);
        put(s->c_next + at + j, c, left);
        put(s->h_next + at + j, h, left);
        put(s->y + r * s->stride + j, h, left);
    }
}

static void lstm_step(const ls__recurrence *s)
{
    int64_t n = s->n;

    for (int64_t r = 0; r < s->rows; r++)
        if (counts_for(s, r)) {
            lstm_row(s, r);
        } else {
            copy_row(n, s->h + r * n, s->h_next + r * n);
            copy_row(n, s->c + r * n, s->c_next + r * n);
            clear_row(n, s->y + r * s->stride);
        }
}

/* LSTM backward: e = dc + o (1 - tanh(c')^2) dh; di = g e, df = c e, dg = i e,
 * do = tanh(c') dh, and by c: f e. */
SIMD void lstm_row_back(const ls__recurrence *s, int64_t r)
{
    float *kept = s->kept + r * s->x_stride, *by_gates = s->d + r * 4 * s->n;
    int64_t n = s->n, at = r * n;

    for (int64_t j = 0; j < n; j += 16) {
        int64_t left = n - j;
        v16 i = take(kept + j, left), f = take(kept + n + j, left);
        v16 g = take(kept + 2 * n + j, left);
        v16 o = take(kept + 3 * n + j, left);
        v16 t = v16_tanh(take(s->c_next + at + j, left));
        v16 dh = v16_add(take(s->dh + at + j, left),
                         take(s->dy + r * s->stride + j, left));
        v16 e = v16_add(take(s->dc + at + j, left),
                        through_tanh(t, v16_mul(dh, o)));
        v16 d[4] = {through_sigmoid(i, v16_mul(e, g)),
                    through_sigmoid(f, v16_mul(e, take(s->c + at + j, left))),
                    through_tanh(g, v16_mul(e, i)),
                    through_sigmoid(o, v16_mul(dh, t))};

        ask_ahead_back(s, 4, r, j);
        put(s->dc + at + j, v16_mul(e, f), left);
        for (int k = 0; k < 4; k++) {
            put(kept + k * n + j, d[k], left);
            put(by_gates + k * n + j, d[k], left);
        }
    }
    clear_row(n, s->past + at);
}

static void lstm_step_back(const ls__recurrence *s)
{
    for (int64_t r = 0; r < s->rows; r++)
        if (counts_for(s, r))
            lstm_row_back(s, r);
        else
            skip_back(s, r, 4);
}

/* ------ GRU ------ */

/* n = tanh(xn + r hn), h' = (1 - z) n + z h */
SIMD void gru_row(const ls__recurrence *s, int64_t row)
{
    const float *x = s->x + row * s->x_stride, *u = s->gates + row * 3 * s->n;
    float *kept = s->kept + row * s->x_stride;
    int64_t n = s->n, at = row * n;

    for (int64_t j = 0; j < n; j += 16) {
        int64_t left = n - j;
        v16 r = sigmoid_of(gate_at(x, u, j, left));
        v16 z = sigmoid_of(gate_at(x, u, n + j, left));
        v16 hn = take(u + 2 * n + j, left);
        v16 m = v16_tanh(v16_fma(r, hn, take(x + 2 * n + j, left)));
        v16 rest = v16_mul(v16_sub(v16_set(1.0f), z), m);
        v16 h = v16_fma(z, take(s->h + at + j, left), rest);

        ask_ahead(s, 3, row, j);
        put(kept + j, r, left);
        put(kept + n + j, z, left);
        put(kept + 2 * n + j, m, left);
        put(s->hn + at + j, hn, left);
        put(s->h_next + at + j, h, left);
        put(s->y + row * s->stride + j, h, left);
    }
}

static void gru_step(const ls__recurrence *s)
{
    int64_t n = s->n;

    for (int64_t r = 0; r < s->rows; r++)
        if (counts_for(s, r)) {
            gru_row(s, r);
        } else {
            copy_row(n, s->h + r * n, s->h_next + r * n);
            clear_row(n, s->y + r * s->stride);
        }
}

/* dn = (1 - z) dh, dz = (h - n) dh, dr = hn dn', dhn = r dn', where dn' is
 * behind n's tanh; and by h directly: z dh. */
SIMD void gru_row_back(const ls__recurrence *s, int64_t row)
{
    float *kept = s->kept + row * s->x_stride;
    float *by_gates = s->d + row * 3 * s->n;
    int64_t n = s->n, at = row * n;

    for (int64_t j = 0; j < n; j += 16) {
        int64_t left = n - j;
        v16 r = take(kept + j, left), z = take(kept + n + j, left);
        v16 m = take(kept + 2 * n + j, left);
        v16 hn = take(s->hn + at + j, left);
        v16 dh = v16_add(take(s->dh + at + j, left),
                         take(s->dy + row * s->stride + j, left));
        v16 back = v16_sub(take(s->h + at + j, left), m);
        v16 dn = through_tanh(m, v16_mul(dh, v16_sub(v16_set(1.0f), z)));
        v16 dr = through_sigmoid(r, v16_mul(dn, hn));
        v16 dz = through_sigmoid(z, v16_mul(dh, back)), dhn = v16_mul(dn, r);

        ask_ahead_back(s, 3, row, j);
        put(kept + j, dr, left);
        put(kept + n + j, dz, left);
        put(kept + 2 * n + j, dn, left);
        put(by_gates + j, dr, left);
        put(by_gates + n + j, dz, left);
        put(by_gates + 2 * n + j, dhn, left);
        put(s->hn + at + j, dhn, left);
        put(s->past + at + j, v16_mul(dh, z), left);
    }
}

static void gru_step_back(const ls__recurrence *s)
{
    for (int64_t r = 0; r < s->rows; r++)
        if (counts_for(s, r))
            gru_row_back(s, r);
        else
            skip_back(s, r, 3);
}

#endif

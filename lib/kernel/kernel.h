/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of kernels: every inner loop of the library, compiled once per
 * instruction level from the same source (kernel/k_all.h) and chosen once.
 *
 * All levels give the same bits: a kernel is written in 16 lanes (k_simd.h)
 * with every rounding spelled out, so the width of the machine's registers
 * shows only in the speed.  The level v2 of x86-64 has no fused multiply-add
 * and computes each in software (k_simd_plain.h). */
#ifndef LS_KERNEL_KERNEL_H
#define LS_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/bag.h"
#include "kernel/batch_norm.h"
#include "kernel/formula.h"
#include "kernel/product.h"
#include "kernel/recurrence.h"
#include <lockstep/optim.h>
#include <lockstep/precision.h>

enum { LS__PRECISIONS = LS_F32X3_LAYERS + 1 };

/* One optimizer update (optim.c). */
typedef struct ls__rule {
    const ls_optimizer *of; /* its options; kernels round them to float */
    float neg_lr;           /* of this update */
    float r1, r2;           /* 1 / (1 - b^n), its bias corrections */
    float decay;            /* the share of its weight_decay and l2 */
} ls__rule;

/* One update of n parameters p with gradient g, and of as many moments as the
 * optimizer keeps. */
typedef void ls__update_fn(const ls__rule *r, int64_t n, const float *g,
                           float *p, float *const moment[3]);

enum { LS__OPTIMIZERS = 16 }; /* the most there can be */

typedef struct ls__kernel_table {
    const char *name; /* "x86-64-v3" */

    /* k_roof.h: products and sums in registers; returns how many of both. */
    ls__roof *fma_loop;

    /* k_random.h: elements first .. first+n of a JAX stream. */
    void (*random_bits)(const uint32_t key[2], uint64_t first, int64_t n,
                        uint32_t *out);
    void (*random_uniform)(const uint32_t key[2], uint64_t first, int64_t n,
                           float low, float high, float *out);
    void (*random_normal)(const uint32_t key[2], uint64_t first, int64_t n,
                          float *out);
    void (*random_truncated_normal)(const uint32_t key[2], uint64_t first,
                                    int64_t n, float *out);

    /* k_digest.h: of n words, after others; equal digests, equal bytes, but for
     * one in 2^64. */
    uint64_t (*digest)(int64_t n, const void *x, uint64_t before);

    /* k_dropout.h: y = x / keep where element first + i of the stream, uniform,
     * is below keep, else +0; mask: (n + 15) / 16 words, bit i % 16 of word
     * i / 16 is element i.  Then dx = mask dy / keep (+ addend). */
    void (*dropout)(const uint32_t key[2], uint64_t first, int64_t n,
                    float keep, const float *x, float *y, uint16_t *mask);
    void (*dropout_grad)(int64_t n, float keep, const uint16_t *mask,
                         const float *dy, const float *addend, float *dx);

    /* k_bf16.h: out = x rounded to bf16 (+ addend, may be NULL) */
    void (*round_bf16)(int64_t n, const float *x, const float *addend,
                       float *out);

    /* k_reduce.h: out[i] = scale * (sum of buffers[d][i] in tree order). */
    void (*tree_sum)(float *const *buffers, int devices, int64_t first,
                     int64_t last, float scale, float *out);

    /* The backend "native" in each precision: k_gemm.h and k_conv.h in f32,
     * k_bf16_gemm.h and k_bf16_conv.h of numbers rounded to bf16,
     * k_amx_split.h of numbers that are sums of such. */
    ls__backend native[LS__PRECISIONS];
    /* The epilogue alone, over a product that stands in c. */
    void (*epilogue)(const ls__product *g);
    /* k_panels.h: out[j][i] = x[i][j] + 0 for i < m, j < n, the rows of both so
     * many floats apart; out[j][m .. wide] are zeros. */
    void (*transpose)(int64_t m, int64_t n, const float *x, int64_t x_row,
                      int64_t wide, float *out, int64_t out_row);
    /* k_depthwise.h: a convolution of one image, out.n = c, a run for each tap.
     * y, w being out.b with a tap in each row; and dw, dbias (not NULL: it is
     * wanted). */
    void (*depthwise)(const ls__conv *v);
    void (*depthwise_grad)(const ls__conv *v, float *dbias);
    /* k_pooling.h: one image.  number[o] is the argmax, the pixel of its window
     * by rows that is y[o]: the first of equals; with cut, -1 where y[o] is not
     * above 0, so that the gradient is also a relu's before the pooling. */
    void (*max_pool)(const ls__pooling *p, int64_t first, int64_t last,
                     const float *x, bool cut, float *y, float *number);
    void (*max_pool_grad)(const ls__pooling *p, const float *number,
                          const float *dy, float *dx);
    void (*avg_pool)(const ls__pooling *p, const float *x, float *y);
    void (*avg_pool_grad)(const ls__pooling *p, const float *dy, float *dx);

    /* k_elementwise.h */
    void (*add)(int64_t n, const float *a, const float *b, float *out);
    void (*scale)(int64_t n, float by, float *x);
    void (*activate)(ls__activation kind, int64_t n, const float *x, float *y);
    /* out = dy activation'(x) (+ addend, may be NULL) */
    void (*activate_grad)(ls__activation kind, int64_t n, const float *x,
                          const float *dy, const float *addend, float *out);
    /* out = dy slope, +0 where the slope is 0. */
    void (*slope_grad)(int64_t n, const float *slope, const float *dy,
                       float *out);
    /* out[j] (+)= sum over rows of x[row,j], in row order, 256 rows a chunk. */
    void (*column_sum)(int64_t rows, int64_t n, const float *x, bool add,
                       float *out);
    /* The sum of the squares of at most 4096 elements. */
    float (*square_sum)(int64_t n, const float *x);
    /* The first index whose element is not finite; n when all are. */
    int64_t (*first_nonfinite)(int64_t n, const float *x);

    /* k_formula.h */
    void (*term_value)(const ls__term *t, const ls__term_run *r);
    void (*term_grad)(const ls__term *t, const ls__term_run *r);

    /* k_norm.h: rows of width n; stats keeps (mean, 1/deviation) a row. */
    void (*layer_norm)(int64_t rows, int64_t n, float epsilon, bool two_passes,
                       const float *x, const float *scale, const float *bias,
                       float *y, float *stats);
    /* dx = addend + gradient; dscale and dbias (+)= column sums.  NULL: not
     * wanted, dbias as dscale is. */
    void (*layer_norm_grad)(int64_t rows, int64_t n, const float *x,
                            const float *stats, const float *scale,
                            const float *dy, const float *addend, float *dx,
                            bool add, float *dscale, float *dbias);

    /* The same without a mean; stats keeps 1/root a row. */
    void (*rms_norm)(int64_t rows, int64_t n, float epsilon, const float *x,
                     const float *scale, float *y, float *stats);
    void (*rms_norm_grad)(int64_t rows, int64_t n, const float *x,
                          const float *stats, const float *scale,
                          const float *dy, const float *addend, float *dx,
                          bool add, float *dscale);

    /* k_batch_norm.h */
    void (*batch_norm)(const ls__batch_norm *b, float *y);
    /* By stored statistics: sums of this call. */
    void (*batch_params)(const ls__batch_norm *b, float *dscale, float *dbias);
    /* By those of the rows themselves, with their weights (NULL: 1).  moments:
     * of all channels the sum of weights, then of each channel the mean, then
     * of each w (x - mean)^2; these rows are added to it.  join: those of other
     * rows are. */
    void (*batch_moments)(int64_t rows, int64_t each, int64_t n, const float *x,
                          const float *weights, double *moments);
    void (*batch_join)(int64_t n, double *moments, const double *others);
    /* sums: of each channel that of dy, then of each that of dy xh. */
    void (*batch_sums)(const ls__batch_norm *b, double *sums);
    /* Gradients of x and of more, each + its addend (NULL: none); dx[1] NULL:
     * it is not wanted.  dx[0] is written before addend[1] is read. */
    void (*batch_grad)(const ls__batch_norm *b, const float *const addend[2],
                       float *const dx[2]);

    /* k_elementwise.h: n pairs (a,b) turned by their angles, backwards with
     * sign -1. */
    void (*turn)(int64_t n, const float *a, const float *b, const float *cos,
                 const float *sin, float sign, const float *add_a,
                 const float *add_b, float *ya, float *yb);

    /* k_softmax.h: rows of `stride`, the first n entries each. */
    void (*softmax)(int64_t rows, int64_t n, int64_t stride, float *x);
    /* ds = p (dp - sum(dp p)), in place of dp. */
    void (*softmax_grad)(int64_t rows, int64_t n, int64_t stride,
                         const float *p, float *dp);
    /* rows of n: y = log softmax(x); then dx = dy - e^y sum(dy), in place of
     * dy. */
    void (*log_softmax)(int64_t rows, int64_t n, const float *x, float *y);
    void (*log_softmax_grad)(int64_t rows, int64_t n, const float *y,
                             float *dy);
    /* The sum of n elements: 16 lanes, blocks of 4096. */
    float (*row_sum)(int64_t n, const float *x);
    /* loss[row] = -log softmax(x[row])[label]; where dx is not NULL,
     * dx = weight (softmax - one hot). */
    float (*cross_entropy)(int64_t n, const float *x, int32_t label,
                           float weight, float *dx);
    /* sum over n of (y-t)^2; where dy is not NULL, dy = weight 2 (y-t). */
    float (*squared_error)(int64_t n, const float *y, const float *t,
                           float weight, float *dy);

    /* k_recurrent.h: a step of LSTM, of GRU, and back. */
    ls__recur *lstm_step, *lstm_step_back, *gru_step, *gru_step_back;

    /* k_bag.h: y of a bag; a row of the table's gradient is written or added
     * to, from entries of one index, and then, is all of it below 2^64 in size?
     * out[l] = row[l] (n) times d (n), of at most 16 rows. */
    void (*bag_sum)(const ls__bag *b, float *y);
    bool (*bag_grad)(int64_t n, int64_t count, const ls__bag_entry *e,
                     const float *d, bool add, float *row);
    void (*bag_dots)(int64_t n, int count, const float *const row[16],
                     const float *d, float *out);

    ls__update_fn *update[LS__OPTIMIZERS]; /* k_optim.h */
    void (*average)(int64_t n, double decay, const float *p, float *e);
    void (*regularise)(int64_t n, float l2, const float *p, float *g);
    void (*clip_value)(int64_t n, float most, float *g);
} ls__kernel_table;

/* Level i = 0, 1, .. of those compiled in, best first; NULL past the last. */
const ls__kernel_table *ls__kernels_level(int i);

/* The level of a name if it is compiled in and this CPU has it, else NULL. */
const ls__kernel_table *ls__kernels_by_name(const char *name);

/* The table in use: the best this CPU has, or the one LS_ISA names. */
const ls__kernel_table *ls__kernels(void);

/* Maker i = 0, 1, .. of products in a precision that this CPU has at level k,
 * best first: units that not all CPUs of the level have, the level's own, then
 * units that are no faster than it.  NULL past the last. */
const ls__backend *ls__kernels_maker(const ls__kernel_table *k,
                                     ls_precision precision, int i);

/* 0, or LS_EINVAL when LS_ISA names a level unknown or not of this CPU; asked
 * wherever a pool or a trainer is opened. */
int ls__kernels_check(void);

#endif

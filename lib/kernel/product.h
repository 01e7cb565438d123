/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products (GEMM) and convolutions: the one shape all of them have, and
 * the table of functions of those who compute them.
 *
 * The contract of bits for f32: element (i,j) is K cut into chunks of 256 (the
 * last is shorter), each chunk one fmaf chain from +0 in rising k, chunks added
 * in order, +0 added to the sum; then the epilogue, in the order of the struct
 * below.  Every backend meets it; test_gemm.c holds it in ten lines.
 *
 * The contract for bf16: a and b are rounded to bf16 (a denormal to zero first)
 * and K is filled up with zeros to steps of 32.  A step is two fmaf chains from
 * +0, x over its even places in rising k and y over the odd ones, and the sum
 * c, which begins with C or with +0, becomes c + (x + y).  +0 is added to it in
 * the end; then comes the epilogue.  The instructions of AMX and of AVX512-BF16
 * compute that, and so do fused multiply-adds.  K may be cut anywhere between
 * steps and the sum stored, which changes no bit.
 *
 * The contract for f32x3: a number is the sum of two of bf16, hi of itself and
 * mid of what hi leaves of it, rounded as above.  K is cut into chunks of 256,
 * filled up to whole steps.  The sum of a chunk begins with +0; first all its
 * steps add, each in two parts, a and b being (mid,hi) and (hi,mid), then all
 * its steps add (hi,hi), each part as a step for bf16.  Chunks are added in
 * order, to C if it is there; then +0 and the epilogue.
 *
 * Steps where a or b is zero may be left out of a chain, as native does where
 * many are (kernel/k_gemm_sparse.h).  Since no sum is -0 this shows only where
 * zero meets what is not finite. */
#ifndef LS_KERNEL_PRODUCT_H
#define LS_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/range.h"
#include "kernel/roof.h"

enum { LS__CHUNK = 256, LS__BF16_STEP = 32, LS__PACK_CUT = 64 };

_Static_assert(LS__CHUNK % LS__BF16_STEP == 0, "a chunk is whole steps");

typedef enum ls__activation {
    LS__NO_ACTIVATION, LS__GELU, LS__RELU, LS__TANH, LS__SIGMOID,
    LS__ACTIVATIONS
} ls__activation;

/* C (m,n) = A (m,k) B (k,n), then, in this order and where asked for:
 * + C before (accumulate: chunks are added to it), x scale, + bias[j], rounded
 * to bf16, activation (its slope kept), x slope of another one, + add. */
typedef struct ls__product {
    int64_t m, n, k;
    const float *a; /* a[i a_row + p a_col] */
    int64_t a_row, a_col;
    const float *b; /* b[p b_row + j b_col] */
    int64_t b_row, b_col;
    const void *packed;  /* B as pack left it, or NULL */
    float *c;            /* c[i c_row + j] */
    int64_t c_row;

    bool accumulate;      /* the sum starts from C, not from nothing */
    float scale;          /* 1 for none */
    const float *bias;    /* (n) or NULL */
    bool round;           /* to bf16 */
    ls__activation activation;
    float *slope;           /* (m,n), row stride c_row: the activation's
                               derivative there, for backward; or NULL */
    const float *times;     /* (m,n), row stride c_row: slopes to multiply by,
                               +0 where one is 0; or NULL */
    const float *add;       /* (m,n), row stride c_row, may be c only in
                               the native backend; or NULL */
    bool a_bf16; /* A, or its transpose if a_row is 1, is as c_bf16 left it */
    bool c_bf16; /* C is left as numbers of bf16, as its reader wants it: in
                     blocks of 32 rows and columns, c_row/32 of them for 32
                     rows.  m, n and c_row are multiples of LS__BF16_STEP then,
                     nothing is accumulated, and there is neither times nor
                     add */
} ls__product;

/* Does it keep to what c_bf16 wants? */
static inline bool ls__product_is_valid(const ls__product *g)
{
    return !g->c_bf16 || (g->m % LS__BF16_STEP == 0 &&
                          g->n % LS__BF16_STEP == 0 &&
                          g->c_row % LS__BF16_STEP == 0 && !g->accumulate &&
                          !g->times && !g->add);
}

/* Memory that is used soon, in ranges from `base` on: who computes for long
 * asks for it bit by bit, so that it comes near meanwhile. */
typedef struct ls__ahead {
    const float *base;
    const ls__range *of, *end; /* what was not asked for yet, but for */
    int64_t at;                /* so much of the first range */
} ls__ahead;

/* The convolution of one image with zeros around it. */
typedef struct ls__conv {
    const float *x; /* the image, of floats or as `round` of ls__convs has it */
    int64_t c;      /* numbers of a pixel */
    int64_t row;    /* numbers from a row of a window to the next */
    int64_t step_y, step_x; /* numbers from window to window */
    int64_t kh, run; /* a window: kh times kx runs of `run` floats, */
    int64_t kx, col; /* a row apart, and in a row `col` */
    uint64_t zeros;  /* bit k: run k of every window is zeros; for y, where it
                        skips */
    int64_t h, w;    /* windows */
    int64_t images, next_x, next_b; /* how many images, and the floats from
                       one's x and b to the next's: more than 1 only where
                       `gathers` of ls__convs says so.  Rows of y go on behind
                       h; those of dw are one chunk each (ls__conv_is_chunk) */
    ls__ahead *ahead; /* NULL: nothing */
    ls__product out; /* n, and: y (h w,n) with the epilogue and B packed by
                        conv_pack; or dw = c (kh kx run,n), dy = b (h w,n) of
                        row stride b_row, accumulate */
} ls__conv;

/* A pooling over one image. */
typedef struct ls__pooling {
    int64_t in_h, in_w, c;      /* x */
    int64_t kh, kw, sy, sx;     /* windows */
    int64_t top, left;          /* pixels of padding before x */
    int64_t h, w;               /* y */
    int64_t dy, dx;             /* pixels from tap to tap */
    int64_t end_y, end_x; /* a mean divides by the taps before these, */
    bool inside;          /* or only by those in x */
} ls__pooling;

/* dy of a convolution under a 2x2 max pooling with its windows from the first
 * pixel on, as the pooling's own dy and the numbers of the pixels that it took
 * (ls__kernel_table.max_pool). */
typedef struct ls__pooled_dy {
    const ls__pooling *pooling;
    const float *dy, *number;
    int64_t top, left; /* pixels before its first in the image that windows of
                          dx see */
} ls__pooled_dy;

/* Weights (kh,kw,in,out) as the operand B (kh kw in,out); or, rotated, with
 * their taps in reverse order and transposed, (kh kw out,in).  Of groups of
 * channels there is an operand each, one after the other; in and out are those
 * of a group, and the weights are (kh,kw,in,groups out). */
typedef struct ls__conv_weights {
    int64_t kh, kw, in, out;
    bool rotated;
    int64_t groups; /* 0 and 1: none */
} ls__conv_weights;

/* The rectangles of output pixels that are chunks of K in weight gradients. */
static inline int64_t ls__conv_chunk_w(int64_t w)
{
    return w < LS__CHUNK / 2 ? w : LS__CHUNK / 2;
}

static inline int64_t ls__conv_chunk_h(int64_t w)
{
    return LS__CHUNK / ls__conv_chunk_w(w) / 2 * 2;
}

/* Are the windows of an image one chunk? */
static inline bool ls__conv_is_chunk(const ls__conv *v)
{
    return v->w == ls__conv_chunk_w(v->w) && v->h <= ls__conv_chunk_h(v->w);
}

/* Functions that multiply matrices (GEMM).  Packing B once serves many
 * products: columns from a multiple of LS__PACK_CUT on can be packed alone, and
 * begin behind packed_size of those before. */
typedef struct ls__products {
    void (*gemm)(const ls__product *g, float *scratch);
    /* Floats of scratch that gemm needs for a (k,n) operand B. */
    int64_t (*scratch)(int64_t k, int64_t n);
    /* Floats of B when packed; NULL: B is not packed. */
    int64_t (*packed_size)(int64_t k, int64_t n);
    void (*pack)(int64_t k, int64_t n, const float *b, int64_t b_row,
                 int64_t b_col, void *packed);
    /* (m,n) as c_bf16 leaves it, sizes as there; NULL: a_bf16 and c_bf16 are
     * not known. */
    void (*to_bf16)(int64_t m, int64_t n, const float *x, void *words);
} ls__products;

/* out = n floats rounded to bf16; where x is a denormal, a zero. */
typedef void ls__bf16_fn(int64_t n, const float *x, uint16_t *out);

/* Functions that convolve by patches of the image (implicit im2col). */
typedef struct ls__convs {
    bool skips; /* y leaves out what zeros names; runs are whole steps of
                   LS__BF16_STEP then */
    bool gaps; /* y, dw and pack know windows with gaps between their taps, and
                  groups; else kx is 1 and windows' rows are the image's */
    bool gathers; /* y knows several images, and dw, of whole vectors of
                     channels */
    bool transposed; /* dw has the form that dw_pooled has, and is added to */
    /* The image as y reads it, in scratch; NULL: as it is. */
    const void *(*image)(const ls__conv *v, float *scratch);
    /* Rounds floats: images are then numbers of bf16; NULL: they are floats. */
    ls__bf16_fn *round;
    /* Such numbers of an image, with the zeros that are read behind it; 0: this
     * one is floats. */
    int64_t (*image_size)(const ls__conv *v);
    /* y of windows in rows first .. last, all channels. */
    void (*y)(const ls__conv *v, const void *image, int64_t first,
              int64_t last);
    /* dw, and dbias where it is not NULL; dw is transposed if `transposed`. */
    void (*dw)(const ls__conv *v, float *dbias, float *scratch);
    /* The same under a pooling, the bytes of dw but where a zero of dy meets
     * what is not finite.  dw is transposed: t (n,kh,run up to whole vectors),
     * zeros at first. */
    void (*dw_pooled)(const ls__conv *v, const ls__pooled_dy *d, float *t,
                      float *dbias, float *scratch);
    int64_t (*scratch)(const ls__conv *v); /* floats, for all of these */
    /* dx of windows over such a dy, the bytes of y over all of it but where a
     * zero meets what is not finite; NULL: y is as fast. */
    void (*dx_pooled)(const ls__conv *v, const ls__pooled_dy *d,
                      float *scratch);
    int64_t (*dx_scratch)(const ls__conv *v); /* floats; 0: not such a v */
    int64_t (*packed_size)(const ls__conv_weights *of);
    void (*pack)(const ls__conv_weights *of, const float *w, void *packed);
} ls__convs;

/* A backend: a maker of products and convolutions, and what it says of itself.
 * Its bits are those of the contract, on any CPU. */
typedef struct ls__backend {
    const char *name;  /* "native" */
    char text[64];     /* "f32 products" */
    bool bf16;         /* a, b are rounded to bf16, and x w + bias is */
    const ls__products *products;
    const ls__convs *convs;       /* NULL: patches are written out and
                                     multiplied */
    ls__roof *roof; /* of the unit that products use; NULL: the level's
                       fma_loop */
} ls__backend;

#endif

/* What a matrix product and a convolution are, the one shape all of them have,
 * and the table of functions of those who compute them.
 *
 * The contract of bits: element (i,j) is K cut into chunks of 256 (the last is
 * shorter), each chunk one fmaf chain from +0 in rising k, chunks added in
 * order, +0 added to the sum; then the epilogue, in the order of the struct
 * below.  Every backend meets it; test_gemm.c holds it in ten lines.
 *
 * Steps where a or b is zero may be left out of a chain, as native does where
 * many are (kernel/k_gemm_sparse.h).  Since no sum is -0 this shows only where
 * zero meets what is not finite. */
#ifndef LS_KERNEL_PRODUCT_H
#define LS_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

enum { LS__CHUNK = 256, LS__PACK_CUT = 64 };

typedef enum ls__activation {
    LS__NO_ACTIVATION, LS__GELU, LS__RELU, LS__TANH, LS__SIGMOID
} ls__activation;

typedef struct ls__prepared ls__prepared;

/* C (m,n) = A (m,k) B (k,n), then, in this order and where asked for:
 * + C before (accumulate: chunks are added to it), x scale, + bias[j], rounded
 * to bf16, activation (its slope kept), x slope of another one, + add. */
typedef struct ls__product {
    int64_t m, n, k;
    const float *a; /* a[i a_row + p a_col] */
    int64_t a_row, a_col;
    const float *b; /* b[p b_row + j b_col] */
    int64_t b_row, b_col;
    const float *packed; /* B as pack left it, or NULL */
    float *c;            /* c[i c_row + j] */
    int64_t c_row;

    bool accumulate;      /* the sum starts from C, not from nothing */
    float scale;          /* 1 for none */
    const float *bias;    /* (n) or NULL */
    bool round;           /* to bf16 */
    ls__activation activation;
    float *slope;           /* (m,n), row stride c_row: the activation's
                               derivative there, for the way back; or NULL */
    const float *times;     /* (m,n), row stride c_row: slopes to multiply by,
                               +0 where one is 0; or NULL */
    const float *add;       /* (m,n), row stride c_row, may be c only in
                               the native backend; or NULL */
    const ls__prepared *prepared; /* what the backend made for it, or NULL */
} ls__product;

typedef struct ls__conv ls__conv;

/* A product that a backend made ready when the plan was laid out; the same for
 * all workers, which read it at once.  What it cannot compute after all is NaN:
 * a step then ends with a message, a prediction is NaN. */
struct ls__prepared {
    int64_t packed;  /* floats of B as pack leaves it */
    int64_t scratch; /* floats that gemm or conv needs */
    void (*pack)(const ls__prepared *m, const float *b, float *packed);
    void (*gemm)(const ls__prepared *m, const ls__product *g, float *scratch);
    void (*conv)(const ls__prepared *m, const ls__conv *v, float *scratch);
    void (*free)(ls__prepared *m);
};

/* The convolution of one image with zeros around it. */
struct ls__conv {
    const float *x; /* the image */
    int64_t c;      /* floats of a pixel */
    int64_t row;    /* floats from one of its rows to the next */
    int64_t step_y, step_x; /* floats from window to window */
    int64_t kh, run; /* a window: kh runs of `run` floats, a row apart */
    int64_t h, w;    /* windows */
    ls__product out; /* n, and: y (h w,n) with the epilogue and B packed by
                        conv_pack; or dw = c (kh run,n), dy = b, accumulate */
};

/* The rectangles of output pixels that are chunks of K in weight gradients. */
static inline int64_t ls__conv_chunk_w(int64_t w)
{
    return w < LS__CHUNK / 2 ? w : LS__CHUNK / 2;
}

static inline int64_t ls__conv_chunk_h(int64_t w)
{
    return LS__CHUNK / ls__conv_chunk_w(w) / 2 * 2;
}

typedef struct ls__backend {
    const char *name;
    bool bf16; /* a, b are rounded to bf16; then there is no contract of bits */
    void (*gemm)(const ls__product *g, float *scratch);
    /* Floats of scratch that gemm needs for a (k,n) operand B. */
    int64_t (*scratch)(int64_t k, int64_t n);
    /* Packing B once for many products; NULL when the backend has no use.
     * Columns from a multiple of LS__PACK_CUT on can be packed alone: they
     * begin behind packed_size of those before. */
    int64_t (*packed_size)(int64_t k, int64_t n);
    void (*pack)(int64_t k, int64_t n, const float *b, int64_t b_row,
                 int64_t b_col, float *packed);

    /* Convolutions that read patches from the image; NULL: patches are written
     * out and multiplied.  conv does windows of rows first .. last, all
     * channels, of an image as conv_image left it in scratch; conv_image may be
     * NULL: as it is. */
    ls__conv (*conv_image)(const ls__conv *v, float *scratch);
    void (*conv)(const ls__conv *v, int64_t first, int64_t last);
    /* dw, and dbias where it is not NULL. */
    void (*conv_grad)(const ls__conv *v, float *dbias, float *scratch);
    int64_t (*conv_scratch)(const ls__conv *v); /* floats, for both */
    /* Weights (taps,in,out) as the operand B (taps in,out); or, rotated, their
     * taps in reverse order and transposed, (taps out,in). */
    int64_t (*conv_packed_size)(int64_t taps, int64_t k, int64_t n);
    void (*conv_pack)(int64_t taps, int64_t in, int64_t out, bool rotated,
                      const float *w, float *packed);

    /* Make products like g ready, of any number of rows up to `rows`, g having
     * all: those of m, with B packed; or of k where it accumulates.  Those of
     * *prepared stand in for gemm, pack and so on; it stays NULL where these
     * are better.  NULL when the backend has no use. */
    int (*prepare)(const ls__product *g, int64_t rows, bool bf16,
                   ls__prepared **prepared);
    /* The same of all windows of an image; rotated: as conv_pack. */
    int (*prepare_conv)(const ls__conv *v, bool rotated, bool bf16,
                        ls__prepared **prepared);
} ls__backend;

#endif

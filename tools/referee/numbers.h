/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of the referee: arithmetic of single and double precision in whole
 * numbers, functions, sums and random numbers.  C99 and no line of the library:
 * any compiler, any flags and any machine give the same bits.  docs/contract.md
 * says in words what they are, and names them. */
#ifndef REFEREE_NUMBERS_H
#define REFEREE_NUMBERS_H

#include <stdint.h>

/* ------ single precision (numbers.c) ------ */

/* The contract's +, x, fused multiply-add, / and the square root.
 * Round to nearest, ties to even; denormals are zeros where they are read, and
 * a result is a zero of its sign if it is below 2^-126 after rounding as if
 * exponents had no end (x86-64) or, with TINY_BEFORE, before rounding (arm64).
 * soft_corner counts the results on which the two differ, so that the verdict
 * can say that this is what happened.  A number is its 32 bits; NaN is always
 * 7fc00000. */
typedef uint32_t f32;

enum { TINY_AFTER, TINY_BEFORE };

extern int soft_tiny;
extern long soft_corner;

#define NAN32 0x7fc00000u
#define INF32 0x7f800000u
#define F(x) f_of(x)

f32 f_of(float x); /* a constant */
int f_nan(f32 a), f_inf(f32 a), f_zero(f32 a); /* zeros are denormals too */
int f_exp(f32 a); /* as it is filed */
f32 f_round(uint32_t sign, uint64_t m, int e); /* m 2^e, its last bit sticky */
f32 f_fma(f32 a, f32 b, f32 c);
f32 f_neg(f32 a), f_abs(f32 a), f_sqrt(f32 a);
f32 f_add(f32 a, f32 b), f_sub(f32 a, f32 b);
f32 f_mul(f32 a, f32 b), f_div(f32 a, f32 b);
int f_lt(f32 a, f32 b), f_equal(f32 a, f32 b); /* with NaN never */
f32 f_min(f32 a, f32 b), f_max(f32 a, f32 b);
f32 f_int(int64_t n);     /* of what is below 2^53 in size */
int32_t f_trunc(f32 a);   /* of what is below 2^31 in size */
f32 f_floor(f32 a);
f32 f_recorded(f32 a); /* a NaN is the contract's, what is denormal zero */

/* ------ double precision (numbers.c) ------ */

/* The same for the few sums and functions of one number that the contract has
 * in double: + - x / and the square root, rounded to nearest, ties to even,
 * what is denormal being zero. */
typedef uint64_t f64;

#define D(x) d_of(x)
#define SIGN64 0x8000000000000000u
#define INF64 0x7ff0000000000000u
#define NAN64 0x7ff8000000000000u

f64 d_of(double x); /* a constant */
int d_zero(f64 a), d_lt(f64 a, f64 b);
f64 d_neg(f64 a), d_sqrt(f64 a);
f64 d_add(f64 a, f64 b), d_sub(f64 a, f64 b);
f64 d_sum(f64 a, f64 b, int to_odd); /* the last digit stands for the rest */
f64 d_mul(f64 a, f64 b), d_div(f64 a, f64 b);
f64 d_int(int64_t n);
int64_t d_trunc(f64 a); /* of what is below 2^62 in size */
f64 d_from(f32 a);
f32 f_from(f64 a);

/* ------ functions (functions.c) ------ */

f32 horner(f32 x, const float *c, int n);
f32 clamp(f32 x, float low, float high);
f32 e_exp(f32 x), e_expm1(f32 x), e_tanh(f32 x);
f32 e_log(f32 x), e_log_any(f32 x), e_log1p(f32 x); /* e_log: 0 < x < inf */
f32 log_tail(f32 x); /* log(1 + e^-|x|) */
f32 e_gelu(f32 x), e_gelu_slope(f32 x);
f32 e_relu(f32 x), e_sigmoid(f32 x), e_sigmoid_slope(f32 x);
f32 times_slope(f32 d, f32 slope);
f64 d_log(f64 x);                /* of what is positive and finite */
f32 f_pow(f32 base, f32 x);      /* base above 0 */
f32 f_pow_n(f32 base, int64_t n); /* n from 0 up */
f32 f_sin(f32 x), f_cos(f32 x);  /* made in double */
f64 turns_far(f32 x, int *n);    /* x - n pi/2, for x from 120 up */
f32 correction(f32 base, int64_t n); /* 1 / (1 - b^n) */

/* ------ sums (sums.c) ------ */

/* c, or where it is NULL nothing, + a b of K numbers; of f32, bf16 and split
 * into two bf16. */
typedef f32 product(const f32 *c, const f32 *a, const f32 *b, int64_t k);

product f32_product, bf16_product, f32x3_product;

f32 to_bf16(f32 x);
int64_t least(int64_t a, int64_t b);

/* Down a column of rows, added to c if there is one, in chunks of 256; the same
 * of products. */
f32 column(const f32 *c, const f32 *a, int64_t rows);
f32 chains(const f32 *c, const f32 *a, const f32 *b, int64_t n);

/* Along a row; b NULL: the sum of a, else of a b. */
f32 row_sum(const f32 *a, const f32 *b, int64_t n);

/* Of what is not zero in a list of rows of a table, by index. */
f32 bag_sum(f32 c, const f32 *value, const f32 *w, const f32 *index, int64_t n);

/* Over devices; x is used up. */
f32 tree(f32 *x, int64_t n);
f64 d_tree(f64 *x, int64_t n);

/* The number of the largest: the first of equals, the last NaN. */
int64_t top_at(const f32 *x, int64_t n);

/* What is sorted by a key, and those of one key by where they were. */
typedef struct card {
    uint32_t key, at, of;
} card;

int by_key(const void *a, const void *b); /* for qsort */

/* ------ random numbers (random.c) ------ */

void threefry(const f32 key[2], uint64_t counter, uint32_t x[2]);
uint32_t random_bits(const f32 key[2], uint64_t place);
f32 from_0_to_1(uint32_t bits);
f32 uniform_of(uint32_t bits, f32 low, f32 high);
f32 truncated_of(uint32_t bits);
f32 normal_of_bits(uint32_t bits);
f32 erf_inverse(f32 x);

#endif

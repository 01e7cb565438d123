/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers: the streams of JAX and of NumPy, to the bit. */
#ifndef LOCKSTEP_RANDOM_H
#define LOCKSTEP_RANDOM_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ====== Random numbers ====== */

/* The streams of JAX (threefry2x32, partitionable counters) and of NumPy's
 * legacy RandomState, to the bit (one exception: ls_numpy_randn).  Value i of a
 * JAX stream depends on the key and i alone. */
typedef struct ls_key {
    uint32_t word[2];
} ls_key;

/* jax.random.key(seed) in 32-bit mode: word 0 is 0, word 1 the low 32 bits. */
LS_API ls_key ls_key_new(int64_t seed);
/* jax.random.fold_in(key, data). */
LS_API ls_key ls_key_fold_in(ls_key key, uint32_t data);
/* jax.random.split(key, n)[i], any n > i. */
LS_API ls_key ls_key_split(ls_key key, uint64_t i);

/* out[i] = element first + i of jax.random.bits(key, ..., uint32). */
LS_API void ls_random_bits(ls_key key, uint64_t first, int64_t n,
                           uint32_t *out);
/* Elements first .. first+n of jax.random.uniform(key, ..., low, high). */
LS_API void ls_random_uniform(ls_key key, uint64_t first, int64_t n, float low,
                              float high, float *out);
/* Elements first .. first+n of jax.random.normal(key). */
LS_API void ls_random_normal(ls_key key, uint64_t first, int64_t n, float *out);
/* Elements first .. first+n of jax.random.truncated_normal(key, -2, 2). */
LS_API void ls_random_truncated_normal(ls_key key, uint64_t first, int64_t n,
                                       float *out);
/* Elements first .. first+n of jax.random.bernoulli(key, p), as 1 or 0. */
LS_API void ls_random_bernoulli(ls_key key, uint64_t first, int64_t n, float p,
                                uint8_t *out);
/* Elements first .. first+n of jax.random.randint(key, ..., low, high) of
 * int32. */
LS_API void ls_random_randint(ls_key key, uint64_t first, int64_t n,
                              int32_t low, int32_t high, int32_t *out);
/* jax.random.categorical(key, logits / temperature): one of 0 .. n-1 with
 * probability softmax(logits / temperature).  Temperature 0: the largest, the
 * first of equals. */
LS_API int64_t ls_random_categorical(ls_key key, int64_t n,
                                     const float *logits, float temperature);
/* out[0..n) = jax.random.permutation(key, n).  LS_ENOMEM. */
LS_API int ls_random_permutation(ls_key key, int64_t n, int32_t *out);

/* NumPy's RandomState(seed): MT19937 and its legacy distributions. */
typedef struct ls_numpy {
    uint32_t word[624]; /* state */
    int at;             /* next word, 624: twist first */
    bool has_gauss;     /* a normal is kept for the next call */
    double gauss;
} ls_numpy;

/* RandomState(seed). */
LS_API void ls_numpy_seed(ls_numpy *rs, uint32_t seed);
/* rs.randint(low, high, n), dtype int32 or int64; low < high. */
LS_API void ls_numpy_randint(ls_numpy *rs, int64_t low, int64_t high,
                             int64_t n, int64_t *out);
/* The same into int32, for bounds that fit. */
LS_API void ls_numpy_randint32(ls_numpy *rs, int32_t low, int32_t high,
                               int64_t n, int32_t *out);
/* rs.rand(n). */
LS_API void ls_numpy_rand(ls_numpy *rs, int64_t n, double *out);
/* rs.randn(n).  NumPy takes the logarithm of the C library, which the library
 * here does without: about one double in 3000 differs in its last bit; of two
 * million values rounded to float, none. */
LS_API void ls_numpy_randn(ls_numpy *rs, int64_t n, double *out);
/* rs.permutation(n). */
LS_API void ls_numpy_permutation(ls_numpy *rs, int64_t n, int64_t *out);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sixteen lanes at a time: v16 holds 16 floats, w16 16 uint32, m16 a yes or no
 * for each of 16 lanes.  One set of names over AVX-512, AVX2 with FMA,
 * NEON, and plain C; the compiler's own macros choose, so a kernel file is
 * written once and compiled once per level.
 *
 * Every operation gives the same bits on every level (NaN payloads apart), in
 * the floating-point mode the caller set.  The width is part of the contract of
 * bits, because sums are made of 16 lanes; it is not a property of the machine.
 *
 *   v16_min(a,b) = a < b ? a : b     v16_max(a,b) = a > b ? a : b
 *   v16_fma(a,b,c) = a * b + c, rounded once
 *   v16_select(m,a,b) = m ? a : b
 *   .._load_n(p,n), .._store_n(p,v,n): the first n lanes, n in 0..16; memory
 *       beyond them is not touched, lanes beyond them load as +0
 *   v16_store_kept(p,v,m): the lanes of m side by side; writes 16 floats, the
 *       rest of any value
 *   v16_to_int truncates (beyond 2^31 and for NaN: to any number)
 *   v16_of_int reads its lanes as signed
 *   w16_mul keeps the low 32 bits
 *   w16_shl, w16_shr: count in 0..31;  w16_rotl: count in 1..31
 *   m16_word, m16_of_word: bit i is lane i
 *   v16_transpose(x): x[i] lane j and x[j] lane i change places
 *   v16_sum, v16_top: lane i takes in lane i + 8, then i + 4, + 2, + 1
 *
 * Comparisons with NaN are false.  Pointers need no alignment.  Where the mode
 * reads denormals as zero, one that goes through min, max or select may come
 * out as itself or as a zero of its sign: what computes with it reads zero. */
#ifndef LS_KERNEL_K_SIMD_H
#define LS_KERNEL_K_SIMD_H

#include <stdint.h>
#include <string.h>

#include "base/fma.h"
#include "kernel/k_inline.h"

#if defined(LS_PLAIN_LANES)
#include "kernel/k_simd_plain.h"
#elif defined(__AVX512F__)
#include "kernel/k_simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "kernel/k_simd_avx2.h"
#elif defined(__aarch64__)
#include "kernel/k_simd_neon.h"
#else
#include "kernel/k_simd_plain.h"
#endif

#if !defined(__AVX512F__) /* which has instructions for them */
SIMD void v16_store_kept(float *p, v16 a, m16 keep)
{
    float x[16];
    unsigned word = m16_word(keep);

    v16_store(x, a);
    for (int i = 0, n = 0; i < 16; i++) {
        memcpy(p + n, x + i, sizeof *p); /* words too are kept so */
        n += word >> i & 1;
    }
}

#endif

/* ------ edges of arrays ------ */

/* The bits of the first n of 16 lanes. */
SIMD unsigned first_lanes(int64_t n)
{
    return n < 16 ? (1u << n) - 1 : 0xffff;
}

/* The next 16 of `left` elements at p. */
SIMD v16 take(const float *p, int64_t left)
{
    return left >= 16 ? v16_load(p) : v16_load_n(p, (int)left);
}

SIMD void put(float *p, v16 v, int64_t left)
{
    if (left >= 16)
        v16_store(p, v);
    else
        v16_store_n(p, v, (int)left);
}

enum { PAGE = 1024 }; /* floats of 4 KiB */

/* take and put in a long pass over memory: the line a page further on is asked
 * for (prefetched), since by itself a processor asks only up to the page's
 * end. */
SIMD v16 take_on(const float *p, int64_t left)
{
    __builtin_prefetch(p + PAGE);
    return take(p, left);
}

SIMD void put_on(float *p, v16 v, int64_t left)
{
    __builtin_prefetch(p + PAGE, 1);
    put(p, v, left);
}

#endif

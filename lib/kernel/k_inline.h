/* SPDX-License-Identifier: BSD-3-Clause */
/* SIMD: a function that is inlined into its callers, so that vectors stay in
 * registers and constant arguments unroll its loops.
 *
 * UNROLL(n): the loop that follows, of at most n rounds, is unrolled whole.
 * clang 14 takes a number of rounds at its word before it knows the constants
 * of the caller, which puts the sums of a tile into memory; gcc knows no other
 * way to say it.
 *
 * UNROLL_BY(n): the loop that follows does n rounds at once. */
#ifndef LS_KERNEL_K_INLINE_H
#define LS_KERNEL_K_INLINE_H

#define SIMD static inline __attribute__((always_inline))

#define UNROLL_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define UNROLL(n) UNROLL_PRAGMA(clang loop unroll(full))
#define UNROLL_BY(n) UNROLL_PRAGMA(clang loop unroll_count(n))
#else
#define UNROLL(n) UNROLL_PRAGMA(GCC unroll n)
#define UNROLL_BY(n) UNROLL(n)
#endif

#endif

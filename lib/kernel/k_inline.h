/* SIMD: a function that becomes part of whoever calls it, so that vectors stay
 * in registers and arguments that are constants unroll its loops.
 *
 * UNROLL(n): the loop that follows, of at most n rounds, is unrolled whole.
 * clang 14 takes a number of rounds at its word before it knows the constants
 * of the caller, which puts the sums of a tile into memory; gcc knows no other
 * way to say it. */
#ifndef LS_KERNEL_K_INLINE_H
#define LS_KERNEL_K_INLINE_H

#define SIMD static inline __attribute__((always_inline))

#if defined(__clang__)
#define UNROLL(n) _Pragma("clang loop unroll(full)")
#else
#define UNROLL_PRAGMA(text) _Pragma(#text)
#define UNROLL(n) UNROLL_PRAGMA(GCC unroll n)
#endif

#endif

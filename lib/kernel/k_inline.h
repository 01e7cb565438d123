/* SIMD: a function that becomes part of whoever calls it, so that vectors stay
 * in registers and arguments that are constants unroll its loops. */
#ifndef LS_KERNEL_K_INLINE_H
#define LS_KERNEL_K_INLINE_H

#define SIMD static inline __attribute__((always_inline))

#endif

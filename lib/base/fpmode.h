/* SPDX-License-Identifier: BSD-3-Clause */
/* The floating-point mode is part of the contract of bits: round to nearest,
 * denormals flushed to zero.  Workers keep it; on the caller's thread it is
 * set around our own work and put back. */
#ifndef LS_BASE_FPMODE_H
#define LS_BASE_FPMODE_H

#include <float.h>
#include <stdint.h>

/* So are the flags; configure looks closely, but does not see make's.  A method
 * of 16 is that of 0, with _Float16 beside: gcc's for CPUs that have it. */
#if defined __FAST_MATH__ || __FINITE_MATH_ONLY__ || \
    (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)
#error "no rounding may be moved: leave out -ffast-math, -mfpmath=387 and so on"
#endif

#if defined(__x86_64__)
#include <immintrin.h>

typedef uint32_t ls__fpmode;
/* Flush to zero (bit 15), denormals are zero (6), all exceptions masked. */
#define LS__FPMODE 0x9fc0u

static inline ls__fpmode ls__fpmode_set(void)
{
    ls__fpmode old = _mm_getcsr();
    _mm_setcsr(LS__FPMODE);
    return old;
}

static inline void ls__fpmode_restore(ls__fpmode old)
{
    _mm_setcsr(old);
}

#elif defined(__aarch64__)

typedef uint64_t ls__fpmode;
/* FPCR: FZ (bit 24); round to nearest and no traps are zeros. */
#define LS__FPMODE (UINT64_C(1) << 24)

static inline ls__fpmode ls__fpmode_set(void)
{
    ls__fpmode old, mode = LS__FPMODE;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(old));
    __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
    return old;
}

static inline void ls__fpmode_restore(ls__fpmode old)
{
    __asm__ __volatile__("msr fpcr, %0" : : "r"(old));
}

#else

#include <fenv.h>

/* Rounding alone can be chosen on every processor; denormals are flushed by
 * those who compute (ls__flushed, base/fma.h and kernel/k_simd_plain.h). */
#define LS__KEEPS_DENORMALS

typedef int ls__fpmode;
#define LS__FPMODE FE_TONEAREST

static inline ls__fpmode ls__fpmode_set(void)
{
    ls__fpmode old = fegetround();
    (void)fesetround(LS__FPMODE);
    return old;
}

static inline void ls__fpmode_restore(ls__fpmode old)
{
    (void)fesetround(old);
}

#endif

/* x, and a zero of its sign where the mode would have made one. */
static inline float ls__flushed(float x)
{
#ifdef LS__KEEPS_DENORMALS
    if (x > -0x1p-126f && x < 0x1p-126f)
        return __builtin_copysignf(0.0f, x);
#endif
    return x;
}

#endif

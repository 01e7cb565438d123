/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h in two AVX2 registers: lo holds lanes 0-7, hi 8-15. */
#ifndef LS_KERNEL_K_SIMD_AVX2_H
#define LS_KERNEL_K_SIMD_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "kernel/k_inline.h"

typedef struct v16 {
    __m256 lo, hi;
} v16;

typedef struct w16 {
    __m256i lo, hi;
} w16;

/* All bits of a lane are set, or none. */
typedef v16 m16;

/* f on both halves */
#define ONE(f, a) {f(a.lo), f(a.hi)}
#define TWO(f, a, b) {f(a.lo, b.lo), f(a.hi, b.hi)}
#define CMP(a, b, how) \
    {_mm256_cmp_ps(a.lo, b.lo, how), _mm256_cmp_ps(a.hi, b.hi, how)}

// clang-format off

/* ------ words ------ */

SIMD w16 w16_two(__m256i lo, __m256i hi) { return (w16){lo, hi}; }
SIMD w16 w16_set(uint32_t x)
{
    __m256i a = _mm256_set1_epi32((int)x);
    return w16_two(a, a);
}
SIMD w16 w16_iota(void)
{
    return w16_two(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                   _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15));
}
SIMD w16 w16_add(w16 a, w16 b) { return (w16)TWO(_mm256_add_epi32, a, b); }
SIMD w16 w16_sub(w16 a, w16 b) { return (w16)TWO(_mm256_sub_epi32, a, b); }
SIMD w16 w16_and(w16 a, w16 b) { return (w16)TWO(_mm256_and_si256, a, b); }
SIMD w16 w16_or(w16 a, w16 b) { return (w16)TWO(_mm256_or_si256, a, b); }
SIMD w16 w16_xor(w16 a, w16 b) { return (w16)TWO(_mm256_xor_si256, a, b); }
SIMD w16 w16_shl(w16 a, int n)
{
    __m256i by = _mm256_set1_epi32(n);
    return w16_two(_mm256_sllv_epi32(a.lo, by), _mm256_sllv_epi32(a.hi, by));
}
SIMD w16 w16_shr(w16 a, int n)
{
    __m256i by = _mm256_set1_epi32(n);
    return w16_two(_mm256_srlv_epi32(a.lo, by), _mm256_srlv_epi32(a.hi, by));
}
SIMD w16 w16_mul(w16 a, w16 b)
{
    return w16_two(_mm256_mullo_epi32(a.lo, b.lo),
                   _mm256_mullo_epi32(a.hi, b.hi));
}
SIMD w16 w16_rotl(w16 a, int n)
{
    return w16_or(w16_shl(a, n), w16_shr(a, 32 - n));
}

/* ------ floats: lanes in and out ------ */

SIMD v16 v16_two(__m256 lo, __m256 hi) { return (v16){lo, hi}; }
SIMD v16 v16_zero(void)
{
    return v16_two(_mm256_setzero_ps(), _mm256_setzero_ps());
}
SIMD v16 v16_set(float x)
{
    return v16_two(_mm256_set1_ps(x), _mm256_set1_ps(x));
}
SIMD v16 v16_load(const float *p)
{
    return v16_two(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8));
}
SIMD void v16_store(float *p, v16 a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
SIMD w16 v16_bits(v16 a) { return (w16)ONE(_mm256_castps_si256, a); }
SIMD v16 v16_of_bits(w16 a) { return (v16)ONE(_mm256_castsi256_ps, a); }
SIMD v16 v16_of_int(w16 a) { return (v16)ONE(_mm256_cvtepi32_ps, a); }
SIMD w16 v16_to_int(v16 a) { return (w16)ONE(_mm256_cvttps_epi32, a); }
SIMD v16 v16_gather(const float *p, w16 i)
{
    return v16_two(_mm256_i32gather_ps(p, i.lo, 4),
                   _mm256_i32gather_ps(p, i.hi, 4));
}

SIMD w16 w16_load(const uint32_t *p)
{
    return v16_bits(v16_load((const float *)p));
}
SIMD void w16_store(uint32_t *p, w16 a)
{
    v16_store((float *)p, v16_of_bits(a));
}

/* ------ floats: arithmetic ------ */

SIMD v16 v16_add(v16 a, v16 b) { return (v16)TWO(_mm256_add_ps, a, b); }
SIMD v16 v16_sub(v16 a, v16 b) { return (v16)TWO(_mm256_sub_ps, a, b); }
SIMD v16 v16_mul(v16 a, v16 b) { return (v16)TWO(_mm256_mul_ps, a, b); }
SIMD v16 v16_div(v16 a, v16 b) { return (v16)TWO(_mm256_div_ps, a, b); }
SIMD v16 v16_fma(v16 a, v16 b, v16 c)
{
    return v16_two(_mm256_fmadd_ps(a.lo, b.lo, c.lo),
                   _mm256_fmadd_ps(a.hi, b.hi, c.hi));
}
SIMD v16 v16_sqrt(v16 a) { return (v16)ONE(_mm256_sqrt_ps, a); }
SIMD v16 v16_min(v16 a, v16 b) { return (v16)TWO(_mm256_min_ps, a, b); }
SIMD v16 v16_max(v16 a, v16 b) { return (v16)TWO(_mm256_max_ps, a, b); }
SIMD v16 v16_floor(v16 a) { return (v16)ONE(_mm256_floor_ps, a); }
SIMD v16 v16_neg(v16 a)
{
    return v16_of_bits(w16_xor(v16_bits(a), w16_set(0x80000000u)));
}
SIMD v16 v16_abs(v16 a)
{
    return v16_of_bits(w16_and(v16_bits(a), w16_set(0x7fffffffu)));
}

/* ------ floats: choices ------ */

SIMD m16 v16_lt(v16 a, v16 b) { return (m16)CMP(a, b, _CMP_LT_OQ); }
SIMD m16 v16_ge(v16 a, v16 b) { return (m16)CMP(a, b, _CMP_GE_OQ); }
SIMD m16 v16_eq(v16 a, v16 b) { return (m16)CMP(a, b, _CMP_EQ_OQ); }
SIMD v16 v16_select(m16 m, v16 a, v16 b)
{
    return v16_two(_mm256_blendv_ps(b.lo, a.lo, m.lo),
                   _mm256_blendv_ps(b.hi, a.hi, m.hi));
}

/* ------ masks ------ */

SIMD m16 m16_first(int n)
{
    w16 i = w16_iota();
    __m256i end = _mm256_set1_epi32(n);
    return v16_of_bits(w16_two(_mm256_cmpgt_epi32(end, i.lo),
                               _mm256_cmpgt_epi32(end, i.hi)));
}
SIMD m16 m16_and(m16 a, m16 b)
{
    return v16_of_bits(w16_and(v16_bits(a), v16_bits(b)));
}
SIMD m16 m16_or(m16 a, m16 b)
{
    return v16_of_bits(w16_or(v16_bits(a), v16_bits(b)));
}
SIMD m16 m16_not(m16 a)
{
    return v16_of_bits(w16_xor(v16_bits(a), w16_set(0xffffffffu)));
}
SIMD int m16_any(m16 a)
{
    return _mm256_movemask_ps(_mm256_or_ps(a.lo, a.hi)) != 0;
}
SIMD unsigned m16_word(m16 a)
{
    return (unsigned)_mm256_movemask_ps(a.lo) |
           (unsigned)_mm256_movemask_ps(a.hi) << 8;
}
SIMD m16 m16_of_word(unsigned a)
{
    w16 lane = w16_two(_mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                       _mm256_setr_epi32(256, 512, 1024, 2048, 4096, 8192,
                                         16384, 32768));
    w16 on = w16_and(w16_set(a), lane);
    return v16_of_bits((w16)TWO(_mm256_cmpeq_epi32, on, lane));
}

SIMD v16 v16_load_n(const float *p, int n)
{
    w16 m = v16_bits(m16_first(n));
    return v16_two(_mm256_maskload_ps(p, m.lo),
                   _mm256_maskload_ps(p + 8, m.hi));
}
SIMD void v16_store_n(float *p, v16 a, int n)
{
    w16 m = v16_bits(m16_first(n));
    _mm256_maskstore_ps(p, m.lo, a.lo);
    _mm256_maskstore_ps(p + 8, m.hi, a.hi);
}
SIMD w16 w16_load_n(const uint32_t *p, int n)
{
    return v16_bits(v16_load_n((const float *)p, n));
}
SIMD void w16_store_n(uint32_t *p, w16 a, int n)
{
    v16_store_n((float *)p, v16_of_bits(a), n);
}

// clang-format on

/* ------ trees over the lanes ------ */

SIMD float v16_sum(v16 a)
{
    __m256 h = _mm256_add_ps(a.lo, a.hi);
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h),
                          _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_permute_ps(q, 0x4e));
    q = _mm_add_ps(q, _mm_permute_ps(q, 0xb1));
    return _mm_cvtss_f32(q);
}

SIMD float v16_top(v16 a)
{
    __m256 h = _mm256_max_ps(a.lo, a.hi);
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h),
                          _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_permute_ps(q, 0x4e));
    q = _mm_max_ps(q, _mm_permute_ps(q, 0xb1));
    return _mm_cvtss_f32(q);
}

#undef ONE
#undef TWO
#undef CMP

/* ------ the matrix of 16 x 16 lanes ------ */

SIMD void turn8(__m256 *const x[8])
{
    __m256d d[8];
    __m256 y[8];

    UNROLL(4)
    for (int i = 0; i < 8; i += 2) {
        d[i] = _mm256_castps_pd(_mm256_unpacklo_ps(*x[i], *x[i + 1]));
        d[i + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(*x[i], *x[i + 1]));
    }
    UNROLL(2)
    for (int i = 0; i < 8; i += 4)
        UNROLL(2)
        for (int h = 0; h < 2; h++) {
            y[i + 2 * h] = _mm256_castpd_ps(
                _mm256_unpacklo_pd(d[i + h], d[i + 2 + h]));
            y[i + 2 * h + 1] = _mm256_castpd_ps(
                _mm256_unpackhi_pd(d[i + h], d[i + 2 + h]));
        }
    UNROLL(4)
    for (int c = 0; c < 4; c++) {
        *x[c] = _mm256_permute2f128_ps(y[c], y[4 + c], 0x20);
        *x[4 + c] = _mm256_permute2f128_ps(y[c], y[4 + c], 0x31);
    }
}

/* The four quarters, each within itself; then two of them change places. */
SIMD void v16_transpose(v16 x[16])
{
    UNROLL(2)
    for (int half = 0; half < 16; half += 8) {
        __m256 *lo[8], *hi[8];

        UNROLL(8)
        for (int i = 0; i < 8; i++) {
            lo[i] = &x[half + i].lo;
            hi[i] = &x[half + i].hi;
        }
        turn8(lo);
        turn8(hi);
    }
    UNROLL(8)
    for (int i = 0; i < 8; i++) {
        __m256 other = x[i].hi;

        x[i].hi = x[8 + i].lo;
        x[8 + i].lo = other;
    }
}

#endif

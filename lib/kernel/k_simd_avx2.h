/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h in two AVX2 registers: lo holds lanes 0-7, hi 8-15. */
#ifndef LS_KERNEL_K_SIMD_AVX2_H
#define LS_KERNEL_K_SIMD_AVX2_H

#include <immintrin.h>
#include <stdint.h>

typedef float v_piece __attribute__((vector_size(32)));
typedef uint32_t w_piece __attribute__((vector_size(32)));
typedef int32_t i_piece __attribute__((vector_size(32)));

#define PIECES(type) type lo, hi
#define EACH(DO, f) DO(lo, f) DO(hi, f)
#define ALL(x) {x, x, x, x, x, x, x, x}
#define P_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define P_OF_INT(x) _mm256_cvtepi32_ps((__m256i)(x))
#define P_TO_INT(x) ((w_piece)_mm256_cvttps_epi32(x))
#include "kernel/k_lanes.h"

/* ------ lanes in and out ------ */

SIMD w16 w16_load(const uint32_t *p) { return w16_at(p); }

SIMD v16 v16_gather(const float *p, w16 i)
{
    return (v16){_mm256_i32gather_ps(p, (__m256i)i.lo, 4),
                 _mm256_i32gather_ps(p, (__m256i)i.hi, 4)};
}

SIMD v16 v16_load_n(const float *p, int n)
{
    m16 m = m16_first(n);

    return (v16){_mm256_maskload_ps(p, (__m256i)m.lo),
                 _mm256_maskload_ps(p + 8, (__m256i)m.hi)};
}

SIMD void v16_store_n(float *p, v16 a, int n)
{
    m16 m = m16_first(n);

    _mm256_maskstore_ps(p, (__m256i)m.lo, a.lo);
    _mm256_maskstore_ps(p + 8, (__m256i)m.hi, a.hi);
}

SIMD w16 w16_load_n(const uint32_t *p, int n)
{
    return v16_bits(v16_load_n((const float *)p, n));
}

SIMD void w16_store_n(uint32_t *p, w16 a, int n)
{
    v16_store_n((float *)p, v16_of_bits(a), n);
}

/* ------ floats ------ */

LANES_2(v16_min, v16, v16, _mm256_min_ps)
LANES_2(v16_max, v16, v16, _mm256_max_ps)
LANES_1(v16_sqrt, v16, v16, _mm256_sqrt_ps)
LANES_1(v16_floor, v16, v16, _mm256_floor_ps)

SIMD v16 v16_abs(v16 a)
{
    return v16_of_bits(w16_and(v16_bits(a), w16_set(0x7fffffffu)));
}

SIMD v16 v16_select(m16 m, v16 a, v16 b)
{
    return (v16){_mm256_blendv_ps(b.lo, a.lo, (__m256)m.lo),
                 _mm256_blendv_ps(b.hi, a.hi, (__m256)m.hi)};
}

/* ------ masks ------ */

SIMD int m16_any(m16 a)
{
    return _mm256_movemask_ps((__m256)(a.lo | a.hi)) != 0;
}

SIMD unsigned m16_word(m16 a)
{
    return (unsigned)_mm256_movemask_ps((__m256)a.lo) |
           (unsigned)_mm256_movemask_ps((__m256)a.hi) << 8;
}

SIMD m16 m16_of_word(unsigned a)
{
    w16 lane = {{1, 2, 4, 8, 16, 32, 64, 128},
                {256, 512, 1024, 2048, 4096, 8192, 16384, 32768}};
    w16 on = w16_and(w16_set(a), lane);

    return (m16){P_EQ(on.lo, lane.lo), P_EQ(on.hi, lane.hi)};
}

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

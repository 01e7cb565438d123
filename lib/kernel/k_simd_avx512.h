/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h in one AVX-512 register; AVX512F is enough. */
#ifndef LS_KERNEL_K_SIMD_AVX512_H
#define LS_KERNEL_K_SIMD_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "kernel/k_inline.h"

typedef __m512 v16;
typedef __m512i w16;
typedef __mmask16 m16;

enum { FLOOR_QUIETLY = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };

// clang-format off

/* ------ masks ------ */

SIMD m16 m16_first(int n) { return (m16)((1u << n) - 1); }
SIMD m16 m16_and(m16 a, m16 b) { return (m16)(a & b); }
SIMD m16 m16_or(m16 a, m16 b) { return (m16)(a | b); }
SIMD m16 m16_not(m16 a) { return (m16)~a; }
SIMD int m16_any(m16 a) { return a != 0; }
SIMD unsigned m16_word(m16 a) { return a; }
SIMD m16 m16_of_word(unsigned a) { return (m16)a; }

/* ------ words ------ */

SIMD w16 w16_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
SIMD w16 w16_iota(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7,
                             8, 9, 10, 11, 12, 13, 14, 15);
}
SIMD w16 w16_load(const uint32_t *p) { return _mm512_loadu_si512(p); }
SIMD void w16_store(uint32_t *p, w16 a) { _mm512_storeu_si512(p, a); }
SIMD w16 w16_load_n(const uint32_t *p, int n)
{
    return _mm512_maskz_loadu_epi32(m16_first(n), p);
}
SIMD void w16_store_n(uint32_t *p, w16 a, int n)
{
    _mm512_mask_storeu_epi32(p, m16_first(n), a);
}
SIMD w16 w16_add(w16 a, w16 b) { return _mm512_add_epi32(a, b); }
SIMD w16 w16_sub(w16 a, w16 b) { return _mm512_sub_epi32(a, b); }
SIMD w16 w16_mul(w16 a, w16 b) { return _mm512_mullo_epi32(a, b); }
SIMD w16 w16_and(w16 a, w16 b) { return _mm512_and_si512(a, b); }
SIMD w16 w16_or(w16 a, w16 b) { return _mm512_or_si512(a, b); }
SIMD w16 w16_xor(w16 a, w16 b) { return _mm512_xor_si512(a, b); }
SIMD w16 w16_shl(w16 a, int n)
{
    return _mm512_sllv_epi32(a, _mm512_set1_epi32(n));
}
SIMD w16 w16_shr(w16 a, int n)
{
    return _mm512_srlv_epi32(a, _mm512_set1_epi32(n));
}
SIMD w16 w16_rotl(w16 a, int n)
{
    return _mm512_rolv_epi32(a, _mm512_set1_epi32(n));
}

/* ------ floats: lanes in and out ------ */

SIMD v16 v16_zero(void) { return _mm512_setzero_ps(); }
SIMD v16 v16_set(float x) { return _mm512_set1_ps(x); }
SIMD v16 v16_load(const float *p) { return _mm512_loadu_ps(p); }
SIMD void v16_store(float *p, v16 a) { _mm512_storeu_ps(p, a); }
SIMD v16 v16_load_n(const float *p, int n)
{
    return _mm512_maskz_loadu_ps(m16_first(n), p);
}
SIMD void v16_store_n(float *p, v16 a, int n)
{
    _mm512_mask_storeu_ps(p, m16_first(n), a);
}
SIMD void v16_store_kept(float *p, v16 a, m16 keep)
{
    _mm512_storeu_ps(p, _mm512_maskz_compress_ps(keep, a));
}
SIMD v16 v16_gather(const float *p, w16 i)
{
    return _mm512_i32gather_ps(i, p, 4);
}
SIMD w16 v16_bits(v16 a) { return _mm512_castps_si512(a); }
SIMD v16 v16_of_bits(w16 a) { return _mm512_castsi512_ps(a); }
SIMD v16 v16_of_int(w16 a) { return _mm512_cvtepi32_ps(a); }
SIMD w16 v16_to_int(v16 a) { return _mm512_cvttps_epi32(a); }

/* ------ floats: arithmetic ------ */

SIMD v16 v16_add(v16 a, v16 b) { return _mm512_add_ps(a, b); }
SIMD v16 v16_sub(v16 a, v16 b) { return _mm512_sub_ps(a, b); }
SIMD v16 v16_mul(v16 a, v16 b) { return _mm512_mul_ps(a, b); }
SIMD v16 v16_div(v16 a, v16 b) { return _mm512_div_ps(a, b); }
SIMD v16 v16_fma(v16 a, v16 b, v16 c) { return _mm512_fmadd_ps(a, b, c); }
SIMD v16 v16_sqrt(v16 a) { return _mm512_sqrt_ps(a); }
SIMD v16 v16_min(v16 a, v16 b) { return _mm512_min_ps(a, b); }
SIMD v16 v16_max(v16 a, v16 b) { return _mm512_max_ps(a, b); }
SIMD v16 v16_floor(v16 a) { return _mm512_roundscale_ps(a, FLOOR_QUIETLY); }
SIMD v16 v16_neg(v16 a)
{
    return v16_of_bits(w16_xor(v16_bits(a), w16_set(0x80000000u)));
}
SIMD v16 v16_abs(v16 a)
{
    return v16_of_bits(w16_and(v16_bits(a), w16_set(0x7fffffffu)));
}

/* ------ floats: choices ------ */

SIMD m16 v16_lt(v16 a, v16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
SIMD m16 v16_ge(v16 a, v16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
SIMD m16 v16_eq(v16 a, v16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
SIMD v16 v16_select(m16 m, v16 a, v16 b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

// clang-format on

/* ------ trees over the lanes ------ */

SIMD float v16_sum(v16 a)
{
    a = v16_add(a, _mm512_shuffle_f32x4(a, a, 0x4e));
    a = v16_add(a, _mm512_shuffle_f32x4(a, a, 0xb1));
    a = v16_add(a, _mm512_permute_ps(a, 0x4e));
    a = v16_add(a, _mm512_permute_ps(a, 0xb1));
    return _mm512_cvtss_f32(a);
}

SIMD float v16_top(v16 a)
{
    a = v16_max(a, _mm512_shuffle_f32x4(a, a, 0x4e));
    a = v16_max(a, _mm512_shuffle_f32x4(a, a, 0xb1));
    a = v16_max(a, _mm512_permute_ps(a, 0x4e));
    a = v16_max(a, _mm512_permute_ps(a, 0xb1));
    return _mm512_cvtss_f32(a);
}

/* ------ the matrix of 16 x 16 lanes ------ */

/* Transpose: rows 4i ..  4i+3 change places with columns within 128 bits; then
 * the four quarters of the rows do. */
SIMD void v16_transpose(v16 x[16])
{
    __m512d d[16];

    UNROLL(8)
    for (int i = 0; i < 16; i += 2) {
        d[i] = _mm512_castps_pd(_mm512_unpacklo_ps(x[i], x[i + 1]));
        d[i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(x[i], x[i + 1]));
    }
    UNROLL(4)
    for (int i = 0; i < 16; i += 4)
        UNROLL(2)
        for (int h = 0; h < 2; h++) {
            x[i + 2 * h] = _mm512_castpd_ps(
                _mm512_unpacklo_pd(d[i + h], d[i + 2 + h]));
            x[i + 2 * h + 1] = _mm512_castpd_ps(
                _mm512_unpackhi_pd(d[i + h], d[i + 2 + h]));
        }
    UNROLL(4)
    for (int c = 0; c < 4; c++) {
        v16 a = _mm512_shuffle_f32x4(x[c], x[4 + c], 0x88);
        v16 b = _mm512_shuffle_f32x4(x[c], x[4 + c], 0xdd);
        v16 p = _mm512_shuffle_f32x4(x[8 + c], x[12 + c], 0x88);
        v16 q = _mm512_shuffle_f32x4(x[8 + c], x[12 + c], 0xdd);

        x[c] = _mm512_shuffle_f32x4(a, p, 0x88);
        x[4 + c] = _mm512_shuffle_f32x4(b, q, 0x88);
        x[8 + c] = _mm512_shuffle_f32x4(a, p, 0xdd);
        x[12 + c] = _mm512_shuffle_f32x4(b, q, 0xdd);
    }
}

#endif

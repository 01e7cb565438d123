/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h in four NEON registers of arm64: a holds lanes 0-3, b
 * 4-7, c 8-11, d 12-15. */
#ifndef LS_KERNEL_K_SIMD_NEON_H
#define LS_KERNEL_K_SIMD_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#include "kernel/k_inline.h"

#define LS_NEON /* for those who count registers */

typedef struct v16 {
    float32x4_t a, b, c, d;
} v16;

typedef struct w16 {
    uint32x4_t a, b, c, d;
} w16;

/* All bits of a lane are set, or none. */
typedef w16 m16;

/* f on all four */
#define ONE(f, x) {f(x.a), f(x.b), f(x.c), f(x.d)}
#define TWO(f, x, y) {f(x.a, y.a), f(x.b, y.b), f(x.c, y.c), f(x.d, y.d)}

// clang-format off

/* ------ words ------ */

SIMD w16 w16_set(uint32_t x)
{
    uint32x4_t a = vdupq_n_u32(x);
    return (w16){a, a, a, a};
}
SIMD w16 w16_at(const uint32_t *p)
{
    return (w16){vld1q_u32(p), vld1q_u32(p + 4), vld1q_u32(p + 8),
                 vld1q_u32(p + 12)};
}
/* Stays where it is written: in the tiles of bf16 gcc would load the next line
 * while this one's registers are still wanted, and spill sums. */
SIMD w16 w16_load(const uint32_t *p)
{
    __asm__ volatile("" ::: "memory");
    return w16_at(p);
}
SIMD void w16_store(uint32_t *p, w16 x)
{
    vst1q_u32(p, x.a);
    vst1q_u32(p + 4, x.b);
    vst1q_u32(p + 8, x.c);
    vst1q_u32(p + 12, x.d);
}
SIMD w16 w16_iota(void)
{
    static const uint32_t lane[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                      8, 9, 10, 11, 12, 13, 14, 15};
    return w16_at(lane);
}
SIMD w16 w16_add(w16 x, w16 y) { return (w16)TWO(vaddq_u32, x, y); }
SIMD w16 w16_sub(w16 x, w16 y) { return (w16)TWO(vsubq_u32, x, y); }
SIMD w16 w16_mul(w16 x, w16 y) { return (w16)TWO(vmulq_u32, x, y); }
SIMD w16 w16_and(w16 x, w16 y) { return (w16)TWO(vandq_u32, x, y); }
SIMD w16 w16_or(w16 x, w16 y) { return (w16)TWO(vorrq_u32, x, y); }
SIMD w16 w16_xor(w16 x, w16 y) { return (w16)TWO(veorq_u32, x, y); }
SIMD w16 w16_shl(w16 x, int n)
{
    uint32x4_t y = vdupq_n_u32((uint32_t)n);
    return (w16){x.a << y, x.b << y, x.c << y, x.d << y};
}
SIMD w16 w16_shr(w16 x, int n)
{
    uint32x4_t y = vdupq_n_u32((uint32_t)n);
    return (w16){x.a >> y, x.b >> y, x.c >> y, x.d >> y};
}
SIMD w16 w16_rotl(w16 x, int n)
{
    return w16_or(w16_shl(x, n), w16_shr(x, 32 - n));
}

/* ------ masks ------ */

SIMD m16 m16_first(int n)
{
    w16 i = w16_iota(), end = w16_set((uint32_t)n);
    return (m16)TWO(vcltq_u32, i, end);
}
SIMD m16 m16_and(m16 x, m16 y) { return w16_and(x, y); }
SIMD m16 m16_or(m16 x, m16 y) { return w16_or(x, y); }
SIMD m16 m16_not(m16 x) { return (m16)ONE(vmvnq_u32, x); }
SIMD uint32x4_t w16_any(w16 x)
{
    return vorrq_u32(vorrq_u32(x.a, x.b), vorrq_u32(x.c, x.d));
}
SIMD int m16_any(m16 x) { return vmaxvq_u32(w16_any(x)) != 0; }
SIMD w16 m16_lanes(void)
{
    static const uint32_t bit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512,
                                     1024, 2048, 4096, 8192, 16384, 32768};
    return w16_at(bit);
}
SIMD unsigned m16_word(m16 x)
{
    return vaddvq_u32(w16_any(w16_and(x, m16_lanes())));
}
SIMD m16 m16_of_word(unsigned x)
{
    w16 word = w16_set(x), bit = m16_lanes();
    return (m16)TWO(vtstq_u32, word, bit);
}

/* ------ floats: lanes in and out ------ */

SIMD v16 v16_set(float x)
{
    float32x4_t a = vdupq_n_f32(x);
    return (v16){a, a, a, a};
}
SIMD v16 v16_zero(void) { return v16_set(0.0f); }
SIMD w16 v16_bits(v16 x) { return (w16)ONE(vreinterpretq_u32_f32, x); }
SIMD v16 v16_of_bits(w16 x) { return (v16)ONE(vreinterpretq_f32_u32, x); }
SIMD v16 v16_load(const float *p)
{
    return (v16){vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8),
                 vld1q_f32(p + 12)};
}
SIMD void v16_store(float *p, v16 x)
{
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
    vst1q_f32(p + 8, x.c);
    vst1q_f32(p + 12, x.d);
}
/* The first n of four; n may be less than none and more than all. */
SIMD float32x4_t v4_load_n(const float *p, int n)
{
    float32x4_t x = vdupq_n_f32(0.0f);
    if (n >= 4) return vld1q_f32(p);
    if (n >= 1) x = vld1q_lane_f32(p, x, 0);
    if (n >= 2) x = vld1q_lane_f32(p + 1, x, 1);
    if (n >= 3) x = vld1q_lane_f32(p + 2, x, 2);
    return x;
}
SIMD void v4_store_n(float *p, float32x4_t x, int n)
{
    if (n >= 4) { vst1q_f32(p, x); return; }
    if (n >= 1) vst1q_lane_f32(p, x, 0);
    if (n >= 2) vst1q_lane_f32(p + 1, x, 1);
    if (n >= 3) vst1q_lane_f32(p + 2, x, 2);
}
SIMD v16 v16_load_n(const float *p, int n)
{
    return (v16){v4_load_n(p, n), v4_load_n(p + 4, n - 4),
                 v4_load_n(p + 8, n - 8), v4_load_n(p + 12, n - 12)};
}
SIMD void v16_store_n(float *p, v16 x, int n)
{
    v4_store_n(p, x.a, n);
    v4_store_n(p + 4, x.b, n - 4);
    v4_store_n(p + 8, x.c, n - 8);
    v4_store_n(p + 12, x.d, n - 12);
}
SIMD w16 w16_load_n(const uint32_t *p, int n)
{
    return v16_bits(v16_load_n((const float *)p, n));
}
SIMD void w16_store_n(uint32_t *p, w16 x, int n)
{
    v16_store_n((float *)p, v16_of_bits(x), n);
}
SIMD float32x4_t v4_gather(const float *p, uint32x4_t k)
{
    int32x4_t i = vreinterpretq_s32_u32(k);
    float32x4_t x = vdupq_n_f32(p[vgetq_lane_s32(i, 0)]);
    x = vld1q_lane_f32(p + vgetq_lane_s32(i, 1), x, 1);
    x = vld1q_lane_f32(p + vgetq_lane_s32(i, 2), x, 2);
    return vld1q_lane_f32(p + vgetq_lane_s32(i, 3), x, 3);
}
SIMD v16 v16_gather(const float *p, w16 k)
{
    return (v16){v4_gather(p, k.a), v4_gather(p, k.b), v4_gather(p, k.c),
                 v4_gather(p, k.d)};
}
SIMD float32x4_t v4_of_int(uint32x4_t x)
{
    return vcvtq_f32_s32(vreinterpretq_s32_u32(x));
}
SIMD uint32x4_t v4_to_int(float32x4_t x)
{
    return vreinterpretq_u32_s32(vcvtq_s32_f32(x));
}
SIMD v16 v16_of_int(w16 x) { return (v16)ONE(v4_of_int, x); }
SIMD w16 v16_to_int(v16 x) { return (w16)ONE(v4_to_int, x); }

/* ------ floats: choices ------ */

SIMD m16 v16_lt(v16 x, v16 y) { return (m16)TWO(vcltq_f32, x, y); }
SIMD m16 v16_ge(v16 x, v16 y) { return (m16)TWO(vcgeq_f32, x, y); }
SIMD m16 v16_eq(v16 x, v16 y) { return (m16)TWO(vceqq_f32, x, y); }
SIMD v16 v16_select(m16 m, v16 x, v16 y)
{
    return (v16){vbslq_f32(m.a, x.a, y.a), vbslq_f32(m.b, x.b, y.b),
                 vbslq_f32(m.c, x.c, y.c), vbslq_f32(m.d, x.d, y.d)};
}

/* ------ floats: arithmetic ------ */

/* Not the instructions fmin and fmax, which have another mind about NaN. */
SIMD float32x4_t v4_min(float32x4_t x, float32x4_t y)
{
    return vbslq_f32(vcltq_f32(x, y), x, y);
}
SIMD float32x4_t v4_max(float32x4_t x, float32x4_t y)
{
    return vbslq_f32(vcgtq_f32(x, y), x, y);
}
SIMD v16 v16_add(v16 x, v16 y) { return (v16)TWO(vaddq_f32, x, y); }
SIMD v16 v16_sub(v16 x, v16 y) { return (v16)TWO(vsubq_f32, x, y); }
SIMD v16 v16_mul(v16 x, v16 y) { return (v16)TWO(vmulq_f32, x, y); }
SIMD v16 v16_div(v16 x, v16 y) { return (v16)TWO(vdivq_f32, x, y); }
SIMD v16 v16_fma(v16 x, v16 y, v16 z)
{
    return (v16){vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b),
                 vfmaq_f32(z.c, x.c, y.c), vfmaq_f32(z.d, x.d, y.d)};
}
SIMD v16 v16_sqrt(v16 x) { return (v16)ONE(vsqrtq_f32, x); }
SIMD v16 v16_min(v16 x, v16 y) { return (v16)TWO(v4_min, x, y); }
SIMD v16 v16_max(v16 x, v16 y) { return (v16)TWO(v4_max, x, y); }
SIMD v16 v16_floor(v16 x) { return (v16)ONE(vrndmq_f32, x); }
SIMD v16 v16_neg(v16 x) { return (v16)ONE(vnegq_f32, x); }
SIMD v16 v16_abs(v16 x) { return (v16)ONE(vabsq_f32, x); }

// clang-format on

/* ------ trees over the lanes ------ */

SIMD float v16_sum(v16 x)
{
    float32x4_t q = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));

    return vpadds_f32(vadd_f32(vget_low_f32(q), vget_high_f32(q)));
}

SIMD float v16_top(v16 x)
{
    float32x4_t q = v4_max(v4_max(x.a, x.c), v4_max(x.b, x.d));

    q = v4_max(q, vextq_f32(q, q, 2));
    q = v4_max(q, vextq_f32(q, q, 1));
    return vgetq_lane_f32(q, 0);
}

#undef ONE
#undef TWO

/* ------ the matrix of 16 x 16 lanes ------ */

SIMD float32x4_t v4_low(float32x4_t x, float32x4_t y)
{
    return vcombine_f32(vget_low_f32(x), vget_low_f32(y));
}

SIMD float32x4_t v4_high(float32x4_t x, float32x4_t y)
{
    return vcombine_f32(vget_high_f32(x), vget_high_f32(y));
}

/* Lane j of x[i] and lane i of x[j] change places, of four lanes. */
SIMD void v4_transpose(float32x4_t x[4])
{
    float32x4_t a = vtrn1q_f32(x[0], x[1]), b = vtrn2q_f32(x[0], x[1]);
    float32x4_t c = vtrn1q_f32(x[2], x[3]), d = vtrn2q_f32(x[2], x[3]);

    x[0] = v4_low(a, c);
    x[1] = v4_low(b, d);
    x[2] = v4_high(a, c);
    x[3] = v4_high(b, d);
}

/* Transpose by blocks of 4 x 4, which change places with those across. */
SIMD void v16_transpose(v16 x[16])
{
    float32x4_t quad[4][4][4]; /* [block row][block column][row] */

    for (int i = 0; i < 16; i++) {
        quad[i / 4][0][i % 4] = x[i].a;
        quad[i / 4][1][i % 4] = x[i].b;
        quad[i / 4][2][i % 4] = x[i].c;
        quad[i / 4][3][i % 4] = x[i].d;
    }
    for (int i = 0; i < 16; i++)
        v4_transpose(quad[i / 4][i % 4]);
    for (int i = 0; i < 16; i++)
        x[i] = (v16){quad[0][i / 4][i % 4], quad[1][i / 4][i % 4],
                     quad[2][i / 4][i % 4], quad[3][i / 4][i % 4]};
}

#endif

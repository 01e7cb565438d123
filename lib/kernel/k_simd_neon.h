/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of k_simd.h in four NEON registers of arm64: a holds lanes 0-3, b
 * 4-7, c 8-11, d 12-15. */
#ifndef LS_KERNEL_K_SIMD_NEON_H
#define LS_KERNEL_K_SIMD_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#include "kernel/k_inline.h"

#define LS_NEON /* for those who count registers */

typedef float32x4_t v_piece;
typedef uint32x4_t w_piece;
typedef int32x4_t i_piece;

#define PIECES(type) type a, b, c, d
#define EACH(DO, f) DO(a, f) DO(b, f) DO(c, f) DO(d, f)
#define ALL(x) {x, x, x, x}
#define P_FMA(x, y, z) vfmaq_f32(z, x, y)
#define P_OF_INT(x) vcvtq_f32_s32(vreinterpretq_s32_u32(x))
#define P_TO_INT(x) vreinterpretq_u32_s32(vcvtq_s32_f32(x))
#include "kernel/k_lanes.h"

// clang-format off

/* ------ lanes in and out ------ */

/* Stays where it is written: in the tiles of bf16 gcc would load the next line
 * while this one's registers are still wanted, and spill sums. */
SIMD w16 w16_load(const uint32_t *p)
{
    __asm__ volatile("" ::: "memory");
    return w16_at(p);
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

/* ------ masks ------ */

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
LANES_2(w16_share, m16, w16, vtstq_u32)
SIMD m16 m16_of_word(unsigned x) { return w16_share(w16_set(x), m16_lanes()); }

/* ------ floats ------ */

/* Not the instructions fmin and fmax, which have another mind about NaN. */
SIMD float32x4_t v4_min(float32x4_t x, float32x4_t y)
{
    return vbslq_f32(vcltq_f32(x, y), x, y);
}
SIMD float32x4_t v4_max(float32x4_t x, float32x4_t y)
{
    return vbslq_f32(vcgtq_f32(x, y), x, y);
}
SIMD v16 v16_select(m16 m, v16 x, v16 y)
{
    return (v16){vbslq_f32(m.a, x.a, y.a), vbslq_f32(m.b, x.b, y.b),
                 vbslq_f32(m.c, x.c, y.c), vbslq_f32(m.d, x.d, y.d)};
}
LANES_2(v16_min, v16, v16, v4_min)
LANES_2(v16_max, v16, v16, v4_max)
LANES_1(v16_sqrt, v16, v16, vsqrtq_f32)
LANES_1(v16_floor, v16, v16, vrndmq_f32)
LANES_1(v16_abs, v16, v16, vabsq_f32)

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

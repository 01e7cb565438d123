/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers. */
#include "numbers.h"

/* ------ random numbers ------ */

/* The threefry2x32 block of a key and a counter, 20 rounds. */
void threefry(const f32 key[2], uint64_t counter, uint32_t x[2])
{
    static const int turn[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};

    x[0] = (uint32_t)(counter >> 32) + k[0];
    x[1] = (uint32_t)counter + k[1];
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            int r = turn[i % 2][j];

            x[0] += x[1];
            x[1] = (x[1] << r | x[1] >> (32 - r)) ^ x[0];
        }
        x[0] += k[(i + 1) % 3];
        x[1] += k[(i + 2) % 3] + (uint32_t)i + 1;
    }
}

uint32_t random_bits(const f32 key[2], uint64_t place)
{
    uint32_t x[2];

    threefry(key, place, x);
    return x[0] ^ x[1];
}

f32 from_0_to_1(uint32_t bits)
{
    return f_sub(bits >> 9 | 0x3f800000u, F(1.0f));
}

f32 uniform_of(uint32_t bits, f32 low, f32 high)
{
    f32 x = f_fma(from_0_to_1(bits), f_sub(high, low), low);

    return f_max(low, x);
}

f32 erf_inverse(f32 x)
{
    static const float centre[] = {
        0x1.e2cb1p-26f, 0x1.70966cp-22f, -0x1.d8e6aep-19f, -0x1.26b582p-18f,
        0x1.ca65b6p-13f, -0x1.48a81p-10f, -0x1.11c9dep-8f, 0x1.f91ec6p-3f,
        0x1.805c5ep+0f};
    static const float tail[] = {
        -0x1.a3e136p-13f, 0x1.a76ad6p-14f, 0x1.61b8e4p-10f, -0x1.e17bcep-9f,
        0x1.7824f6p-8f, -0x1.f38baep-8f, 0x1.354afcp-7f, 0x1.006db6p+0f,
        0x1.6a9efcp+1f};
    f32 w = f_neg(e_log1p(f_mul(x, f_neg(x))));

    if (f_abs(x) == F(1.0f))
        return f_mul(INF32, x);
    if (f_lt(w, F(5.0f)))
        return f_mul(horner(f_sub(w, F(2.5f)), centre, 9), x);
    return f_mul(horner(f_sub(f_sqrt(w), F(3.0f)), tail, 9), x);
}

static f32 normal_of(f32 u) { return f_mul(F(0x1.6a09e6p+0f), erf_inverse(u)); }

f32 truncated_of(uint32_t bits)
{
    const float edge = 0x1.e8b43p-1f, end = 0x1.fffffep+0f;

    return clamp(normal_of(uniform_of(bits, F(-edge), F(edge))), -end, end);
}

f32 normal_of_bits(uint32_t bits)
{
    f32 x = f_fma(from_0_to_1(bits), F(2.0f), F(-0x1.fffffep-1f));

    return normal_of(f_max(F(-0x1.fffffep-1f), x));
}

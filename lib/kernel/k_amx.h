/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix unit: eight tiles of 16 lines of 16 words.  Tiles 0 to 3 are sums in
 * f32, 4 and 5 parts of A, 6 and 7 parts of B in words.  A word here is two
 * bf16 numbers that follow each other along K, the first in its lower half; the
 * lines of A are rows, those of B are steps of two along K.
 *
 *     amx_multiply(u, c, a, b): tile c += tile a times tile b, a step of the
 *         contract of bits for bf16 (kernel/product.h) for each of its elements
 *     amx_lines(u, t, p, stride): tile t is 16 lines of 32 numbers of bf16,
 *         `stride` numbers apart, wherever they begin
 *
 * With AMX (v4_amx.c) these are its instructions; else they are the same in
 * vectors of this level, which wants the mode where denormals are zeros. */
#ifndef LS_KERNEL_K_AMX_H
#define LS_KERNEL_K_AMX_H

#include <stdint.h>

#include "kernel/k_simd.h"
#include "kernel/k_tile.h"

enum { AMX_LINES = 16, AMX_TILE = 256, AMX_SIDE = 32 };

_Static_assert(AMX_TILE == 16 * AMX_LINES && AMX_SIDE == 2 * AMX_LINES &&
               (int)AMX_SIDE == (int)LS__BF16_STEP, "two tiles are a step");

#if defined(__AMX_BF16__) && defined(__AMX_TILE__)

typedef struct amx_tiles {
    char nothing; /* the thread has it */
} amx_tiles;

/* Palette 1: all eight tiles are whole. */
typedef struct amx_shape {
    uint8_t palette, start, zero[14];
    uint16_t bytes[16];
    uint8_t lines[16];
} amx_shape;

static const amx_shape amx_whole __attribute__((aligned(64))) = {
    1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64},
    {16, 16, 16, 16, 16, 16, 16, 16}};

/* Take and release the thread's tiles: only between these two are they in use,
 * so that a thread that switches or ends carries none. */
#define AMX_DO(u, instruction) \
    do { \
        (void)(u); \
        instruction; \
    } while (0)
#define amx_take(u) AMX_DO(u, _tile_loadconfig(&amx_whole))
#define amx_give(u) AMX_DO(u, _tile_release())
#define amx_clear(u, t) AMX_DO(u, _tile_zero(t))
#define amx_load(u, t, p, stride) AMX_DO(u, _tile_loadd(t, p, 4 * (stride)))
#define amx_store(u, t, p, stride) AMX_DO(u, _tile_stored(t, p, 4 * (stride)))
#define amx_operand amx_load
#define amx_lines(u, t, p, stride) AMX_DO(u, _tile_loadd(t, p, 2 * (stride)))
#define amx_multiply(u, c, a, b) AMX_DO(u, _tile_dpbf16ps(c, a, b))

/* GCC 12 does not know that a load reads memory: what was stored before has to
 * be there. */
#define AMX_READS __asm__ volatile("" ::: "memory")

/* 32 numbers of bf16 as 16 words; 16 of them as a word each. */
SIMD void amx_words_store(uint16_t *p, w16 words)
{
    _mm512_storeu_si512(p, words);
}

SIMD w16 amx_halves(const uint16_t *p)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
}

/* Inlined, with constants as arguments, where the unit is fast. */
#define AMX SIMD
#define AMX_UNROLL UNROLL(16)

#else

/* Words of operands are kept as the two numbers that they are. */
typedef struct amx_tiles {
    float sum[4][AMX_TILE];
    float even[4][AMX_TILE], odd[4][AMX_TILE]; /* of tiles 4 to 7 */
} amx_tiles;

#define AMX_READS ((void)0)
#define AMX static
#define AMX_UNROLL

SIMD void amx_words_store(uint16_t *p, w16 words)
{
    uint32_t word[16];

    w16_store(word, words);
    memcpy(p, word, sizeof word);
}

SIMD w16 amx_halves(const uint16_t *p)
{
    uint32_t word[16];

    for (int i = 0; i < 16; i++)
        word[i] = p[i];
    return w16_load(word);
}

SIMD void amx_take(amx_tiles *u)
{
    (void)u;
}

SIMD void amx_give(amx_tiles *u)
{
    (void)u;
}

static void amx_clear(amx_tiles *u, int t)
{
    memset(u->sum[t], 0, sizeof u->sum[t]);
}

static void amx_load(amx_tiles *u, int t, const float *p, int64_t stride)
{
    for (int64_t l = 0; l < AMX_LINES; l++)
        v16_store(u->sum[t] + 16 * l, v16_load(p + l * stride));
}

static void amx_store(const amx_tiles *u, int t, float *p, int64_t stride)
{
    for (int64_t l = 0; l < AMX_LINES; l++)
        v16_store(p + l * stride, v16_load(u->sum[t] + 16 * l));
}

static void amx_operand(amx_tiles *u, int t, const uint32_t *p, int64_t stride)
{
    const w16 upper = w16_set(0xffff0000u);

    for (int64_t l = 0; l < AMX_LINES; l++) {
        w16 w = w16_load(p + l * stride);

        v16_store(u->even[t - 4] + 16 * l, v16_of_bits(w16_shl(w, 16)));
        v16_store(u->odd[t - 4] + 16 * l, v16_of_bits(w16_and(w, upper)));
    }
}

SIMD void amx_lines(amx_tiles *u, int t, const uint16_t *p, int64_t stride)
{
    uint32_t word[AMX_TILE];

    for (int64_t l = 0; l < AMX_LINES; l++)
        memcpy(word + 16 * l, p + l * stride, 16 * sizeof *word);
    amx_operand(u, t, word, 16);
}

/* Four lines at a time: eight chains hide each other's latency. */
static void amx_multiply(amx_tiles *u, int c, int a, int b)
{
    enum { LINES = 4 };

    for (int64_t i = 0; i < AMX_LINES; i += LINES) {
        const float *even = u->even[a - 4] + 16 * i;
        const float *odd = u->odd[a - 4] + 16 * i;
        v16 x[LINES], y[LINES];

        UNROLL(4)
        for (int r = 0; r < LINES; r++)
            x[r] = y[r] = v16_zero();
        for (int64_t q = 0; q < 16; q++) {
            v16 e = v16_load(u->even[b - 4] + 16 * q);
            v16 o = v16_load(u->odd[b - 4] + 16 * q);

            UNROLL(4)
            for (int r = 0; r < LINES; r++) {
                x[r] = bf16_fma(v16_set(even[16 * r + q]), e, x[r]);
                y[r] = bf16_fma(v16_set(odd[16 * r + q]), o, y[r]);
            }
        }
        UNROLL(4)
        for (int r = 0; r < LINES; r++) {
            float *sum = u->sum[c] + 16 * (i + r);

            v16_store(sum, v16_add(v16_load(sum), v16_add(x[r], y[r])));
        }
    }
}

#endif

/* ------ blocks of two by two tiles of sums ------ */

AMX void amx_clear_block(amx_tiles *u)
{
    amx_clear(u, 0);
    amx_clear(u, 1);
    amx_clear(u, 2);
    amx_clear(u, 3);
}

AMX void amx_load_block(amx_tiles *u, const float *from, int64_t row)
{
    AMX_READS;
    amx_load(u, 0, from, row);
    amx_load(u, 1, from + 16, row);
    amx_load(u, 2, from + 16 * row, row);
    amx_load(u, 3, from + 16 * row + 16, row);
}

AMX void amx_store_block(amx_tiles *u, float *to, int64_t row)
{
    amx_store(u, 0, to, row);
    amx_store(u, 1, to + 16, row);
    amx_store(u, 2, to + 16 * row, row);
    amx_store(u, 3, to + 16 * row + 16, row);
}

/* Load 32 rows, or columns, of an operand: two tiles, one after the other. */
AMX void amx_rows(amx_tiles *u, const uint32_t *a)
{
    amx_operand(u, 4, a, 16);
    amx_operand(u, 5, a + AMX_TILE, 16);
}

AMX void amx_columns(amx_tiles *u, const uint32_t *b)
{
    amx_operand(u, 6, b, 16);
    amx_operand(u, 7, b + AMX_TILE, 16);
}

AMX void amx_multiply_block(amx_tiles *u)
{
    amx_multiply(u, 0, 4, 6);
    amx_multiply(u, 1, 4, 7);
    amx_multiply(u, 2, 5, 6);
    amx_multiply(u, 3, 5, 7);
}

#endif

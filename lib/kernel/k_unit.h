/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix unit: eight tiles of 16 lines of 16 words, of which 0 to 3 are sums
 * in f32, 4 and 5 parts of A and 6 and 7 parts of B in words.  A word here is
 * two bf16 numbers that follow each other along K, the first in its lower half;
 * the lines of A are rows, those of B are steps of two along K.
 *
 *     unit_multiply(u, c, a, b): tile c += tile a times tile b, a step of the
 *         contract of bits for bf16 (kernel/product.h) for each of its elements
 *     unit_lines(u, t, p, stride): tile t is 16 lines of 32 numbers of bf16,
 *         `stride` numbers apart, wherever they begin
 *
 * With AMX (v4_amx.c) these are its instructions; else they are the same in
 * vectors of this level, which wants the mode where denormals are zeros. */
#ifndef LS_KERNEL_K_UNIT_H
#define LS_KERNEL_K_UNIT_H

#include <stdint.h>

#include "kernel/k_simd.h"
#include "kernel/k_tile.h"

enum { UNIT_LINES = 16, UNIT_TILE = 256, UNIT_SIDE = 32 };

#if defined(__AMX_BF16__) && defined(__AMX_TILE__)

typedef struct unit {
    char nothing; /* the thread has it */
} unit;

/* Palette 1: all eight tiles are whole. */
typedef struct unit_shape {
    uint8_t palette, start, zero[14];
    uint16_t bytes[16];
    uint8_t lines[16];
} unit_shape;

static const unit_shape unit_whole
    __attribute__((aligned(64))) = {1,
                                    0,
                                    {0},
                                    {64, 64, 64, 64, 64, 64, 64, 64},
                                    {16, 16, 16, 16, 16, 16, 16, 16}};

/* Tiles are the thread's: they are there between these two alone, so that a
 * thread which switches or ends carries none. */
#define UNIT_DO(u, instruction) \
    do { \
        (void)(u); \
        instruction; \
    } while (0)
#define unit_take(u) UNIT_DO(u, _tile_loadconfig(&unit_whole))
#define unit_give(u) UNIT_DO(u, _tile_release())
#define unit_clear(u, t) UNIT_DO(u, _tile_zero(t))
#define unit_load(u, t, p, stride) UNIT_DO(u, _tile_loadd(t, p, 4 * (stride)))
#define unit_store(u, t, p, stride) UNIT_DO(u, _tile_stored(t, p, 4 * (stride)))
#define unit_operand unit_load
#define unit_lines(u, t, p, stride) UNIT_DO(u, _tile_loadd(t, p, 2 * (stride)))
#define unit_multiply(u, c, a, b) UNIT_DO(u, _tile_dpbf16ps(c, a, b))

/* GCC 12 does not know that a load reads memory: what was stored before has to
 * be there. */
#define UNIT_READS __asm__ volatile("" ::: "memory")

/* What is inlined, with constants as arguments, where the unit is fast. */
#define UNIT SIMD
#define UNIT_UNROLL UNROLL(16)

#else

/* Words of operands are kept as the two numbers that they are. */
typedef struct unit {
    float sum[4][UNIT_TILE];
    float even[4][UNIT_TILE], odd[4][UNIT_TILE]; /* of tiles 4 to 7 */
} unit;

#define UNIT_READS ((void)0)
#define UNIT static
#define UNIT_UNROLL

SIMD void unit_take(unit *u)
{
    (void)u;
}

SIMD void unit_give(unit *u)
{
    (void)u;
}

static void unit_clear(unit *u, int t)
{
    memset(u->sum[t], 0, sizeof u->sum[t]);
}

static void unit_load(unit *u, int t, const float *p, int64_t stride)
{
    for (int64_t l = 0; l < UNIT_LINES; l++)
        v16_store(u->sum[t] + 16 * l, v16_load(p + l * stride));
}

static void unit_store(const unit *u, int t, float *p, int64_t stride)
{
    for (int64_t l = 0; l < UNIT_LINES; l++)
        v16_store(p + l * stride, v16_load(u->sum[t] + 16 * l));
}

static void unit_operand(unit *u, int t, const uint32_t *p, int64_t stride)
{
    const w16 upper = w16_set(0xffff0000u);

    for (int64_t l = 0; l < UNIT_LINES; l++) {
        w16 w = w16_load(p + l * stride);

        v16_store(u->even[t - 4] + 16 * l, v16_of_bits(w16_shl(w, 16)));
        v16_store(u->odd[t - 4] + 16 * l, v16_of_bits(w16_and(w, upper)));
    }
}

SIMD void unit_lines(unit *u, int t, const uint16_t *p, int64_t stride)
{
    uint32_t word[UNIT_TILE];

    for (int64_t l = 0; l < UNIT_LINES; l++)
        memcpy(word + 16 * l, p + l * stride, 16 * sizeof *word);
    unit_operand(u, t, word, 16);
}

/* Four lines at a time: eight chains hide each other's latency. */
static void unit_multiply(unit *u, int c, int a, int b)
{
    enum { LINES = 4 };

    for (int64_t i = 0; i < UNIT_LINES; i += LINES) {
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

UNIT void unit_clear_block(unit *u)
{
    unit_clear(u, 0);
    unit_clear(u, 1);
    unit_clear(u, 2);
    unit_clear(u, 3);
}

UNIT void unit_load_block(unit *u, const float *from, int64_t row)
{
    UNIT_READS;
    unit_load(u, 0, from, row);
    unit_load(u, 1, from + 16, row);
    unit_load(u, 2, from + 16 * row, row);
    unit_load(u, 3, from + 16 * row + 16, row);
}

UNIT void unit_store_block(unit *u, float *to, int64_t row)
{
    unit_store(u, 0, to, row);
    unit_store(u, 1, to + 16, row);
    unit_store(u, 2, to + 16 * row, row);
    unit_store(u, 3, to + 16 * row + 16, row);
}

/* Of 32 rows, or columns, of an operand: two tiles, one after the other. */
UNIT void unit_rows(unit *u, const uint32_t *a)
{
    unit_operand(u, 4, a, 16);
    unit_operand(u, 5, a + UNIT_TILE, 16);
}

UNIT void unit_columns(unit *u, const uint32_t *b)
{
    unit_operand(u, 6, b, 16);
    unit_operand(u, 7, b + UNIT_TILE, 16);
}

UNIT void unit_multiply_block(unit *u)
{
    unit_multiply(u, 0, 4, 6);
    unit_multiply(u, 1, 4, 7);
    unit_multiply(u, 2, 5, 6);
    unit_multiply(u, 3, 5, 7);
}

#endif

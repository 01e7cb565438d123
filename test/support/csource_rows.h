/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that C source of a model is asked in csource_rows.c and a predictor
 * in test_csource.c, ASKED at a time, and the hash of what comes out. */
#ifndef TEST_CSOURCE_ROWS_H
#define TEST_CSOURCE_ROWS_H

#include <stdint.h>

enum { ASKED = 40 };

typedef struct asking {
    uint32_t state; /* of what is drawn */
    uint64_t hash;  /* FNV-1a of the outputs, the first bits of each last */
} asking;

static const asking first_asking = {1, 14695981039346656037u};

static uint32_t next_draw(asking *a)
{
    return a->state = a->state * 1664525u + 1013904223u;
}

/* A number from -2 to 2; of four one is 0, as behind relu. */
static float draw_float(asking *a)
{
    uint32_t x = next_draw(a);

    return x >> 30 ? (float)(int32_t)(x >> 8) / 4194304 - 2 : 0;
}

static int32_t draw_index(asking *a, int from, int below)
{
    return from + (int32_t)((next_draw(a) >> 8) % (uint32_t)(below - from));
}

/* The bits of y; a NaN's sign is the processor's, so it has those of roots. */
static uint32_t bits_of(float y)
{
    union {
        float f;
        uint32_t u;
    } word;

    word.f = y;
    return y != y ? 0x7fc00000 : word.u;
}

static void take_output(asking *a, float y)
{
    a->hash = (a->hash ^ bits_of(y)) * 1099511628211u;
}

#endif

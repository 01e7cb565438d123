/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes that operators are tried on: chosen ones, with ones, primes and
 * 2^n +- 1, and as many of each rank with extents of 1 and primes. */
#ifndef TEST_OP_SAMPLES_H
#define TEST_OP_SAMPLES_H

#include "lockstep.h"

#include <string.h>

typedef struct sample {
    int64_t rows;
    int rank;
    int64_t dim[3];
} sample;

/* clang-format off */
static const sample chosen[] = {
    {1, 0, {0}}, {17, 0, {0}}, {257, 0, {0}},
    {3, 1, {1}}, {5, 1, {2}}, {1, 1, {3}}, {7, 1, {5}}, {2, 1, {7}},
    {9, 1, {8}}, {3, 1, {15}}, {4, 1, {16}}, {5, 1, {17}}, {13, 1, {31}},
    {1, 1, {32}}, {2, 1, {33}}, {3, 1, {63}}, {1, 1, {64}}, {2, 1, {65}},
    {3, 1, {127}}, {1, 1, {128}}, {2, 1, {129}}, {2, 1, {255}},
    {3, 1, {257}}, {255, 1, {3}}, {256, 1, {5}}, {257, 1, {2}},
    {513, 1, {17}}, {300, 1, {70}}, {600, 1, {1}}, {1, 1, {4095}},
    {2, 1, {4097}}, {1, 1, {8191}}, {1, 1, {8193}},
    {1, 2, {1, 1}}, {2, 2, {1, 8}}, {3, 2, {2, 6}}, {2, 2, {3, 4}},
    {5, 2, {2, 1}}, {1, 2, {5, 12}}, {2, 2, {7, 15}}, {3, 2, {8, 16}},
    {1, 2, {15, 33}}, {2, 2, {16, 24}}, {2, 2, {17, 32}}, {1, 2, {31, 9}},
    {1, 2, {64, 64}}, {2, 2, {65, 20}}, {5, 2, {13, 30}}, {1, 2, {127, 10}},
    {3, 2, {129, 6}}, {1, 2, {257, 8}}, {2, 2, {300, 4}}, {171, 2, {3, 2}},
    {1, 2, {2, 4097}},
    {1, 3, {1, 1, 1}}, {2, 3, {2, 3, 4}}, {3, 3, {5, 1, 7}},
    {1, 3, {16, 17, 3}}, {7, 3, {3, 11, 13}}, {2, 3, {8, 8, 1}},
    {1, 3, {2, 300, 2}}, {1, 3, {4, 5, 65}}, {2, 3, {7, 9, 17}},
    {2, 3, {13, 6, 33}}};
/* clang-format on */
enum { CHOSEN = sizeof chosen / sizeof *chosen, OF_RANK = 200 };
enum { SAMPLES = CHOSEN + 4 * OF_RANK };

static sample samples[SAMPLES];

static void make_samples(void)
{
    static const int64_t extents[] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23};
    static const int64_t at_most[] = {1, 10, 8, 5}; /* of them, by rank */
    int32_t drawn[4];

    memcpy(samples, chosen, sizeof chosen);
    for (int i = CHOSEN; i < SAMPLES; i++) {
        sample *s = &samples[i];

        s->rank = (i - CHOSEN) / OF_RANK;
        ls_random_randint(ls_key_new(i), 0, 4, 0, 1 << 20, drawn);
        s->rows = s->rank ? 1 + drawn[3] % 7 : 1 + (i - CHOSEN);
        for (int k = 0; k < s->rank; k++)
            s->dim[k] = extents[drawn[k] % at_most[s->rank]];
    }
}

/* The chosen shapes are tried with every kind of an operator, the others with
 * one each. */
static bool has_turn(int i, int kind, int kinds)
{
    return i < CHOSEN || i % kinds == kind;
}

#endif

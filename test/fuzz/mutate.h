/* SPDX-License-Identifier: BSD-3-Clause */
/* Feeds targets whose corpus is made, not kept: built plainly a target is a
 * program that feeds itself a good input and thousands of damaged ones, the
 * same each time. */
#ifndef TEST_FUZZ_MUTATE_H
#define TEST_FUZZ_MUTATE_H

#include "file/seal.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy on the heap, so that its end is the block's. */
static inline char *copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    return copy;
}

/* Make a seal right, where there is one, so that damage gets past it. */
static inline void reseal(char *bytes, size_t n, size_t size)
{
    char *digits = ls__seal_find(bytes, n);

    if (!digits)
        return;
    memcpy(digits, LS__SEAL_OPEN, sizeof LS__SEAL_OPEN - 1);
    ls__seal_close(digits, ls__crc32(0, bytes, size));
}

static inline size_t below(size_t n)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return n ? (state >> 33) % n : 0;
}

/* Flip a bit, write a byte that JSON cares for, cut, or repeat a part. */
static inline size_t mutate(uint8_t *p, size_t n, size_t room)
{
    static const char bytes[] = "{}[]\",:0123456789-.eE\\ua \0\xff";
    size_t at = below(n), part = below(n - at < 40 ? n - at : 40);

    switch (below(4)) {
    case 0: p[at] ^= (uint8_t)(1 << below(8)); return n;
    case 1: p[at] = (uint8_t)bytes[below(sizeof bytes)]; return n;
    case 2: memmove(p + at, p + at + part, n - at - part); return n - part;
    default:
        if (n + part > room)
            return n;
        memmove(p + at + part, p + at, n - at);
        return n + part;
    }
}

/* One to four changes each time. */
static inline void feed(const void *good, size_t size, int times)
{
    enum { ROOM = 1 << 14 };
    static uint8_t input[ROOM];

    LLVMFuzzerTestOneInput(good, size);
    for (int i = 0; i < times; i++) {
        size_t n = size;

        memcpy(input, good, size);
        for (size_t k = 0; k <= below(4) && n > 0; k++)
            n = mutate(input, n, ROOM);
        LLVMFuzzerTestOneInput(input, n);
    }
}

#endif

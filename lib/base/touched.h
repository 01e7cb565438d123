/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks of an array's blocks: those that may hold anything but zeros, and those
 * that may hold a large number (2^64 or more in size, or NaN).  An untouched
 * block holds zeros: there is nothing to clear there, and nothing to add up. */
#ifndef LS_BASE_TOUCHED_H
#define LS_BASE_TOUCHED_H

#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LS__TOUCHED_BLOCK = 4096 }; /* floats */

typedef struct ls__touched {
    float *array;
    unsigned char *block; /* [float / LS__TOUCHED_BLOCK] 1: it is touched */
    unsigned char *large; /* likewise, 1: it may hold a large number */
} ls__touched;

/* n floats at x, which lies in the array, are no longer zeros; small: none of
 * them is large. */
static inline void ls__touched_set(const ls__touched *m, const float *x,
                                   int64_t n, bool small)
{
    int64_t first = (x - m->array) / LS__TOUCHED_BLOCK;
    int64_t last = (x - m->array + n - 1) / LS__TOUCHED_BLOCK;

    LS__ASSERT(x >= m->array && n >= 0);
    for (int64_t i = first; i <= last; i++) {
        m->block[i] = 1;
        m->large[i] |= !small;
    }
}

/* Make n floats at x zeros.  A block that lies among them from its beginning to
 * its end is untouched again. */
static inline void ls__touched_clear(const ls__touched *m, float *x, int64_t n)
{
    for (int64_t i = x - m->array, last = i + n, end; i < last; i = end) {
        int64_t block = i / LS__TOUCHED_BLOCK;

        end = (block + 1) * LS__TOUCHED_BLOCK;
        end = end < last ? end : last;
        if (!m->block[block])
            continue;
        memset(m->array + i, 0, (size_t)(end - i) * sizeof *x);
        m->block[block] = end - i < LS__TOUCHED_BLOCK;
    }
}

#endif

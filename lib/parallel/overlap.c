/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlapping pieces of memory, found by one sort. */
#include "parallel/overlap.h"
#include "base/assert.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
    const ls__byte_range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* If any two overlap, then two neighbours do: what lies between the beginnings
 * of the two begins within the first. */
int ls__pieces_sort(ls__byte_range *piece, int n)
{
    if (n > 1)
        qsort(piece, (size_t)n, sizeof *piece, by_place);
    for (int i = 0; i + 1 < n; i++)
        LS__ASSERT(piece[i].first < piece[i].last);
    for (int i = 0; i + 1 < n; i++)
        if (piece[i].last > piece[i + 1].first)
            return i;
    return -1;
}

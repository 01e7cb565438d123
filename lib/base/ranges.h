/* SPDX-License-Identifier: BSD-3-Clause */
/* Some ranges of an array, in rising order, that do not touch. */
#ifndef LS_BASE_RANGES_H
#define LS_BASE_RANGES_H

#include "base/assert.h"
#include "base/range.h"

typedef struct ls__ranges {
    int count;
    ls__range *run;
} ls__ranges;

/* Add a range that begins where the last one begins or later. */
static inline void ls__ranges_add(ls__ranges *r, ls__range more)
{
    LS__ASSERT(more.first < more.last &&
               (r->count == 0 || more.first >= r->run[r->count - 1].first));
    if (r->count > 0 && more.first <= r->run[r->count - 1].last)
        r->run[r->count - 1].last = more.last;
    else
        r->run[r->count++] = more;
}

/* Go to the next run within a range: *at is the last one, and before the first
 * {within.first, within.first}.  False: there is no other. */
static inline bool ls__ranges_next(const ls__ranges *r, ls__range within,
                                   ls__range *at)
{
    for (int i = 0; i < r->count; i++) {
        ls__range some = ls__range_common(r->run[i], within);

        if (some.first < some.last && some.first >= at->last) {
            *at = some;
            return true;
        }
    }
    return false;
}

/* The number of elements. */
static inline int64_t ls__ranges_sum(const ls__ranges *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->count; i++)
        sum += r->run[i].last - r->run[i].first;
    return sum;
}

#endif

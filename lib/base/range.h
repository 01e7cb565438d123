/* SPDX-License-Identifier: BSD-3-Clause */
/* Cutting a row of things into parts that follow each other. */
#ifndef LS_BASE_RANGE_H
#define LS_BASE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* `count` things from `first` on, out of `of`: the devices of an experiment
 * that run in this process. */
typedef struct ls__span {
    int first, count, of;
} ls__span;

static inline ls__span ls__span_all(int n)
{
    return (ls__span){0, n, n};
}

static inline bool ls__span_is_all(ls__span s)
{
    return s.count == s.of;
}

static inline bool ls__span_has(ls__span s, int i)
{
    return i >= s.first && i < s.first + s.count;
}

/* Elements first .. last-1 of an array. */
typedef struct ls__range {
    int64_t first, last;
} ls__range;

/* The intersection; empty when nothing lies in both. */
static inline ls__range ls__range_common(ls__range a, ls__range b)
{
    int64_t first = a.first > b.first ? a.first : b.first;
    int64_t last = a.last < b.last ? a.last : b.last;

    return (ls__range){first, last < first ? first : last};
}

/* Part `part` of `parts` of a range that begins at a multiple of unit.  Borders
 * are multiples of unit, and sizes differ by one unit at most.  A part is empty
 * when there are fewer units than parts. */
ls__range ls__range_part(ls__range all, int parts, int part, int64_t unit);

#endif

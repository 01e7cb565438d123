/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections, and everybody's parts of them. */
#include "reduce/owned.h"
#include "base/assert.h"
#include "reduce/reduce.h"

#include <string.h>

enum {
    MOST = 64, /* sections: what is left at the end is small beside all */
    FEWEST = 8 /* blocks of a part, 128 KB: a message that is worth it */
};

int ls__sections(int64_t floats, int ranks)
{
    int64_t n;

    LS__ASSERT(floats >= 0 && ranks >= 1);
    if (ranks == 1)
        return 1;
    n = ls__reduce_blocks(floats) / ((int64_t)FEWEST * ranks);
    if (n < 1)
        return 1;
    return n < MOST ? (int)n : MOST;
}

ls__range ls__section(int64_t floats, int ranks, int section)
{
    return ls__range_part((ls__range){0, floats}, ls__sections(floats, ranks),
                          section, LS__REDUCE_BLOCK);
}

/* The first parts are the larger ones, so each section begins with another
 * process. */
ls__range ls__owned_part(const ls__owned *o, int section)
{
    LS__ASSERT(o->rank >= 0 && o->rank < o->ranks);
    return ls__range_part(ls__section(o->floats, o->ranks, section), o->ranks,
                          (o->rank + section) % o->ranks, LS__REDUCE_BLOCK);
}

int64_t ls__owned_floats(const ls__owned *o)
{
    int64_t sum = 0;

    for (ls__stretch s = {0}; ls__owned_next(o, &s);)
        sum += s.range.last - s.range.first;
    return sum;
}

bool ls__owned_next(const ls__owned *o, ls__stretch *s)
{
    if (s->section >= ls__sections(o->floats, o->ranks))
        return false;
    ls__range before = s->range;

    s->at += before.last - before.first;
    s->range = ls__owned_part(o, s->section++);
    LS__ASSERT(s->range.first >= before.last && s->range.last <= o->floats &&
               (s->range.first % LS__REDUCE_BLOCK == 0 ||
                s->range.first == s->range.last));
    return true;
}

ls__range ls__stretch_common(const ls__stretch *s, ls__range mine)
{
    int64_t n = s->range.last - s->range.first, shift = s->range.first - s->at;
    ls__range r = ls__range_common(mine, (ls__range){s->at, s->at + n});

    return (ls__range){r.first + shift, r.last + shift};
}

void ls__owned_take(const ls__owned *o, const float *layout, float *compact)
{
    for (ls__stretch s = {0}; ls__owned_next(o, &s);)
        memcpy(compact + s.at, layout + s.range.first,
               (size_t)(s.range.last - s.range.first) * sizeof *layout);
}

void ls__owned_put(const ls__owned *o, const float *compact, float *layout)
{
    for (ls__stretch s = {0}; ls__owned_next(o, &s);)
        memcpy(layout + s.range.first, compact + s.at,
               (size_t)(s.range.last - s.range.first) * sizeof *layout);
}

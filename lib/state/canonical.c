/* SPDX-License-Identifier: BSD-3-Clause */
/* See canonical.h. */
#include "state/canonical.h"
#include "base/assert.h"
#include "base/range.h"

#include <string.h>

void ls__canonical(const void *from, int64_t n, uint32_t *to)
{
    memcpy(to, from, (size_t)n * sizeof *to);
    for (int64_t i = 0; i < n; i++) {
        uint32_t size = to[i] & 0x7fffffff;

        to[i] = size > 0x7f800000   ? 0x7fc00000
                : size < 0x00800000 ? to[i] & 0x80000000
                                    : to[i];
    }
}

void ls__canonical_part(const ls__params *layout, const float *from,
                        int64_t first, int64_t n, uint32_t *to)
{
    const ls__slot *s = ls__params_at(layout, first);
    const ls__slot *end = layout->slot + layout->count;
    ls__range all = {first, first + n};

    LS__ASSERT(n >= 0 && all.last <= layout->floats);
    ls__canonical(from, n, to);
    for (; s < end && s->offset < all.last; s++) {
        int64_t next = s + 1 < end ? s[1].offset : layout->floats;
        ls__range gap = ls__range_common(
            (ls__range){s->offset + s->size, next}, all);

        if (gap.first < gap.last)
            memset(to + (gap.first - first), 0,
                   (size_t)(gap.last - gap.first) * sizeof *to);
    }
}

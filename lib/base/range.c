/* SPDX-License-Identifier: BSD-3-Clause */
/* Equal parts of a range, in whole units. */
#include "base/range.h"
#include "base/assert.h"

ls__range ls__range_part(ls__range all, int parts, int part, int64_t unit)
{
    int64_t n = all.last - all.first, units, each, more, begin, end;

    LS__ASSERT(n >= 0 && part >= 0 && part < parts && unit >= 1);
    if (parts == 1) /* divisions are a good part of a small step */
        return all;
    LS__ASSERT(all.first % unit == 0 || n == 0);
    units = n / unit + (n % unit != 0);
    each = units / parts;
    more = units % parts;
    begin = part * each + (part < more ? part : more);
    end = begin + each + (part < more);

    /* Compared in units, because the end of the last one may overflow. */
    return (ls__range){begin < units ? all.first + begin * unit : all.last,
                       end < units ? all.first + end * unit : all.last};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Equal parts of a range, in whole units. */
#include "base/range.h"

ls__range ls__range_part(ls__range all, int parts, int part, int64_t unit)
{
    int64_t n = all.last - all.first, units, each, more, begin, end;

    if (parts == 1) /* divisions are a good part of a small step */
        return all;
    units = n / unit + (n % unit != 0);
    each = units / parts;
    more = units % parts;
    begin = part * each + (part < more ? part : more);
    end = begin + each + (part < more);

    /* Compared in units, because the end of the last one may overflow. */
    return (ls__range){begin < units ? all.first + begin * unit : all.last,
                       end < units ? all.first + end * unit : all.last};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See cpus.h.  A PU that cannot be had is an error and not left out: a user who
 * names processors counts on them. */
#include "machine/cpus.h"
#include "base/error.h"

#include <hwloc.h>

enum { MOST = 65535 }; /* the largest number of a PU */

/* A number of a PU, *end behind it; -1: there is none. */
static int read_pu(const char *text, const char **end)
{
    int n = 0;

    *end = text;
    for (; **end >= '0' && **end <= '9' && n <= MOST; ++*end)
        n = 10 * n + (**end - '0');
    return *end == text || n > MOST ? -1 : n;
}

/* "4" or "4-7", *end behind it. */
static bool read_range(const char *text, const char **end, ls__affinity *set)
{
    int first = read_pu(text, end), last = first;

    if (first >= 0 && **end == '-')
        last = read_pu(*end + 1, end);
    if (first < 0 || last < first)
        return false;
    return hwloc_bitmap_set_range(set, (unsigned)first, last) == 0;
}

static bool read_list(const char *text, ls__affinity *set)
{
    while (read_range(text, &text, set)) {
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
    return false;
}

static const char *why_not(const ls__topology *t, unsigned pu)
{
    if (!hwloc_bitmap_isset(
            hwloc_topology_get_complete_cpuset(t->handle), pu))
        return "this machine has none of that number";
    if (!hwloc_bitmap_isset(
            hwloc_topology_get_topology_cpuset(t->handle), pu))
        return "it is offline";
    if (!hwloc_bitmap_isset(
            hwloc_topology_get_allowed_cpuset(t->handle), pu))
        return "the cpuset of this process leaves it out";
    return "the calling thread is bound to others; taskset binds so, and "
           "mpirun unless told --bind-to none";
}

int ls__cpus_choose(const ls__topology *t, const char *list,
                    const ls__affinity *may, ls__affinity *set)
{
    unsigned pu;

    if (!read_list(list, set))
        return ls__fail(LS_EINVAL, "cpus \"%s\": not a list of processors such "
                        "as 8-15 or 0,2,4-7", list);
    hwloc_bitmap_foreach_begin(pu, set)
        if (!hwloc_bitmap_isset(may, pu))
            return ls__fail(LS_EINVAL, "cpus \"%s\": processor %u may not be "
                            "used: %s", list, pu, why_not(t, pu));
    hwloc_bitmap_foreach_end();
    return 0;
}

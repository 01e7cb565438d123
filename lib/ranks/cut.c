/* SPDX-License-Identifier: BSD-3-Clause */
/* The cut of devices with the fewest partial sums, from the left: the fewest
 * for r ranks and the first d devices follow from those for r-1 ranks. */
#include "ranks/cut.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include <lockstep/transport.h>

#include <limits.h>
#include <stdlib.h>

/* Above this number of comparisons all ranks take equal parts. */
enum { WORK = 1 << 26 };

static int parts_of(int first, int end, int devices)
{
    ls__subtree part[LS__TREE_PARTS];

    return ls__tree_parts((ls__span){first, end - first, devices}, part);
}

static void even(ls__cut *c)
{
    for (int r = 0; r <= c->ranks; r++)
        c->border[r] = (int)((int64_t)r * c->devices / c->ranks);
}

/* The fewest parts of devices 0 .. end-1, given `before` for one rank less:
 * [d], of the first d; *from is where the last rank begins. */
static int fewest(const int *before, int end, int most, int devices, int *from)
{
    int least = INT_MAX;

    for (int at = end - 1; at >= 0 && at >= end - most; at--) {
        int n;

        if (before[at] == INT_MAX)
            continue;
        n = before[at] + parts_of(at, end, devices);
        if (n < least) {
            least = n;
            *from = at;
        }
    }
    return least;
}

/* least and from are [ranks+1][devices+1]. */
static void search(ls__cut *c, int *least, int *from)
{
    int n = c->devices + 1, most = (c->devices - 1) / c->ranks + 1;

    for (int d = 0; d < n; d++)
        least[d] = d ? INT_MAX : 0;
    for (int r = 1; r <= c->ranks; r++)
        for (int d = 0; d < n; d++)
            least[r * n + d] = fewest(least + (r - 1) * n, d, most, c->devices,
                                      &from[r * n + d]);
    c->border[c->ranks] = c->devices;
    for (int r = c->ranks; r > 0; r--)
        c->border[r - 1] = from[r * n + c->border[r]];
    LS__ASSERT(c->border[0] == 0);
}

static int choose(ls__cut *c)
{
    size_t cells = ((size_t)c->ranks + 1) * ((size_t)c->devices + 1);
    int *least;

    if (cells * ((size_t)c->devices / (size_t)c->ranks + 1) > WORK) {
        even(c);
        return 0;
    }
    least = ls__new(cells, 2 * sizeof *least, "cut of the devices");
    if (!least)
        return LS_ENOMEM;
    search(c, least, least + cells);
    free(least);
    return 0;
}

/* Once the borders stand. */
static int list_parts(ls__cut *c)
{
    ls__subtree part[LS__TREE_PARTS];

    for (int r = 0; r < c->ranks; r++)
        c->first[r + 1] = c->first[r] + parts_of(c->border[r], c->border[r + 1],
                                                 c->devices);
    c->parts = c->first[c->ranks];
    c->part = ls__new((size_t)c->parts, sizeof *c->part, "partial sums");
    if (!c->part)
        return LS_ENOMEM;
    for (int r = 0; r < c->ranks; r++) {
        int n = ls__tree_parts(ls__cut_span(c, r), part);

        LS__ASSERT(n > 0 && c->first[r] + n == c->first[r + 1]);
        for (int k = 0; k < n; k++)
            c->part[c->first[r] + k] = part[k];
    }
    return 0;
}

int ls__cut_open(ls__cut *c, int ranks, int devices)
{
    int status;

    *c = (ls__cut){.ranks = ranks, .devices = devices};
    if (ranks > devices)
        return ls__fail(LS_EINVAL, "%d ranks are more than %d devices; each "
                        "rank needs one", ranks, devices);
    c->border = ls__new((size_t)ranks + 1, sizeof *c->border, "cut");
    c->first = ls__new((size_t)ranks + 1, sizeof *c->first, "cut");
    if (!c->border || !c->first)
        return LS_ENOMEM;
    if ((status = choose(c)) < 0)
        return status;
    return list_parts(c);
}

void ls__cut_close(ls__cut *c)
{
    free(c->border);
    free(c->first);
    free(c->part);
}

ls__span ls__cut_span(const ls__cut *c, int rank)
{
    LS__ASSERT(rank >= 0 && rank < c->ranks);
    return (ls__span){c->border[rank], c->border[rank + 1] - c->border[rank],
                      c->devices};
}

int ls_transport_sums(int ranks, int devices)
{
    ls__cut c = {0};
    int status;

    if (ranks < 1 || devices > 1 << 29)
        return ls__fail(LS_EINVAL, "%d ranks of %d devices", ranks, devices);
    status = ls__cut_open(&c, ranks, devices);
    if (status == 0)
        status = c.parts;
    ls__cut_close(&c);
    return status;
}

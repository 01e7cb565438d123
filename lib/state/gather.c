/* SPDX-License-Identifier: BSD-3-Clause */
/* See gather.h. */
#include "state/gather.h"
#include "base/assert.h"
#include "ranks/link.h"
#include "state/trainer_state.h"

#include <string.h>

ls__range ls__leaves_of(const ls__stretch *s)
{
    LS__ASSERT(s->range.first % LS__LEAF == 0 ||
               s->range.first == s->range.last);
    return (ls__range){ls__merkle_leaves(s->range.first),
                       ls__merkle_leaves(s->range.last)};
}

int64_t ls__owned_leaves(const ls__owned *o)
{
    int64_t n = 0;

    for (ls__stretch s = {0}; ls__owned_next(o, &s);)
        n += ls__leaves_of(&s).last - ls__leaves_of(&s).first;
    return n;
}

/* The leaves of all arrays of a trainer. */
typedef struct leaves {
    ls__owned owned;
    int arrays;
    int64_t each;     /* of each array */
    ls__digest *leaf; /* [array][leaf] */
} leaves;

/* Copy a rank's leaves between their places and a row without gaps; returns
 * the row's end. */
static ls__digest *move_leaves(const leaves *l, int rank, ls__digest *row,
                               bool out)
{
    ls__owned o = l->owned;

    o.rank = rank;
    for (int a = 0; a < l->arrays; a++)
        for (ls__stretch s = {0}; ls__owned_next(&o, &s);) {
            ls__range r = ls__leaves_of(&s);
            ls__digest *leaf = l->leaf + a * l->each + r.first;
            size_t bytes = (size_t)(r.last - r.first) * sizeof *leaf;

            memcpy(out ? row : leaf, out ? leaf : row, bytes);
            row += r.last - r.first;
        }
    return row;
}

int ls__leaves_gather(const ls_trainer *t, int arrays, ls__digest *leaf,
                      ls__digest *row, int64_t *border)
{
    const ls__state is = ls__state_of(t);
    const ls_transport *link = is.link;
    leaves l = {.owned = is.owned, .arrays = arrays, .leaf = leaf,
                .each = ls__merkle_leaves(is.layout->floats)};
    ls__digest *at = row;
    int status;

    border[0] = 0;
    for (int r = 0; r < link->ranks; r++) {
        ls__owned o = is.owned;

        o.rank = r;
        if (r == link->rank)
            move_leaves(&l, r, at, true);
        at += arrays * ls__owned_leaves(&o);
        border[r + 1] = (at - row) * (int64_t)sizeof *row;
    }
    status = ls__link_gather(link, row, border);
    at = row;
    for (int r = 0; r < link->ranks && status == 0; r++)
        at = move_leaves(&l, r, at, false);
    return status;
}

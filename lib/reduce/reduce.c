/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of blocks, whole or from partial sums, and what is asked of them. */
#include "reduce/reduce.h"
#include "base/assert.h"
#include "kernel/kernel.h"

enum { BLOCK = LS__REDUCE_BLOCK };

_Static_assert(BLOCK % 16 == 0, "squares are summed in 16 lanes");

int64_t ls__reduce_blocks(int64_t n)
{
    return n / BLOCK + (n % BLOCK != 0);
}

void ls__reduce_partials(float *const *buffer, ls__span devices,
                         ls__range range)
{
    ls__subtree part[LS__TREE_PARTS];
    int parts = ls__tree_parts(devices, part);

    for (int k = 0; k < parts; k++) {
        float *const *first = buffer + part[k].first - devices.first;

        int items = ls__subtree_items(part[k], devices.of);

        if (items > 1)
            ls__kernels()->tree_sum(first, items, range.first, range.last, 1.0f,
                                    first[0] + range.first);
    }
}

/* Complete the tree from its partial sums. */
static void complete(const ls__reduction *r, ls__range at)
{
    float *sum[LS__TREE_STACK];
    ls__tree tree = {.of = r->of};
    int64_t n = at.last - at.first;
    int top = 0;

    for (int k = 0; k < r->count; k++) {
        bool here = ls__span_has(r->here, k);

        LS__ASSERT(top < LS__TREE_STACK);
        sum[top++] = r->buffer[k] + at.first + (here ? 0 : r->shift);
        for (int m = ls__tree_push(&tree, r->part[k]); m > 0; m--, top--)
            ls__kernels()->tree_sum(sum + top - 2, 2, 0, n, 1.0f, sum[top - 2]);
    }
    LS__ASSERT(top == 1);
    ls__kernels()->tree_sum(sum, 1, 0, n, r->factor, r->out + at.first);
}

/* A block: as ls__reduce. */
static int64_t reduce_block(const ls__reduction *r, ls__range at)
{
    const ls__kernel_table *k = ls__kernels();
    int64_t n = at.last - at.first, bad;

    if (r->skips && r->skips(r->user, at)) {
        if (r->square)
            r->square[at.first / BLOCK] = 0;
        return -1;
    }
    if (r->part)
        complete(r, at);
    else
        k->tree_sum(r->buffer, r->count, at.first, at.last, r->factor,
                    r->out + at.first);
    bad = k->first_nonfinite(n, r->out + at.first);
    if (r->look)
        r->look(r->user, at);
    if (r->square)
        r->square[at.first / BLOCK] = k->square_sum(n, r->out + at.first);
    return bad < n ? at.first + bad : -1;
}

int64_t ls__reduce(const ls__reduction *r, ls__range range)
{
    int64_t first_bad = -1;

    LS__ASSERT(range.first % BLOCK == 0 || range.first == range.last ||
               !(r->square || r->look || r->skips));
    for (int64_t i = range.first, end; i < range.last; i = end) {
        int64_t bad;

        end = range.last - i < BLOCK ? range.last : i + BLOCK;
        bad = reduce_block(r, (ls__range){i, end});
        first_bad = first_bad < 0 ? bad : first_bad;
    }
    return first_bad;
}

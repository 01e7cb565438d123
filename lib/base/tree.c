/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of a few numbers in the tree's order, and the tree cut into parts. */
#include "base/tree.h"
#include "base/assert.h"

double ls__tree_sum_double(const double *v, int n, int stride)
{
    double part[LS__TREE_STACK] = {0};
    int top = 0;

    for (int i = 0; i < n; i++) {
        part[top++] = v[(int64_t)i * stride];
        for (int m = ls__tree_merges(i); m > 0; m--, top--)
            part[top - 2] += part[top - 1];
    }
    for (; top > 1; top--)
        part[top - 2] += part[top - 1];
    LS__ASSERT(top <= 1);
    return part[0];
}

int ls__subtree_items(ls__subtree part, int of)
{
    LS__ASSERT(LS__IS_POWER(part.size) && part.first % part.size == 0 &&
               part.first >= 0 && part.first < of);
    return part.size < of - part.first ? part.size : of - part.first;
}

/* Does a subtree of twice the size begin there as well? */
static bool begins_larger(ls__subtree s)
{
    return s.first % (2 * (int64_t)s.size) == 0;
}

int ls__tree_parts(ls__span items, ls__subtree part[LS__TREE_PARTS])
{
    int end = items.first + items.count, n = 0;

    LS__ASSERT(items.first >= 0 && end <= items.of);
    for (int at = items.first; at < end; n++) {
        ls__subtree s = {at, 1}, larger = {at, 2};

        while (s.size < items.of - at && begins_larger(s) &&
               at + ls__subtree_items(larger, items.of) <= end) {
            s = larger;
            larger.size *= 2;
        }
        LS__ASSERT(n < LS__TREE_PARTS);
        part[n] = s;
        at += ls__subtree_items(s, items.of);
    }
    return n;
}

/* Grow a subtree at the items' end: it is also the larger ones from there. */
static ls__subtree grown(ls__subtree s, int of)
{
    while (s.size >= of - s.first && s.first && begins_larger(s))
        s.size *= 2;
    return s;
}

int ls__tree_push(ls__tree *tree, ls__subtree part)
{
    int merges = 0;
    const ls__subtree *last = tree->item + tree->top - 1;

    LS__ASSERT(part.first == (tree->top ? last->first + last->size : 0));
    part = grown(part, tree->of);
    while (tree->top > 0 && tree->item[tree->top - 1].size == part.size &&
           begins_larger(tree->item[tree->top - 1])) {
        part = tree->item[--tree->top];
        part.size *= 2;
        part = grown(part, tree->of);
        merges++;
    }
    LS__ASSERT(tree->top < LS__TREE_STACK);
    tree->item[tree->top++] = part;
    return merges;
}

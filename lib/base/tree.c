/* Sums of a few numbers in the tree's order. */
#include "base/tree.h"

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
    return part[0];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See counts.h. */
#include "scale/counts.h"

/* The places above the new one move up. */
static int insert(int *out, int n, int count)
{
    int i = n;

    for (int k = 0; k < n; k++)
        if (out[k] == count)
            return n;
    for (; i > 0 && out[i - 1] > count; i--)
        out[i] = out[i - 1];
    out[i] = count;
    return n + 1;
}

int count_all(int *out, int asked, const int *count, int most)
{
    int n = insert(out, 0, 1);

    for (int i = 0; i < asked; i++)
        n = insert(out, n, count[i]);
    if (asked)
        return n;
    for (int c = 2; c < most; c *= 2)
        n = insert(out, n, c);
    return insert(out, n, most);
}

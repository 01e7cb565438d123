/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of sums, proved with expressions instead of numbers: an addition
 * writes "(a+b)", so equal texts are equal orders.  No threads. */
#include "calls.h"
#include "base/tree.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 130, TEXT = 8 * MOST };

typedef char text[TEXT];

static void add(char *a, const char *b)
{
    text sum;

    ck_assert_uint_lt(strlen(a) + strlen(b) + 4, TEXT);
    sprintf(sum, "(%s+%s)", a, b);
    strcpy(a, sum);
}

/* The definition: for s = 1, 2, 4, ...: g[i] += g[i+s]. */
static void defined(int n, text out)
{
    static text g[MOST];

    for (int i = 0; i < n; i++)
        sprintf(g[i], "%d", i);
    for (int s = 1; s < n; s *= 2)
        for (int i = 0; i + s < n; i += 2 * s)
            add(g[i], g[i + s]);
    strcpy(out, g[0]);
}

/* The stack of partial sums, fed with complete subtrees of `size` items as
 * long as they last, and then with smaller ones. */
static void streamed(int n, int size, text out)
{
    static text part[LS__TREE_STACK];
    int top = 0;

    for (int d = 0, k; d < n; d += k) {
        for (k = size; k > n - d;)
            k /= 2;
        text item[MOST];
        for (int i = 0; i < k; i++)
            sprintf(item[i], "%d", d + i);
        for (int s = 1; s < k; s *= 2)
            for (int i = 0; i + s < k; i += 2 * s)
                add(item[i], item[i + s]);
        strcpy(part[top++], item[0]);
        ck_assert_int_le(top, ls__tree_depth(n));
        int merges = k < size ? 0 : ls__tree_merges(d / size);
        for (int m = d + k == n ? top - 1 : merges; m > 0; m--, top--)
            add(part[top - 2], part[top - 1]);
    }
    ck_assert_int_eq(top, 1);
    strcpy(out, part[0]);
}

/* Pushing items one by one adds them exactly as the definition does, with
 * never more than log2(n) + 1 partial sums. */
TEST(test_stream)
{
    text a, b;

    for (int n = 1; n <= MOST; n++) {
        defined(n, a);
        streamed(n, 1, b);
        ck_assert_str_eq(a, b);
    }
}

/* So does pushing complete subtrees, whoever summed them. */
TEST(test_subtrees)
{
    text a, b;

    for (int n = 1; n <= MOST; n++) {
        defined(n, a);
        for (int size = 2; size <= 64; size *= 2) {
            streamed(n, size, b);
            ck_assert_str_eq(a, b);
        }
    }
}

/* Some orders, for the eye. */
TEST(test_examples)
{
    static const struct {
        int n;
        const char *order;
    } row[] = {
        {1, "0"},
        {2, "(0+1)"},
        {3, "((0+1)+2)"},
        {5, "(((0+1)+(2+3))+4)"},
        {6, "(((0+1)+(2+3))+(4+5))"},
        {7, "(((0+1)+(2+3))+((4+5)+6))"},
    };
    text got;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        streamed(row[i].n, 1, got);
        ck_assert_str_eq(got, row[i].order);
    }
}

/* The depth is floor(log2(n)) + 1, far beyond the number of devices too. */
TEST(test_depth)
{
    ck_assert_int_eq(ls__tree_depth(1), 1);
    ck_assert_int_eq(ls__tree_depth(2), 2);
    ck_assert_int_eq(ls__tree_depth(7), 3);
    ck_assert_int_eq(ls__tree_depth(8), 4);
    ck_assert_int_eq(ls__tree_depth(65536), 17);
    ck_assert_int_eq(ls__tree_depth(INT64_MAX), 63);
    ck_assert_int_le(ls__tree_depth(INT64_MAX), LS__TREE_STACK);
    ck_assert_int_eq(ls__tree_merges(INT64_C(0xffffffff)), 32);
}

/* Doubles are summed in the tree's order, to the bit, at any stride. */
TEST(test_doubles)
{
    enum { STRIDE = 3 };
    static double v[MOST * STRIDE], g[MOST];

    srand(7);
    for (int n = 0; n <= MOST; n++) {
        for (int i = 0; i < n; i++)
            v[i * STRIDE] = g[i] = (double)rand() / 3.0 - 3e8 / (i + 1);
        for (int s = 1; s < n; s *= 2)
            for (int i = 0; i + s < n; i += 2 * s)
                g[i] += g[i + s];
        double sum = ls__tree_sum_double(v, n, STRIDE);
        ck_assert_mem_eq(&sum, n ? &g[0] : &(double){0}, sizeof sum);
    }
}

/* ------ Partial sums of a span, and the tree completed from them ------ */

enum { PROCESSES = 16, DEVICES = 64 };

/* The subtrees of D items cut into R spans in order, all in one list; the spans
 * are even, or cut at random where odd. */
static int parts_of_all(int D, int R, bool odd, ls__subtree list[MOST])
{
    ls__subtree part[LS__TREE_PARTS];
    int n = 0, first = 0;

    for (int r = 0; r < R; r++) {
        int left = D - first - (R - 1 - r);
        int end = odd && r < R - 1 ? first + 1 + rand() % left
                                   : (r + 1) * D / R;
        if (odd && r == R - 1)
            end = D;
        int parts = ls__tree_parts((ls__span){first, end - first, D}, part);

        for (int k = 0, at = first; k < parts; k++) {
            ck_assert_int_eq(part[k].first, at);
            at += ls__subtree_items(part[k], D);
            ck_assert(k < parts - 1 || at == end);
            list[n++] = part[k];
        }
        first = end;
    }
    ck_assert_int_eq(first, D);
    return n;
}

/* Each process's partial sums are nodes of the definition's tree, and pushed in
 * order they complete it: for every number of devices to 64 on every number of
 * processes to 16, which are 904 cases, and for as many uneven cuts. */
TEST(test_parts)
{
    static text g[MOST], stack[LS__TREE_STACK], whole;
    ls__subtree part[MOST];
    int cases = 0;

    srand(11);
    for (int D = 1; D <= DEVICES; D++)
        for (int R = 1; R <= D && R <= PROCESSES; R++, cases++)
            for (int odd = 0; odd < 2; odd++) {
                ls__tree tree = {.of = D};
                int parts = parts_of_all(D, R, odd, part), top = 0;

                for (int k = 0; k < parts; k++) {
                    int f = part[k].first, n = ls__subtree_items(part[k], D);

                    for (int i = 0; i < n; i++)
                        sprintf(g[i], "%d", f + i);
                    for (int s = 1; s < n; s *= 2)
                        for (int i = 0; i + s < n; i += 2 * s)
                            add(g[i], g[i + s]);
                    strcpy(stack[top++], g[0]);
                    for (int m = ls__tree_push(&tree, part[k]); m > 0; m--)
                        add(stack[top - 2], stack[top - 1]), top--;
                    ck_assert_int_eq(top, tree.top);
                }
                defined(D, whole);
                ck_assert_int_eq(top, 1);
                ck_assert_str_eq(stack[0], whole);
            }
    ck_assert_int_eq(cases, 904);
}

/* Some cuts, for the eye: six devices on four processes, evenly and with the
 * fewest partial sums; all on one. */
TEST(test_parts_examples)
{
    static const struct {
        ls__span span;
        int parts;
        ls__subtree part[4];
    } row[] = {
        {{0, 6, 6}, 1, {{0, 8}}},
        {{1, 2, 6}, 2, {{1, 1}, {2, 1}}},
        {{2, 2, 6}, 1, {{2, 2}}},
        {{4, 2, 6}, 1, {{4, 2}}},
        {{3, 5, 8}, 2, {{3, 1}, {4, 4}}},
        {{6, 1, 7}, 1, {{6, 1}}},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ls__subtree part[LS__TREE_PARTS];

        ck_assert_int_eq(ls__tree_parts(row[i].span, part), row[i].parts);
        for (int k = 0; k < row[i].parts; k++) {
            ck_assert_int_eq(part[k].first, row[i].part[k].first);
            ck_assert_int_eq(part[k].size, row[i].part[k].size);
        }
    }
}

MAIN()

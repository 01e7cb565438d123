/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that names are found whatever their number, and that a graph of more
 * layers looks at more names in proportion, not in square. */
#include "base/names.h"
#include "graph/edit.h"
#include "graph/graph.h"
#include "models.h"

/* Numbers stay with their names while the set grows, and a new name has 0. */
TEST(test_numbers)
{
    enum { MANY = 5000 };
    static char text[MANY][12];
    ls__names n = {0};

    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], "name%d", i);
        ck_assert_int_eq(*ls__names_number(&n, text[i]), 0);
        *ls__names_number(&n, text[i]) = i;
    }
    ck_assert_int_eq((int)n.count, MANY);
    for (int i = 0; i < MANY; i++) {
        char copy[12];

        memcpy(copy, text[i], sizeof copy);
        ck_assert_int_eq(*ls__names_number(&n, copy), i);
    }
    ck_assert_int_eq((int)n.count, MANY);
    ls__names_free(&n);
}

/* Places looked at by a transformer of so many layers. */
static size_t looks(int64_t layers)
{
    lm_sizes s = {10, 4, 4, 1, layers, 4};
    ls_graph *g = lm_graph(&s);
    size_t all = g->param_names.looks + g->param_scopes.looks;

    ck_assert_int_eq(g->status, 0);
    ls_graph_free(g);
    return all;
}

TEST(test_linear)
{
    size_t few = looks(100), many = looks(1600);

    ck_assert_msg(many < 20 * few, "%zu looks for 100 layers, %zu for 1600",
                  few, many);
}

/* Flax's modules of one name count on, and a parameter is there once, in a copy
 * of the graph too. */
TEST(test_twice)
{
    ls_graph *g, *copy;
    ls_node *x;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){3});
    ck_assert_ptr_nonnull(ls_dense(x, 2, "a.b"));
    OK(ls__graph_copy(&copy, g));
    ck_assert_ptr_nonnull(ls_dense(copy->nodes[0], 2, "a.c"));
    ck_assert_ptr_null(ls_dense(copy->nodes[0], 2, "a.b"));
    ck_assert_msg(strstr(copy->message, "twice"), "%s", copy->message);
    ck_assert_ptr_null(ls_dense(x, 2, "a.b"));
    ls_graph_free(copy);
    ls_graph_free(g);
}

MAIN()

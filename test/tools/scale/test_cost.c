/* SPDX-License-Identifier: BSD-3-Clause */
/* What operators are counted to read and write, against counts written out by
 * hand from shapes; and what a step of them comes to. */
#include "layers.h"
#include "models.h"
#include "scale/scaling.h"

/* Floats of an operator: forward and backward, of a row and of a chunk. */
typedef struct moved {
    const char *op;
    double forward, backward, chunk_forward, chunk_backward;
} moved;

static void check(ls_graph *g, const ls_trainer_options *o, int n,
                  const moved *want)
{
    run r = open_run_on(2, 1, g, o);
    ls_work work;
    ls_cost c;
    double row = 0, chunk = 0;

    for (int i = 0; i < n; i++, want++) {
        ck_assert(ls_trainer_cost(r.trainer, i, &c));
        ck_assert_str_eq(c.op, want->op);
        ck_assert_double_eq(c.forward_bytes, 4 * want->forward);
        ck_assert_double_eq(c.backward_bytes, 4 * want->backward);
        ck_assert_double_eq(c.chunk_forward_bytes, 4 * want->chunk_forward);
        ck_assert_double_eq(c.chunk_backward_bytes, 4 * want->chunk_backward);
        row += 4 * (want->forward + want->backward);
        chunk += 4 * (want->chunk_forward + want->chunk_backward);
    }
    ck_assert(!ls_trainer_cost(r.trainer, n, &c));
    ls_trainer_work(r.trainer, &work);
    ck_assert_double_eq(work.row_bytes, row);
    ck_assert_double_eq(work.chunk_bytes, chunk);
    close_run(&r);
}

#define CHECK(g, o, ...) \
    check(g, o, sizeof(moved[]){__VA_ARGS__} / sizeof(moved), \
          (moved[]){__VA_ARGS__})

/* Layers, their activations' slopes kept for backward, a layer norm's mean and
 * deviation; the first layer has no dx. */
TEST(layers)
{
    CHECK(mlp_graph(), NULL,
          {"dense", 9 + 33 + 33, 33 + 9 + 33, 9 * 33 + 33, 9 * 33 + 33},
          {"layer_norm", 33 + 33 + 2, 33 + 33 + 33 + 2, 66, 33 + 66},
          {"dense", 33 + 5, 33 + 5 + 33, 33 * 5 + 5, 33 * 5 + 33 * 5 + 5},
          {"cross entropy", 5 + 1, 5, 0, 0});
}

/* What is frozen has no gradient to write. */
TEST(frozen)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_group group = ls_group_frozen("hidden.*");

    o.n_groups = 1;
    o.groups = &group;
    CHECK(mlp_graph(), &o, {"dense", 9 + 33 + 33, 0, 9 * 33 + 33, 0},
          {"layer_norm", 33 + 33 + 2, 33 + 33 + 2, 66, 66},
          {"dense", 33 + 5, 33 + 5 + 33, 33 * 5 + 5, 33 * 5 + 33 * 5 + 5},
          {"cross entropy", 5 + 1, 5, 0, 0});
}

/* A chain of elementwise operators is one pass: x is read and y is written
 * once, and backward x and dy are read and dx is written once.  One by one the
 * same chain moves three times as much. */
static ls_graph *chain_graph(bool apart)
{
    ls_graph *g = empty_graph();
    ls_node *x, *y;

    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){7});
    x = dense_no_bias(x, 11, "fc");
    y = ls_square(x);
    for (int i = 0; i < 2; i++) {
        if (apart)
            OK(ls_output(g, y, (char[]){(char)('a' + i), 0}));
        y = ls_scale_shift(y, 0.5, i);
    }
    OK(ls_loss(g, ls_mean_loss(y, NULL)));
    return g;
}

TEST(chain)
{
    CHECK(chain_graph(false), NULL, {"dense", 7 + 11, 11 + 7, 77, 77},
          {"formula", 11 + 11, 11 + 11 + 11, 0, 0},
          {"mean_loss", 11, 11, 0, 0});
    CHECK(chain_graph(true), NULL, {"dense", 7 + 11, 11 + 7, 77, 77},
          {"square", 11 + 11, 11 + 11 + 11, 0, 0},
          {"scale", 11 + 11, 11 + 11, 0, 0}, {"scale", 11 + 11, 11 + 11, 0, 0},
          {"mean_loss", 11, 11, 0, 0});
}

/* Tables cost the rows that are picked: once forward, and what they are added
 * to is read and written.  A residual is one input more, whose gradient is
 * dy. */
TEST(tables)
{
    ls_graph *g;
    ls_node *t, *x;

    OK(ls_graph_new(&g));
    t = ls_input(g, "t", LS_I32, 1, (int64_t[]){5});
    x = ls_position(ls_embed(t, 1000, 8, "embed"), "table");
    x = ls_slice(x, 0, 1, 2);
    x = ls_gather(x, ls_input(g, "at", LS_I32, 1, (int64_t[]){3}));
    OK(ls_loss(g, ls_mean_loss(x, NULL)));
    CHECK(g, NULL, {"embed", 5 + 40 + 40, 40 + 5 + 2 * 40, 0, 0},
          {"position", 40 + 40, 40, 40, 40}, {"slice", 16 + 16, 40 + 16, 0, 0},
          {"gather", 24 + 3 + 24, 16 + 24 + 3, 0, 0},
          {"mean_loss", 24, 24, 0, 0});
    OK(ls_graph_new(&g));
    t = ls_input(g, "t", LS_I32, 1, (int64_t[]){5});
    x = ls_sparse_dense(t, NULL, 1000, 8, "wide");
    OK(ls_loss(g, ls_mean_loss(x, NULL)));
    CHECK(g, NULL,
          {"sparse_dense", 5 + 8 + 11 + 5 * 8, 8 + 11 + 2 * 5 * 8, 8, 8},
          {"mean_loss", 8, 8, 0, 0});
}

/* Three convolutions' worth: pooled in one pass, what is kept is the number of
 * the largest; a view moves nothing. */
TEST(images)
{
    ls_window three = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 4, 2});

    x = ls_max_pool(ls_relu(ls_conv2d(x, 5, three, "conv")), two);
    OK(ls_loss(g, ls_mean_loss(ls_flatten(x), NULL)));
    CHECK(g, NULL, {"conv2d", 48 + 30 + 30, 30 + 48 + 30, 95, 95},
          {"flatten", 0, 0, 0, 0}, {"mean_loss", 30, 30, 0, 0});
}

/* A step: shards in chunks, each of which goes through the parameters. */
TEST(steps)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_work w;
    run r;

    o.accumulate = 2;
    r = open_run_on(3, 1, linear_graph(16, 8), &o);
    ls_trainer_work(r.trainer, &w);
    ck_assert_int_eq(w.chunk_rows, 256);
    ck_assert_int_eq(w.shards, 6);
    ck_assert_double_eq(w.row_bytes, 4 * (24 + 24 + 16 + 8));
    ck_assert_double_eq(w.chunk_bytes, 4 * 2 * (16 * 8 + 8));
    ck_assert_double_eq(scaling_bytes(&w, 6 * 256),
                        6 * 256 * w.row_bytes + 6 * w.chunk_bytes);
    ck_assert_double_eq(scaling_bytes(&w, 6 * 256 + 1),
                        (6 * 256 + 1) * w.row_bytes + 12 * w.chunk_bytes);
    w.chunk_rows = 0;
    ck_assert_double_eq(scaling_bytes(&w, 100), 0);
    close_run(&r);
}

MAIN()

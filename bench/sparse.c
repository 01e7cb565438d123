/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape that chess programs train: two sides of 41,024 inputs, of which 30
 * a row are 1, into 256 units that share their weights; clipped relu, 32, 1;
 * mean squared error, Adam, 16,384 rows.  Data and initial parameters are drawn
 * as in peers/sparse_torch.py; `--kings N` has N of 64 king squares occur, so
 * that N 64ths of the weights are read.  `--lazy 1`: lazy Adam.
 *
 * Uses the public header only. */
#include "training.h"

enum { INPUTS = 41024, ONES = 30, UNITS = 256, ROWS = 16384 };

/* The pieces of a row are by one king's square, in rising order. */
static void draw_side(int64_t seed, int kings, int32_t *index)
{
    for (int64_t r = 0; r < ROWS; r++) {
        int64_t king = (r * 7919 + seed * 104729) % 20011 % kings;

        for (int64_t j = 0; j < ONES; j++)
            index[r * ONES + j] =
                (int32_t)(king * 641 + j * 21 +
                          (r * 613 + j * 7919 + seed * 104729) % 20011 % 21);
    }
}

static ls_node *side(ls_graph *g, const char *input, const char *layer)
{
    ls_node *x = ls_input(g, input, LS_I32, 1, (int64_t[]){ONES});

    return ls_sparse_dense(x, NULL, INPUTS, UNITS, layer);
}

static ls_graph *build(void)
{
    ls_node *both[2], *x;
    ls_graph *g;

    must(ls_graph_new(&g));
    both[0] = side(g, "us", "acc");
    must(ls_tie(g, "other.kernel", "acc.kernel", false));
    must(ls_tie(g, "other.bias", "acc.bias", false));
    both[1] = side(g, "them", "other");
    x = ls_clamp(ls_concat(both, 2, 0), 0, 1);
    x = ls_clamp(ls_dense(x, 32, "hidden"), 0, 1);
    must(ls_loss(g, ls_mean_squared_error(
                        ls_dense(x, 1, "out"),
                        ls_input(g, "y", LS_F32, 1, (int64_t[]){1}))));
    return g;
}

static void set_rows(ls_batch *b, int kings)
{
    static int32_t us[ROWS * ONES], them[ROWS * ONES];
    static float y[ROWS];

    draw_side(1, kings, us);
    draw_side(2, kings, them);
    draw(3, 1, ROWS, y);
    must(ls_batch_set(b, "us", LS_I32, us, ROWS));
    must(ls_batch_set(b, "them", LS_I32, them, ROWS));
    must(ls_batch_set(b, "y", LS_F32, y, ROWS));
}

int main(int argc, char **argv)
{
    int kings = number(argc, argv, "--kings", 64);
    int workers = number(argc, argv, "--workers", 1);
    FILE *out = metrics(argc, argv);
    ls_trainer_options o = ls_trainer_defaults();
    training r;

    if (kings < 1 || kings > 64)
        return EXIT_FAILURE;
    o.optimizer = ls_adam(0.001);
    o.optimizer.lazy = number(argc, argv, "--lazy", 0);
    o.state = LS_SHARD;
    r = training_open(build(), workers, workers, &o);
    draw_params(r.trainer, 0.1f);
    set_rows(r.batch, kings);
    time_steps(&r, number(argc, argv, "--steps", 10), out);
    training_close(&r);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

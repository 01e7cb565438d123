/* SPDX-License-Identifier: BSD-3-Clause */
/* What it saves that a chain of elementwise operators is one pass over memory:
 * a table of positions, a chain of eight operators, and the mean of what comes
 * out.  With --apart 1 each node is an output besides, so that nothing is
 * chained; the losses have the same bytes.  A chunk of 256 rows is 512 KB of
 * each value, which the second-level cache may hold; with --width 512 it is
 * 4 MB (and rows are fewer: the batch has as many numbers).
 *
 * Uses the public header only.
 */
#include "training.h"

enum { NUMBERS = 1 << 21, LENGTH = 8, LINKS = 8 };

static ls_graph *build(int64_t width, bool apart)
{
    ls_graph *g;
    ls_node *x, *link[LINKS];

    must(ls_graph_new(&g));
    x = ls_position(ls_input(g, "x", LS_F32, 2, (int64_t[]){LENGTH, width}),
                    "table");
    link[0] = ls_scale_shift(x, 0.5, 0.25);
    link[1] = ls_square(link[0]);
    link[2] = ls_clamp(link[1], 0.125, 4);
    link[3] = ls_mul(link[2], x);
    link[4] = ls_leaky_relu(link[3], 0.25);
    link[5] = ls_sub(link[4], link[2]);
    link[6] = ls_abs(link[5]);
    link[7] = ls_add(link[6], link[5]);
    for (int i = 0; apart && i < LINKS; i++)
        must(ls_output(g, link[i], (char[]){(char)('0' + i), 0}));
    must(ls_loss(g, ls_mean_loss(link[LINKS - 1], NULL)));
    return g;
}

int main(int argc, char **argv)
{
    static float x[NUMBERS];
    int64_t width = number(argc, argv, "--width", 64);
    FILE *out = metrics(argc, argv);
    ls_trainer_options o = ls_trainer_defaults();
    training r;

    o.optimizer = ls_sgd(0.01);
    r = training_open(build(width, number(argc, argv, "--apart", 0)), 2,
                      number(argc, argv, "--workers", 1), &o);
    ls_random_uniform(ls_key_new(1), 0, NUMBERS, -1, 1, x);
    must(ls_batch_set(r.batch, "x", LS_F32, x, NUMBERS / LENGTH / width));
    time_steps(&r, number(argc, argv, "--steps", 20), out);
    training_close(&r);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

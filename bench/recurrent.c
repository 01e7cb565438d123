/* SPDX-License-Identifier: BSD-3-Clause */
/* Two layers of 128 units, LSTM (or GRU with --cell gru), over 64 rows of 100
 * steps of 32 features, a dense layer on every step, mean squared error,
 * Adam.  Data and initial parameters are drawn as in
 * peers/recurrent_torch.py.
 *
 * Uses the public header only.
 */
#include "training.h"

enum { ROWS = 64, STEPS = 100, IN = 32, UNITS = 128 };

static ls_graph *build(bool gru)
{
    ls_graph *g;
    ls_node *x, *y;

    must(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){STEPS, IN});
    y = ls_input(g, "y", LS_F32, 2, (int64_t[]){STEPS, 1});
    for (int i = 0; i < 2; i++)
        x = gru ? ls_gru(x, UNITS, i ? "two" : "one")
                : ls_lstm(x, UNITS, i ? "two" : "one");
    must(ls_loss(g, ls_mean_squared_error(ls_dense(x, 1, "zout"), y)));
    return g;
}

int main(int argc, char **argv)
{
    static float x[ROWS * STEPS * IN], y[ROWS * STEPS];
    bool gru = !strcmp(option(argc, argv, "--cell", "lstm"), "gru");
    int workers = number(argc, argv, "--workers", 1);
    FILE *out = metrics(argc, argv);
    ls_trainer_options o = ls_trainer_defaults();
    training r;

    o.optimizer = ls_adam(0.001);
    r = training_open(build(gru), workers, workers, &o);
    draw_params(r.trainer, 0.0884f);
    draw(1, 1, ROWS * STEPS * IN, x);
    draw(2, 1, ROWS * STEPS, y);
    must(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    must(ls_batch_set(r.batch, "y", LS_F32, y, ROWS));
    time_steps(&r, number(argc, argv, "--steps", 20), out);
    training_close(&r);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norms by stored statistics: training leaves these as they are, whatever
 * the optimizer; wrong ones are refused.
 * PyTorch's numbers are in test_import.c, JAX's and gradients in
 * test_ops.c. */
#define _GNU_SOURCE /* nftw */
#include "agreement.h"
#include "folder.h"
#include "layers.h"
#include "models.h"

enum { ROWS = 8, X = 60, OUT = 3 };

/* Norms alone, behind a convolution without a bias, behind a layer that an
 * output reads too, and two behind one layer, with a dropout between to see
 * that what is drawn is as it was. */
static ls_graph *graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x, *label, *hidden;

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 5, 2});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_batch_norm(x, 1e-5, "alone");
    x = conv2d_no_bias(x, 4, (ls_window){3, 3, 1, 1, LS_SAME}, "conv");
    x = ls_relu(ls_batch_norm(x, 1e-3, "taken"));
    x = ls_dropout(ls_flatten(x), 0.25, "drop");
    hidden = ls_dense(x, 7, "hidden");
    x = ls_tanh(ls_batch_norm(hidden, 1e-5, "stays"));
    x = ls_batch_norm(ls_dense(x, OUT, "out"), 0, "first");
    x = ls_batch_norm(x, 1e-5, "second");
    OK(ls_output(g, x, "logits"));
    OK(ls_output(g, hidden, "hidden"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

static const struct {
    const char *name;
    int64_t channels;
} norms[] = {
    {"alone", 2}, {"taken", 4}, {"stays", 7}, {"first", OUT}, {"second", OUT}};
enum { NORMS = sizeof norms / sizeof *norms };

/* Make statistics of one number, that of a norm: seeds differ.  Variances are
 * above 0. */
static void set_statistics(ls_trainer *t)
{
    static const char *const part[] = {"scale", "bias", "mean", "var"};

    for (int i = 0; i < NORMS; i++)
        for (int k = 0; k < 4; k++) {
            char name[32];
            float v[8];

            snprintf(name, sizeof name, "%s.%s", norms[i].name, part[k]);
            fill_uniform(10 * i + k, norms[i].channels, v);
            for (int64_t j = 0; j < norms[i].channels; j++)
                v[j] += k == 3 ? 1.25f : k == 0 ? 1.5f : 0;
            OK(ls_trainer_set(t, name, norms[i].channels, v));
        }
}

static void set_rows(ls_batch *b, float *x, int32_t *label)
{
    fill_uniform(90, ROWS * X, x);
    fill_indices(91, ROWS, OUT, label);
    OK(ls_batch_set(b, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(b, "label", LS_I32, label, ROWS));
}

TEST(test_training)
{
    ls_trainer_options o = ls_trainer_defaults();
    float x[ROWS * X], before[8], after[8];
    int32_t label[ROWS];
    ls_result result;
    char name[32];
    run r;

    o.optimizer = ls_adamw(0.1);
    o.clip_norm = 1;
    r = open_run_on(2, 2, graph(), &o);
    set_statistics(r.trainer);
    set_rows(r.batch, x, label);
    for (int i = 0; i < NORMS; i++)
        for (int k = 0; k < 4; k++) {
            static const char *const part[] = {"mean", "var", "scale", "bias"};
            size_t bytes = (size_t)norms[i].channels * sizeof *before;

            snprintf(name, sizeof name, "%s.%s", norms[i].name, part[k]);
            OK(ls_trainer_get(r.trainer, name, norms[i].channels, before));
            OK(ls_step(r.trainer, r.batch, &result));
            OK(ls_trainer_get(r.trainer, name, norms[i].channels, after));
            ck_assert_msg((memcmp(before, after, bytes) == 0) == (k < 2),
                          "%s", name);
        }
    close_run(&r);
}

TEST(test_refused)
{
    static const double epsilon[] = {-1, (double)INFINITY, (double)NAN};

    for (size_t i = 0; i < COUNT(epsilon); i++) {
        ls_graph *g = empty_graph();
        ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});

        ck_assert_ptr_null(ls_batch_norm(x, epsilon[i], "n"));
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), "is not 0 or above"));
        ls_graph_free(g);
    }
}

MAIN()

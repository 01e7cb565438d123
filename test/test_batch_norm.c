/* Batch norms by stored statistics: training leaves these as they are, whatever
 * the optimizer; a model file with norms folded computes what the trainer does,
 * has no norm where a layer took it in and all others; wrong ones are refused.
 * PyTorch's numbers are in test_torch_file.c, JAX's and gradients in
 * test_ops.c. */
#define _GNU_SOURCE /* nftw */
#include "agreement.h"
#include "folder.h"
#include "models.h"

enum { ROWS = 8, X = 60, OUT = 3 };

/* Norms alone, behind a convolution without a bias, behind a layer that an
 * output reads too, and two behind one layer, with a dropout between to see
 * that what is drawn is as it was. */
static ls_graph *graph(void)
{
    ls_graph *g;
    ls_node *x, *label, *hidden;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 5, 2});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_batch_norm(x, 1e-5, "alone");
    x = ls_conv2d_no_bias(x, 4, (ls_window){3, 3, 1, 1, LS_SAME}, "conv");
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

/* Of one number, that of a norm: seeds differ.  Variances are above 0. */
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

START_TEST(test_training)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(2, 2);
    float x[ROWS * X], before[8], after[8];
    int32_t label[ROWS];
    ls_result result;
    char name[32];
    run r;

    o.optimizer = ls_adamw(0.1);
    o.clip_norm = 1;
    r = open_run(pool, graph(), &o);
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
    ls_pool_close(pool);
}
END_TEST

static bool has_node(const ls_graph *g, const char *op, const char *name)
{
    const ls_node *n;

    for (int i = 0; (n = ls_graph_node(g, i)); i++)
        if (!strcmp(ls_node_op(n), op) && !strcmp(ls_node_name(n), name))
            return true;
    return false;
}

static bool has_param(const ls_graph *g, const char *name)
{
    ls_array_spec p;
    const ls_node *n;

    for (int i = 0; (n = ls_graph_node(g, i)); i++)
        for (int k = 0; ls_node_param(n, k, &p); k++)
            if (!strcmp(p.name, name))
                return true;
    return false;
}

static void compare(ls_trainer *t, ls_batch *b, const float *x,
                    const char *output, int64_t n)
{
    float want[ROWS * 7], got[ROWS * 7];
    double wide[ROWS * 7];
    ls_predictor *p;
    ls_context *c;

    OK(ls_predict(t, b, output, ROWS * n, want));
    OK(ls_predictor_load(&p, in_folder("folded")));
    OK(ls_context_open(&c, p, NULL));
    OK(ls_context_set(c, "x", LS_F32, x, ROWS));
    OK(ls_context_predict(c, output, ROWS * n, got));
    for (int64_t i = 0; i < ROWS * n; i++)
        wide[i] = (double)want[i];
    ck_assert_double_le(max_relative(ROWS * n, got, wide), 2e-6);
    ls_context_close(c);
    ls_predictor_close(p);
}

START_TEST(test_folded)
{
    static const char *const gone[] = {"taken", "first", "second"};
    static const char *const there[] = {"alone", "stays"};
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, graph(), NULL);
    float x[ROWS * X];
    int32_t label[ROWS];
    char before[65], after[65];
    ls_graph *g;

    folder_open();
    set_statistics(r.trainer);
    set_rows(r.batch, x, label);
    ls_trainer_hash(r.trainer, before);
    OK(ls_trainer_save_folded(r.trainer, in_folder("folded")));
    ls_trainer_hash(r.trainer, after);
    ck_assert_str_eq(before, after);
    compare(r.trainer, r.batch, x, "logits", OUT);
    compare(r.trainer, r.batch, x, "hidden", 7);
    OK(ls_graph_load(&g, in_folder("folded")));
    for (size_t i = 0; i < COUNT(gone); i++)
        ck_assert(!has_node(g, "batch_norm", gone[i]));
    for (size_t i = 0; i < COUNT(there); i++)
        ck_assert(has_node(g, "batch_norm", there[i]));
    ck_assert(has_param(g, "conv.bias"));
    ck_assert(!has_param(g, "taken.bias") && !has_param(g, "first.mean"));
    ls_graph_free(g);
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
}
END_TEST

/* Weights that two layers share are left alone, and so are their norms. */
START_TEST(test_shared)
{
    ls_pool *pool = open_pool(1, 1);
    ls_node *x, *y;
    ls_graph *g;
    run r;

    folder_open();
    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){4});
    x = ls_batch_norm(ls_dense_no_bias(x, 4, "a"), 1e-5, "norm");
    OK(ls_tie(g, "b.kernel", "a.kernel", false));
    x = ls_dense_no_bias(x, 4, "b");
    OK(ls_output(g, x, "z"));
    OK(ls_loss(g, ls_mean_squared_error(x, y)));
    r = open_run(pool, g, NULL);
    OK(ls_trainer_save_folded(r.trainer, in_folder("m")));
    OK(ls_graph_load(&g, in_folder("m")));
    ck_assert(has_node(g, "batch_norm", "norm"));
    ls_graph_free(g);
    FAILS(ls_trainer_save_folded(r.trainer, in_folder("no/m")), LS_EIO, "no/m");
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
}
END_TEST

START_TEST(test_refused)
{
    static const double epsilon[] = {-1, (double)INFINITY, (double)NAN};

    for (size_t i = 0; i < COUNT(epsilon); i++) {
        ls_graph *g;
        ls_node *x;

        OK(ls_graph_new(&g));
        x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
        ck_assert_ptr_null(ls_batch_norm(x, epsilon[i], "n"));
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), "is not 0 or above"));
        ls_graph_free(g);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("batch norm");
    TCase *t = tcase_create("batch norm");

    tcase_add_test(t, test_training);
    tcase_add_test(t, test_folded);
    tcase_add_test(t, test_shared);
    tcase_add_test(t, test_refused);
    suite_add_tcase(s, t);
    return run_suite(s);
}

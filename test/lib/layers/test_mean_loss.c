/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses made of arithmetic: their values and gradients are optax's (torch's
 * for the Gaussian one), several heads are one loss, weights leave terms out,
 * and the same bytes come out on any number of workers. */
#include "models.h"

enum { BATCH = 8, WIDTH = 4, SIZE = BATCH * WIDTH };

typedef struct wanted {
    const char *name;
    double loss;
    float w[WIDTH * WIDTH]; /* after one update of sgd 1 */
} wanted;

#include "golden/mean_loss.h"

enum { WANTED = sizeof wanteds / sizeof *wanteds };

/* ------ the losses, of y and of what else there is ------ */

typedef struct nodes {
    ls_node *y, *t, *p, *v, *labels;
} nodes;

static ls_node *absolute(const nodes *n)
{
    return ls_mean_absolute_error(n->y, n->t);
}

static ls_node *huber(const nodes *n)
{
    return ls_huber_loss(n->y, n->t, 0.75);
}

static ls_node *binary(const nodes *n)
{
    return ls_binary_cross_entropy(n->y, n->p);
}

static ls_node *divergence(const nodes *n)
{
    return ls_kl_divergence(ls_log_softmax(n->y), n->p);
}

static ls_node *gaussian(const nodes *n)
{
    return ls_gaussian_loss(n->y, n->v, n->t);
}

static ls_node *labels(const nodes *n)
{
    return ls_mean_loss(ls_label_terms(n->y, n->labels, 0), NULL);
}

static ls_node *smoothed(const nodes *n)
{
    return ls_mean_loss(ls_label_terms(n->y, n->labels, 0.1), NULL);
}

static ls_node *weighted(const nodes *n)
{
    return ls_mean_loss(ls_square(ls_sub(n->y, n->t)), n->v);
}

/* Two heads, of four terms a row and of one. */
static ls_node *heads(const nodes *n)
{
    ls_node *a = ls_mean_over(ls_abs(ls_sub(n->y, n->t)), 0, NULL);
    ls_node *b = ls_label_terms(n->y, n->labels, 0);

    return ls_mean_loss(ls_add(ls_scale_shift(a, 0.25, 0),
                               ls_scale_shift(b, 2, 0)), NULL);
}

static const struct {
    const char *name;
    ls_node *(*build)(const nodes *n);
} losses[] = {
    {"mean absolute error", absolute}, {"huber", huber},
    {"binary cross entropy", binary}, {"kl divergence", divergence},
    {"gaussian", gaussian}, {"labels", labels}, {"smoothed", smoothed},
    {"weighted", weighted}, {"heads", heads}};

/* ------ running them ------ */

typedef struct model {
    run run;
    float x[SIZE], t[SIZE], p[SIZE], v[SIZE];
    int32_t label[BATCH];
} model;

static void fill(model *m)
{
    fill_uniform(1, SIZE, m->x);
    fill_uniform(2, SIZE, m->t);
    fill_uniform(3, SIZE, m->v);
    for (int i = 0; i < SIZE; i++) {
        m->x[i] *= 3;
        m->p[i] = (m->t[i] + 1) / 2;
        m->v[i] = fabsf(m->v[i]) + 0.5f;
    }
    for (int i = 0; i < BATCH; i++)
        m->label[i] = i % WIDTH;
}

static ls_node *input(ls_graph *g, const char *name)
{
    return ls_input(g, name, LS_F32, 1, (int64_t[]){WIDTH});
}

static void set_batch(model *m)
{
    OK(ls_batch_set(m->run.batch, "x", LS_F32, m->x, BATCH));
    OK(ls_batch_set(m->run.batch, "t", LS_F32, m->t, BATCH));
    OK(ls_batch_set(m->run.batch, "p", LS_F32, m->p, BATCH));
    OK(ls_batch_set(m->run.batch, "v", LS_F32, m->v, BATCH));
    OK(ls_batch_set(m->run.batch, "labels", LS_I32, m->label, BATCH));
}

static void open_model(model *m, ls_node *(*build)(const nodes *), int workers)
{
    ls_trainer_options o = ls_trainer_defaults();
    float identity[WIDTH * WIDTH] = {0};
    ls_graph *g = empty_graph();
    nodes n;

    n = (nodes){.y = dense_no_bias(input(g, "x"), WIDTH, "w"),
                .t = input(g, "t"), .p = input(g, "p"), .v = input(g, "v"),
                .labels = ls_input(g, "labels", LS_I32, 0, NULL)};
    OK(ls_loss(g, build(&n)));
    o.optimizer = ls_sgd(1);
    m->run = open_run_on(4, workers, g, &o);
    for (int i = 0; i < WIDTH; i++)
        identity[i * WIDTH + i] = 1;
    OK(ls_trainer_set(m->run.trainer, "w.kernel", WIDTH * WIDTH, identity));
    fill(m);
    set_batch(m);
}

static const wanted *wanted_of(const char *name)
{
    for (int i = 0; i < WANTED; i++)
        if (!strcmp(wanteds[i].name, name))
            return &wanteds[i];
    ck_abort_msg("no numbers for %s", name);
}

LOOP_TEST(test_losses, 0, WANTED)
{
    const wanted *want = wanted_of(losses[_i].name);
    float w[2][WIDTH * WIDTH];
    ls_result r, evaluated;
    model m;

    ck_assert_int_eq(WANTED, sizeof losses / sizeof *losses);
    for (int i = 0; i < 2; i++) {
        open_model(&m, losses[_i].build, 1 + 2 * i);
        OK(ls_evaluate(m.run.trainer, m.run.batch, &evaluated));
        OK(ls_step(m.run.trainer, m.run.batch, &r));
        OK(ls_trainer_get(m.run.trainer, "w.kernel", WIDTH * WIDTH, w[i]));
        close_run(&m.run);
    }
    ck_assert(r.loss == evaluated.loss);
    ck_assert_msg(fabs((double)r.loss - want->loss) <= 1e-6 * want->loss,
                  "%s is %.9g, not %.9g", want->name, (double)r.loss,
                  want->loss);
    ck_assert_mem_eq(w[0], w[1], sizeof w[0]);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        ck_assert_msg(fabsf(w[0][i] - want->w[i]) <= 1e-6f,
                      "%s: weight %d becomes %.9g, not %.9g", want->name, i,
                      (double)w[0][i], (double)want->w[i]);
}

/* A term of weight 0 may be anything finite: it is left out. */
TEST(test_ignored)
{
    ls_result r[2];
    model m;

    open_model(&m, weighted, 2);
    for (int i = 0; i < BATCH; i++)
        m.v[i * WIDTH + i % WIDTH] = 0;
    OK(ls_evaluate(m.run.trainer, m.run.batch, &r[0]));
    for (int i = 0; i < BATCH; i++)
        m.t[i * WIDTH + i % WIDTH] = 1000;
    OK(ls_evaluate(m.run.trainer, m.run.batch, &r[1]));
    ck_assert(r[0].loss == r[1].loss && r[0].loss > 0);
    close_run(&m.run);
}

/* What cannot be a loss, and smoothing that is no share, is refused. */
TEST(test_refusals)
{
    ls_graph *g;
    ls_node *x, *t;

    for (int i = 0; i < 3; i++) {
        static const char *const words[] = {"(4) and (3) differ",
                                            "smoothing 1 is not in [0,1)",
                                            "low 0 is above high -1"};

        OK(ls_graph_new(&g));
        x = input(g, "x");
        t = ls_input(g, "t", LS_F32, 1, (int64_t[]){3});
        ck_assert_ptr_null(
            i == 0   ? ls_mean_loss(x, t)
            : i == 1 ? ls_label_terms(x, ls_input(g, "l", LS_I32, 0, NULL), 1)
                     : ls_huber_loss(x, x, -1));
        ck_assert_msg(strstr(ls_errmsg(), words[i]), "\"%s\"", ls_errmsg());
        ck_assert_ptr_null(ls_mean_loss(NULL, NULL));
        ck_assert_ptr_null(ls_kl_divergence(NULL, NULL));
        ls_graph_free(g);
    }
}

MAIN()

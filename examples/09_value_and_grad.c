/* SPDX-License-Identifier: BSD-3-Clause */
/* The two calls of JAX's training loops, value_and_grad and optimizer.update,
 * with something of one's own between: the gradient's norm is printed, and
 * noise is added to it as differential privacy does.  A second trainer takes
 * plain steps for comparison.  Exits 1 when the noisy one has not learned, or
 * when without noise the two calls leave other bytes than ls_step. */
#include <lockstep.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 64, STEPS = 150, MOST = 64 };

/* y = x0 x1 for rows on a grid. */
static void make_data(float *xs, float *ys)
{
    for (int i = 0; i < ROWS; i++) {
        xs[2 * i] = (float)(i / 8) / 3.5f - 1;
        xs[2 * i + 1] = (float)(i % 8) / 3.5f - 1;
        ys[i] = xs[2 * i] * xs[2 * i + 1];
    }
}

/* A trainer with what it needs to step. */
typedef struct learner {
    ls_trainer *trainer;
    ls_batch *batch;
    ls_gradients *gradients;
} learner;

static int open_learner(learner *l, ls_pool *pool, const ls_graph *g,
                        const float *xs, const float *ys)
{
    ls_trainer_options o = ls_trainer_defaults();
    int status;

    o.optimizer = ls_adam(1e-2);
    if ((status = ls_trainer_open(&l->trainer, pool, g, &o)) < 0 ||
        (status = ls_batch_open(&l->batch, l->trainer)) < 0 ||
        (status = ls_gradients_open(&l->gradients, l->trainer, 1)) < 0 ||
        (status = ls_batch_set(l->batch, "x", LS_F32, xs, ROWS)) < 0 ||
        (status = ls_batch_set(l->batch, "y", LS_F32, ys, ROWS)) < 0)
        return status;
    return 0;
}

static void close_learner(learner *l)
{
    ls_gradients_close(l->gradients);
    ls_batch_close(l->batch);
    ls_trainer_close(l->trainer);
}

/* Add normal numbers times `size` to the gradient of every parameter; *norm is
 * the square of what it was. */
static int add_noise(learner *l, int step, float size, double *norm)
{
    float g[MOST], noise[MOST];
    int64_t shape[LS_MAX_RANK];

    *norm = 0;
    for (int p = 0; p < ls_trainer_params(l->trainer); p++) {
        const char *name = ls_trainer_param_name(l->trainer, p);
        int rank = ls_trainer_param_shape(l->trainer, p, shape);
        int64_t n = 1;

        for (int i = 0; i < rank; i++)
            n *= shape[i];
        if (n > MOST || ls_gradients_get(l->gradients, name, n, g) < 0)
            return -1;
        ls_random_normal(ls_key_fold_in(ls_key_new(p), (uint32_t)step), 0, n,
                         noise);
        for (int64_t i = 0; i < n; i++) {
            *norm += (double)(g[i] * g[i]);
            g[i] += size * noise[i];
        }
        if (ls_gradients_set(l->gradients, name, n, g) < 0)
            return -1;
    }
    return 0;
}

/* value_and_grad, something between, optimizer.update */
static int two_calls(learner *l, int step, float noise, ls_result *r)
{
    double norm;

    if (ls_gradients_compute(l->gradients, l->batch, r) < 0 ||
        add_noise(l, step, noise, &norm) < 0)
        return -1;
    if (noise > 0 && step % 50 == 0)
        printf("step %d: loss %.4f, squared norm %.5f\n", step,
               (double)r->loss, norm);
    return ls_gradients_apply(l->gradients, r);
}

static int train(learner *noisy, learner *exact, learner *plain, float *loss)
{
    char one[65], two[65];
    ls_result r;

    for (int step = 0; step < STEPS; step++) {
        if (two_calls(exact, step, 0, &r) < 0 ||
            ls_step(plain->trainer, plain->batch, &r) < 0 ||
            two_calls(noisy, step, 0.002f, &r) < 0)
            return -1;
        *loss = r.loss;
    }
    if (ls_trainer_hash(exact->trainer, one) < 0 ||
        ls_trainer_hash(plain->trainer, two) < 0)
        return -1;
    printf("with noise: loss %.4f\nwithout: %s\n", (double)*loss,
           strcmp(one, two) ? "other bytes than ls_step" : "as ls_step");
    return strcmp(one, two);
}

static int build(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *h = ls_gelu(ls_dense(x, 32, "hidden"));

    return ls_loss(g, ls_mean_squared_error(ls_dense(h, 1, "out"), y));
}

int main(void)
{
    static float xs[2 * ROWS], ys[ROWS];
    learner l[3] = {{0}};
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    float loss = 1;
    int status;

    make_data(xs, ys);
    if ((status = ls_mesh_open(&mesh, NULL)) == 0 &&
        (status = ls_pool_open(&pool, mesh, NULL)) == 0 &&
        (status = ls_graph_new(&g)) == 0)
        status = build(g);
    for (int i = 0; i < 3 && status == 0; i++)
        status = open_learner(&l[i], pool, g, xs, ys);
    if (status == 0)
        status = train(&l[0], &l[1], &l[2], &loss);
    if (status < 0)
        puts(ls_errmsg());
    for (int i = 0; i < 3; i++)
        close_learner(&l[i]);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 && loss < 0.05f ? 0 : 1;
}

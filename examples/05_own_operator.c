/* SPDX-License-Identifier: BSD-3-Clause */
/* An operator of one's own, softplus, in a graph of the library's, and a loss
 * of one's own, Huber's.
 *
 *     softplus  y = log(1 + e^x)           dx = dy / (1 + e^-x)
 *     Huber     e^2 / 2, or |e| - 1/2      dy = w e, or w and -w
 *               where |e| > 1, e = y - t
 *
 * The gradients are checked by central differences before anything is trained:
 * a step of sgd with learning rate 1 takes each parameter down by its gradient,
 * and moving one parameter by +- h and evaluating gives the same number.  Exits
 * 1 when the check fails or the network has not learned. */
#include <lockstep.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 64, HIDDEN = 16, PARAMS = HIDDEN, STEPS = 600 };

static int softplus(void *user, const ls_own_run *r)
{
    const float *x = r->x[0];

    (void)user;
    for (int64_t i = 0; i < r->rows * r->y_size; i++)
        r->y[i] = x[i] > 20 ? x[i] : log1pf(expf(x[i]));
    return 0;
}

static int softplus_gradient(void *user, const ls_own_run *r)
{
    const float *x = r->x[0];

    (void)user;
    for (int64_t i = 0; i < r->rows * r->y_size; i++)
        r->dx[0][i] = r->dy[i] / (1 + expf(-x[i]));
    return 0;
}

static int huber(void *user, const ls_own_run *r)
{
    const float *y = r->x[0], *t = r->x[1];
    int64_t n = r->x_size[0];

    (void)user;
    for (int64_t i = 0; i < r->rows * n; i++) {
        float w = r->weights ? r->weights[i / n] : 1, e = y[i] - t[i];
        float loss = fabsf(e) > 1 ? fabsf(e) - 0.5f : e * e / 2;

        if (r->dx[0]) /* none when the loss alone is wanted */
            r->dx[0][i] = w * (fabsf(e) > 1 ? copysignf(1, e) : e);
        r->sums->loss += (double)(w * loss);
        r->sums->weight += (double)w;
    }
    return 0;
}

static void build(ls_graph *g)
{
    static const ls_own_op own = {.name = "softplus", .inputs = 1,
                                  .forward = softplus,
                                  .backward = softplus_gradient};
    static const ls_own_op own_loss = {.name = "huber", .inputs = 2,
                                       .forward = huber};
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    ls_node *t = ls_input(g, "t", LS_F32, 1, (int64_t[]){1});
    ls_node *h = ls_dense(x, HIDDEN, "hidden");

    h = ls_own(&own, &h);
    h = ls_dense(h, 1, "out");
    ls_loss(g, ls_own_loss(&own_loss, (ls_node *[]){h, t}));
}

/* t = 2 |x| - 1 on [-1, 1]. */
static void make_data(float *x, float *t)
{
    for (int i = 0; i < ROWS; i++) {
        x[i] = (float)i * 2 / (ROWS - 1) - 1;
        t[i] = 2 * fabsf(x[i]) - 1;
    }
}

/* A trainer of the graph, and a batch of it with the data. */
static int open_trainer(ls_trainer **t, ls_batch **b, ls_pool *pool,
                        const ls_graph *g, ls_optimizer optimizer)
{
    static float x[ROWS], y[ROWS];
    ls_trainer_options o = ls_trainer_defaults();
    int status;

    make_data(x, y);
    o.optimizer = optimizer;
    status = ls_trainer_open(t, pool, g, &o);
    if (status == 0)
        status = ls_batch_open(b, *t);
    if (status == 0)
        status = ls_batch_set(*b, "x", LS_F32, x, ROWS);
    return status == 0 ? ls_batch_set(*b, "t", LS_F32, y, ROWS) : status;
}

/* ------ the gradient of the weights below the operator, twice ------ */

/* The loss where parameter i of p is moved by h. */
static int moved(ls_trainer *t, const ls_batch *b, float p[PARAMS], int i,
                 float h, double *loss)
{
    float keep = p[i];
    ls_result r = {0};
    int status;

    p[i] += h;
    status = ls_trainer_set(t, "hidden.kernel", PARAMS, p);
    if (status == 0)
        status = ls_evaluate(t, b, &r);
    p[i] = keep;
    *loss = (double)r.loss;
    return status;
}

static int differences(ls_trainer *t, const ls_batch *b, double d[PARAMS])
{
    const float h = 1.0f / 64;
    float p[PARAMS];
    int status = ls_trainer_get(t, "hidden.kernel", PARAMS, p);

    for (int i = 0; i < PARAMS && status == 0; i++) {
        double up = 0, down = 0;

        status = moved(t, b, p, i, h, &up);
        if (status == 0)
            status = moved(t, b, p, i, -h, &down);
        d[i] = (up - down) / (2 * (double)h);
    }
    return status == 0 ? ls_trainer_set(t, "hidden.kernel", PARAMS, p)
                       : status;
}

static int gradient(ls_trainer *t, const ls_batch *b, double g[PARAMS])
{
    float before[PARAMS], after[PARAMS];
    ls_result r;
    int status = ls_trainer_get(t, "hidden.kernel", PARAMS, before);

    if (status == 0)
        status = ls_step(t, b, &r);
    if (status == 0)
        status = ls_trainer_get(t, "hidden.kernel", PARAMS, after);
    for (int i = 0; i < PARAMS && status == 0; i++)
        g[i] = (double)(before[i] - after[i]);
    return status;
}

static int check_gradient(ls_pool *pool, const ls_graph *graph, double *worst)
{
    double d[PARAMS], g[PARAMS];
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    int status = open_trainer(&t, &b, pool, graph, ls_sgd(1));

    if (status == 0)
        status = differences(t, b, d);
    if (status == 0)
        status = gradient(t, b, g);
    *worst = 0;
    for (int i = 0; i < PARAMS && status == 0; i++)
        *worst = fmax(*worst, fabs(d[i] - g[i]));
    ls_batch_close(b);
    ls_trainer_close(t);
    return status;
}

/* ------ training ------ */

static int train(ls_pool *pool, const ls_graph *g, ls_result *last)
{
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    int status = open_trainer(&t, &b, pool, g, ls_adam(1e-2));

    for (int step = 0; step < STEPS && status == 0; step++)
        status = ls_step(t, b, last);
    ls_batch_close(b);
    ls_trainer_close(t);
    return status;
}

int main(void)
{
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_result last = {.loss = 1};
    double worst = 1;
    int status = ls_mesh_open(&mesh, NULL);

    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = ls_graph_new(&g);
    if (status == 0) {
        build(g);
        status = check_gradient(pool, g, &worst);
    }
    if (status == 0)
        status = train(pool, g, &last);
    if (status == 0)
        printf("gradient and differences differ by %.1e; loss after %d steps "
               "%.5f\n", worst, STEPS, (double)last.loss);
    else
        puts(ls_errmsg());
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 && worst < 1e-3 && last.loss < 0.01f ? 0 : 1;
}

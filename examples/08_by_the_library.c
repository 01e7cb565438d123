/* SPDX-License-Identifier: BSD-3-Clause */
/* What 07_by_hand.c does, by the library: the model is a graph, and one call
 * makes the step.  It prints the same lines.  Exits 1 when it has not
 * learned. */
#include <lockstep.h>

#include <stdio.h>

enum { ROWS = 16, DEVICES = 4, STEPS = 60 };

/* Points of y = 3 x0 - 2 x1 + 1. */
static void make_data(float x[ROWS][2], float y[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = (float)(i % 4) / 4;
        x[i][1] = (float)(i * 7 % 16) / 16;
        y[i] = 3 * x[i][0] - 2 * x[i][1] + 1;
    }
}

/* One dense layer from two numbers to one, and the mean of squared errors. */
static int build(ls_graph **g)
{
    static const int64_t two = 2, one = 1;
    ls_node *x, *y;
    int status = ls_graph_new(g);

    if (status < 0)
        return status;
    x = ls_input(*g, "x", LS_F32, 1, &two);
    y = ls_input(*g, "y", LS_F32, 1, &one);
    return ls_loss(*g, ls_mean_squared_error(ls_dense(x, 1, "line"), y));
}

/* Four devices, and parameters that start from 0. */
static int open_trainer(ls_trainer **t, ls_pool *pool, const ls_graph *g)
{
    ls_trainer_options o = ls_trainer_defaults();
    int status;

    o.optimizer = ls_sgd(0.5);
    status = ls_trainer_open(t, pool, g, &o);
    if (status == 0)
        status = ls_trainer_set(*t, "line.kernel", 2, (float[2]){0, 0});
    return status;
}

static int train(ls_trainer *t, ls_batch *b, float *loss)
{
    static float x[ROWS][2], y[ROWS];
    ls_result result;

    make_data(x, y);
    if (ls_batch_set(b, "x", LS_F32, x, ROWS) < 0 ||
        ls_batch_set(b, "y", LS_F32, y, ROWS) < 0)
        return -1;
    for (int i = 0; i < STEPS; i++) {
        if (ls_step(t, b, &result) < 0)
            return -1;
        if (i % 10 == 0)
            printf("step %03d  loss %.6f\n", i, (double)result.loss);
    }
    *loss = result.loss;
    return 0;
}

static int show(const ls_trainer *t)
{
    float w[2], b;

    if (ls_trainer_get(t, "line.kernel", 2, w) < 0 ||
        ls_trainer_get(t, "line.bias", 1, &b) < 0)
        return -1;
    printf("y = %.3f x0 + %.3f x1 + %.3f\n", (double)w[0], (double)w[1],
           (double)b);
    return 0;
}

int main(void)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *graph = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    float loss = 1;
    int good;

    o.devices = DEVICES;
    good = ls_mesh_open(&mesh, &o) == 0 &&
           ls_pool_open(&pool, mesh, NULL) == 0 && build(&graph) == 0 &&
           open_trainer(&t, pool, graph) == 0 && ls_batch_open(&b, t) == 0 &&
           train(t, b, &loss) == 0 && show(t) == 0;
    if (!good)
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(graph);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return good && loss < 1e-3f ? 0 : 1;
}

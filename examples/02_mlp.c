/* SPDX-License-Identifier: BSD-3-Clause */
/* The program of lockstep.h with its data: a small network learns the product
 * of two numbers.  Prints the first and the last loss; exits 1 when it has not
 * learned. */
#include <lockstep.h>
#include <stdio.h>

enum { ROWS = 64, SIDE = 8, STEPS = 200 };

/* x on a grid over [-1,1] x [-1,1], y the product. */
static void make_data(float *xs, float *ys)
{
    for (int i = 0; i < ROWS; i++) {
        float a = (float)(i / SIDE) * 2 / (SIDE - 1) - 1;
        float b = (float)(i % SIDE) * 2 / (SIDE - 1) - 1;

        xs[2 * i] = a;
        xs[2 * i + 1] = b;
        ys[i] = a * b;
    }
}

static void build(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *h = ls_gelu(ls_dense(x, 32, "hidden"));

    ls_loss(g, ls_mean_squared_error(ls_dense(h, 1, "out"), y));
}

/* Train, and give the losses before the first and the last update. */
static int train(ls_trainer *t, ls_batch *b, float *first, float *last)
{
    static float xs[2 * ROWS], ys[ROWS];
    ls_result r;

    make_data(xs, ys);
    for (int step = 0; step < STEPS; step++) {
        if (ls_batch_set(b, "x", LS_F32, xs, ROWS) < 0 ||
            ls_batch_set(b, "y", LS_F32, ys, ROWS) < 0 || ls_step(t, b, &r) < 0)
            return -1;
        if (step == 0)
            *first = r.loss;
        *last = r.loss;
    }
    return 0;
}

int main(void)
{
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_trainer_options o = ls_trainer_defaults();
    float first = 0, last = 1;
    int status;

    o.optimizer = ls_adam(1e-2);
    status = ls_mesh_open(&mesh, NULL); /* 8 devices, all cores */
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = ls_graph_new(&g);
    if (status == 0) {
        build(g);
        status = ls_trainer_open(&t, pool, g, &o);
    }
    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0)
        status = train(t, b, &first, &last);
    if (status == 0)
        printf("loss %.4f, after %d steps %.4f\n", (double)first, STEPS,
               (double)last);
    else
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 && last < 0.01f ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A gated unit and a loss of one's own, written as arithmetic on nodes: no
 * backward pass is written, and each chain of operators is one pass over
 * memory, a line "formula" in what is printed.
 *
 *     gated unit  h = tanh(a) / (1 + e^-b)      a and b dense layers of x
 *     log cosh    log cosh d = |d| + log(1 + e^(-2 |d|)) - log 2,  d = y - t
 *
 * Exits 1 when the network has not learned. */
#include <lockstep.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 64, HIDDEN = 16, STEPS = 400 };

static ls_node *gated(ls_node *x, int64_t n, const char *value,
                      const char *gate)
{
    return ls_mul(ls_tanh(ls_dense(x, n, value)),
                  ls_sigmoid(ls_dense(x, n, gate)));
}

/* softplus(-2 |d|) + |d| - log 2, a value for each element; its mean is the
 * loss. */
static ls_node *log_cosh(ls_node *y, ls_node *t)
{
    ls_node *size = ls_abs(ls_sub(y, t));
    ls_node *tail = ls_softplus(ls_scale_shift(size, -2, 0));

    return ls_mean_loss(ls_scale_shift(ls_add(size, tail), 1, -log(2)), NULL);
}

static void build(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    ls_node *t = ls_input(g, "t", LS_F32, 1, (int64_t[]){1});
    ls_node *h = gated(x, HIDDEN, "value", "gate");

    ls_loss(g, log_cosh(ls_dense(h, 1, "out"), t));
}

/* t = sin(3 x) on [-1, 1]. */
static int set_data(ls_batch *b)
{
    static float x[ROWS], t[ROWS];

    for (int i = 0; i < ROWS; i++) {
        x[i] = (float)i * 2 / (ROWS - 1) - 1;
        t[i] = sinf(3 * x[i]);
    }
    if (ls_batch_set(b, "x", LS_F32, x, ROWS) < 0)
        return -1;
    return ls_batch_set(b, "t", LS_F32, t, ROWS);
}

/* What the plan made of the graph. */
static void print_operators(const ls_trainer *t)
{
    ls_cost cost;

    for (int i = 0; ls_trainer_cost(t, i, &cost); i++)
        printf("%-10s %s\n", cost.op, cost.name);
}

static int train(ls_trainer *t, ls_batch *b)
{
    ls_result r = {0};

    for (int step = 0; step < STEPS; step++) {
        if (ls_step(t, b, &r) < 0)
            return -1;
        if (step % 100 == 0 || step == STEPS - 1)
            printf("step %3d  loss %.5f\n", step, (double)r.loss);
    }
    return r.loss < 0.01f ? 0 : 1;
}

int main(void)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    int status = -1;

    o.optimizer = ls_adam(0.01);
    if (ls_mesh_open(&mesh, NULL) == 0 &&
        ls_pool_open(&pool, mesh, NULL) == 0 && ls_graph_new(&g) == 0) {
        build(g);
        if (ls_trainer_open(&t, pool, g, &o) == 0 &&
            ls_batch_open(&b, t) == 0 && set_data(b) == 0) {
            print_operators(t);
            status = train(t, b);
        }
    }
    if (status < 0)
        fprintf(stderr, "%s\n", ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of a step when there is next to nothing to compute: linear
 * regression, 64 rows, 8 -> 4, two devices.  What is left is the engine itself:
 * barriers, reduction, update.  With --empty 1 not even that: one parameter,
 * whose gradient is 0, which leaves what every step costs.
 *
 * Uses the public header only and links the shared library, as a user would.
 * Writes the metrics form of lockstep-train: a line a block, whose "ms" is the
 * mean of the block's steps.  A clock read costs a good part of such a step,
 * so it is not read at every one.
 */
#include "bench.h"

enum { ROWS = 64, IN = 8, OUT = 4, BLOCK = 1000 };

typedef struct run {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
    float x[ROWS * IN], y[ROWS * OUT];
} run;

/* n numbers of the generator's normal distribution, rounded to float. */
static void draw(ls_numpy *rs, int n, float *out)
{
    double value[ROWS * IN];
    ls_numpy_randn(rs, n, value);
    for (int i = 0; i < n; i++)
        out[i] = (float)value[i];
}

static void open_pool(run *r, int workers)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options p = ls_pool_defaults();
    m.devices = 2;
    m.workers = workers;
    p.pin_caller = true;
    m.pin = true;
    must(ls_mesh_open(&r->mesh, &m));
    must(ls_pool_open(&r->pool, r->mesh, &p));
}

static void open_trainer(run *r)
{
    ls_graph *g;
    ls_trainer_options o = ls_trainer_defaults();
    o.mean = LS_MEAN_OF_SHARDS;
    must(ls_graph_new(&g));
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    must(ls_loss(g, ls_mean_squared_error(ls_dense(x, OUT, "linear"), y)));
    must(ls_trainer_open(&r->trainer, r->pool, g, &o));
    ls_graph_free(g);
}

static int no_gradient(void *user, int device, const ls_shard *shard,
                       const float *const *params, float *const *grads,
                       ls_sums *sums)
{
    (void)user, (void)device, (void)params;
    sums->weight = (double)shard->rows;
    if (grads)
        grads[0][0] = 0;
    return 0;
}

static void open_empty(run *r)
{
    static const ls_array_spec input[] = {{"x", LS_F32, 1, {IN}},
                                          {"y", LS_F32, 1, {OUT}}};
    static const ls_array_spec param = {"w", LS_F32, 1, {1}};
    ls_gradient g = {no_gradient, NULL, 2, 1, input, &param};
    ls_trainer_options o = ls_trainer_defaults();
    must(ls_trainer_open_gradient(&r->trainer, r->pool, &g, &o));
}

static void open_batch(run *r)
{
    ls_numpy rs;
    ls_numpy_seed(&rs, 7);
    draw(&rs, ROWS * IN, r->x);
    draw(&rs, ROWS * OUT, r->y);
    must(ls_batch_open(&r->batch, r->trainer));
    must(ls_batch_set(r->batch, "x", LS_F32, r->x, ROWS));
    must(ls_batch_set(r->batch, "y", LS_F32, r->y, ROWS));
}

static void time_block(run *r, int block, FILE *out)
{
    ls_result result;
    double start = now_ms();
    for (int i = 0; i < BLOCK; i++)
        must(ls_step(r->trainer, r->batch, &result));
    double ms = (now_ms() - start) / BLOCK;
    fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g}\n", block,
            (double)result.loss, ms);
}

int main(int argc, char **argv)
{
    run r;
    int blocks = number(argc, argv, "--steps", 20);
    FILE *out = metrics(argc, argv);
    open_pool(&r, number(argc, argv, "--workers", 1));
    if (number(argc, argv, "--empty", 0))
        open_empty(&r);
    else
        open_trainer(&r);
    open_batch(&r);
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < blocks; i++)
        time_block(&r, i, out);
    ls_batch_close(r.batch);
    ls_trainer_close(r.trainer);
    ls_pool_close(r.pool);
    ls_mesh_close(r.mesh);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

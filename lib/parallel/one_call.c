/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of linear regression in one call, made of the same parts as
 * everything else. */
#include "base/error.h"
#include <lockstep/one_call.h>
#include <lockstep/ops.h>
#include <lockstep/trainer.h>

/* Everything that the call opens, closed in reverse. */
typedef struct call {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
} call;

static int open_pool(call *c, int devices)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status;

    o.devices = devices;
    if ((status = ls_mesh_open(&c->mesh, &o)) < 0)
        return status;
    return ls_pool_open(&c->pool, c->mesh, NULL);
}

static int build(call *c, int64_t d_in, int64_t d_out)
{
    int status = ls_graph_new(&c->graph);
    ls_node *x, *y;

    if (status < 0)
        return status;
    x = ls_input(c->graph, "x", LS_F32, 1, &d_in);
    y = ls_input(c->graph, "y", LS_F32, 1, &d_out);
    return ls_loss(c->graph, ls_mean_squared_error(ls_dense(x, d_out, ""), y));
}

static int train(call *c, int64_t seed, double lr, const float *x,
                 const float *y, int64_t rows, ls_result *r)
{
    ls_trainer_options o = ls_trainer_defaults();
    int status;

    o.seed = seed;
    o.optimizer = ls_sgd(lr);
    o.mean = LS_MEAN_OF_SHARDS;
    o.even_rows = true;
    if ((status = ls_trainer_open(&c->trainer, c->pool, c->graph, &o)) < 0 ||
        (status = ls_batch_open(&c->batch, c->trainer)) < 0 ||
        (status = ls_batch_set(c->batch, "x", LS_F32, x, rows)) < 0 ||
        (status = ls_batch_set(c->batch, "y", LS_F32, y, rows)) < 0)
        return status;
    return ls_step(c->trainer, c->batch, r);
}

int ls_data_parallel_step(int64_t seed, const float *x, const float *y,
                          int64_t rows, int64_t d_in, int64_t d_out,
                          int devices, double lr, float *mean_loss)
{
    LS__NEED(x);
    LS__NEED(y);
    LS__NEED(mean_loss);

    call c = {0};
    ls_result r;
    int status;

    if (devices < 1)
        return ls__fail(LS_EINVAL, "%d devices: there must be one or more",
                        devices);
    if ((status = open_pool(&c, devices)) == 0 &&
        (status = build(&c, d_in, d_out)) == 0 &&
        (status = train(&c, seed, lr, x, y, rows, &r)) == 0)
        *mean_loss = r.loss;
    ls_batch_close(c.batch);
    ls_trainer_close(c.trainer);
    ls_graph_free(c.graph);
    ls_pool_close(c.pool);
    ls_mesh_close(c.mesh);
    return status;
}

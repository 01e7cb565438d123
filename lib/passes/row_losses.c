/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss of each row of a batch: each device computes its rows one by one,
 * so that a row's number depends on no other row. */
#include "base/assert.h"
#include "base/error.h"
#include "pool/pool.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/run_step.h"
#include "ranks/sync_points.h"
#include "train/verdict.h"

#include <limits.h>
#include <stdlib.h>

/* An output with one element a row: devices' rows are gathered like it. */
static const ls__goal one_number = {.size = 1};

static int compute(ls__step *s, int device, const ls_shard *shard)
{
    const ls_trainer *t = s->trainer;
    const void **row = s->query.row + device * t->model.inputs;
    float *loss = s->query.out + shard->first;
    int status = 0;

    LS__ASSERT(shard->first + shard->rows <= s->all);
    for (int64_t i = 0; i < shard->rows && status >= 0; i++) {
        ls_shard one = ls__device_row(t, shard, i, row);
        ls_sums sums = {.correct = __builtin_nan("")};

        one.weights = NULL;
        status = ls__device_run(t, ls__device_context(t, device), device, &one,
                                NULL, &sums);
        loss[i] = (float)(sums.loss / sums.weight);
    }
    return status < 0 ? status : 0;
}

static void run_device(ls__step *s, int worker, int device)
{
    (void)worker;
    ls__phase_shards(s, device, compute);
}

/* clang-format off */
static const ls__pass
    alone = {.trusted = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"row losses", LS__GRADIENTS, .run_device = run_device}}},
    with_others = {.trusted = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = ls__phase_prepare},
        {"row losses", LS__GRADIENTS, .run_device = run_device},
        {"reports", LS__REDUCE, .run = ls__phase_reports, .meets = true},
        {"outputs", LS__REDUCE, .run = ls__phase_outputs}}};
/* clang-format on */

static int check(ls__step *s, int64_t n)
{
    int status = s->query.row ? ls__step_set_rows(s, NULL) : LS_ENOMEM;

    return status < 0 || n == s->all
               ? status
               : ls__fail(LS_ESHAPE, "row losses: room for %lld, and the batch "
                          "has %lld row%s", (long long)n, (long long)s->all,
                          ls__s(s->all));
}

int ls_row_losses(ls_trainer *t, const ls_batch *batch, int64_t n, float *loss)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(loss);

    ls__step s = {.trainer = t, .batch = batch,
                  .query = {.out = loss, .output = &one_number,
                            .asks = INT_MIN},
                  .pass = t->ranks ? &with_others : &alone};
    size_t rooms = (size_t)t->devices.count * (size_t)t->model.inputs;
    int status = ls__pool_take(t->pool);

    if (status < 0)
        return status;
    s.query.row = ls__new(rooms, sizeof *s.query.row, "rows");
    status = ls__step_run(&s, check(&s, n));
    if (status == 0)
        status = ls__verdict_fail_user(&s);
    free(s.query.row);
    ls__pool_give(t->pool);
    return status;
}

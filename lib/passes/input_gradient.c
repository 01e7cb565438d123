/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the loss by an input.  A step has no use for it, so it has a
 * plan of its own, which goes backward to the inputs and is made when the first
 * gradient is asked for; parameters are the trainer's.  Each device computes
 * the rows of its shard, and what the sum over devices is multiplied by in a
 * step multiplies them. */
#include "passes/input_gradient.h"
#include "base/assert.h"
#include "base/error.h"
#include "pool/pool.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/run_step.h"
#include "ranks/sync_points.h"
#include "train/verdict.h"

#include <stdlib.h>
#include <string.h>

struct ls__by_inputs {
    ls__beside own;
    float **grad_of; /* [device here * params + declared] into the device's own
                        gradient, for what is computed all the same */
};

/* ------ opening and closing ------ */

void ls__by_inputs_close(struct ls__by_inputs *b)
{
    if (!b)
        return;
    ls__beside_close(&b->own);
    free(b->grad_of);
    free(b);
}

static void point_at_gradients(struct ls__by_inputs *b, const ls_trainer *t)
{
    const ls__params *p = &t->model.params;

    LS__ASSERT(b->own.plan->params == p->count);
    for (int d = 0; d < b->own.devices; d++)
        for (int i = 0; i < p->count; i++)
            if (!b->own.plan->left_out[i])
                b->grad_of[d * p->count + i] =
                    t->grad.device[d] + ls__params_declared(p, i)->offset;
}

static int fill(struct ls__by_inputs *b, const ls_trainer *t)
{
    int status = ls__beside_open(&b->own, t, LS__TO_INPUTS, NULL);

    if (status < 0)
        return status;
    b->grad_of = ls__new((size_t)b->own.devices * (size_t)b->own.plan->params,
                         sizeof *b->grad_of, "gradients");
    if (!b->grad_of)
        return LS_ENOMEM;
    point_at_gradients(b, t);
    return 0;
}

/* The pool is taken. */
static int open_once(ls_trainer *t)
{
    struct ls__by_inputs *b;
    int status;

    if (t->by_inputs)
        return 0;
    if (!(b = ls__new(1, sizeof *b, "gradients by inputs")))
        return LS_ENOMEM;
    if ((status = fill(b, t)) < 0) {
        ls__by_inputs_close(b);
        return status;
    }
    t->by_inputs = b;
    return 0;
}

/* ------ phases ------ */

static bool prepare(ls__step *s, int worker)
{
    ls__beside_pack(&s->trainer->by_inputs->own, s->trainer, worker);
    return true;
}

static ls_shard shard_of(const ls__step *s, int device, int micro)
{
    ls_shard shard = ls__step_shard(s, device, micro);

    shard.train = s->query.drops;
    return shard;
}

/* Adds a device's loss to its report: as a step does, with the sums of
 * micro-batches one after the other. */
static void compute(ls__step *s, int worker, int device)
{
    const ls_trainer *t = s->trainer;
    const struct ls__by_inputs *b = t->by_inputs;
    ls__context *context = b->own.context[device];
    ls__report *report = ls__step_report_of(s, device);
    int64_t size = s->query.output->size;
    int status = 0;

    (void)worker;
    report->sums = (ls_sums){0};
    ls__step_report(s, report);
    for (int m = 0; m < t->micro && status >= 0; m++) {
        ls_shard shard = shard_of(s, device, m);
        ls_sums sums = {.correct = __builtin_nan("")};

        status = ls__exec_input_gradient(
            context, &b->own.weights, &shard,
            b->grad_of + device * t->model.params.count, &sums, s->query.input,
            s->query.out + shard.first * size);
        report->sums.loss += sums.loss;
        report->sums.weight += sums.weight;
        report->failed = ls__device_failed(context);
    }
    report->status = status;
}

/* Rows of weight 0 have no part in the loss, whatever they hold. */
static void scale_rows(const ls__step *s, const ls_shard *shard, float own,
                       float factor)
{
    int64_t size = s->query.output->size;
    float *out = s->query.out + shard->first * size;

    for (int64_t i = 0; i < shard->rows; i++, out += size) {
        if (shard->weights && shard->weights[i] == 0) {
            memset(out, 0, (size_t)size * sizeof *out);
            continue;
        }
        ls__kernels()->scale(size, own, out);
        ls__kernels()->scale(size, factor, out);
    }
}

/* The factors of a step's reduction. */
static void scale(ls__step *s, int worker, int device)
{
    const ls_trainer *t = s->trainer;
    const ls__report *report = &s->notes.report[t->devices.first + device];
    bool shards = t->options.mean == LS_MEAN_OF_SHARDS;
    float own = shards ? 1.0f / (float)report->sums.weight : 1;

    (void)worker;
    if (s->status < 0 || ls__verdict_judge(s) == LS__FAILED)
        return;
    for (int m = 0; m < t->micro; m++) {
        ls_shard shard = shard_of(s, device, m);

        scale_rows(s, &shard, own, ls__verdict_factor(s));
    }
}

/* clang-format off */
static const ls__pass
    alone = {.train = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = prepare},
        {"input gradients", LS__GRADIENTS, .run_device = compute},
        {"scale", LS__REDUCE, .run_device = scale}}},
    with_others = {.train = true, .phase = {
        {"prepare", LS__GRADIENTS, .run = prepare},
        {"input gradients", LS__GRADIENTS, .run_device = compute},
        {"reports", LS__REDUCE, .run = ls__phase_reports, .meets = true},
        {"scale", LS__REDUCE, .run_device = scale},
        {"outputs", LS__REDUCE, .run = ls__phase_outputs}}};
/* clang-format on */

/* ------ the public function ------ */

static int check(ls__step *s, const char *name, int64_t n, ls__goal *rows)
{
    ls_trainer *t = s->trainer;
    const ls__input *in = ls__model_input(&t->model, name);
    int status;

    if (!in)
        return LS_ENOTFOUND;
    if (in->dtype != LS_F32)
        return ls__fail(LS_EINVAL, "gradient by input \"%s\": its numbers are "
                        "integers", name);
    if ((status = ls__step_set_rows(s, NULL)) < 0)
        return status;
    if (n != s->all * in->size)
        return ls__fail(LS_ESHAPE, "gradient by input \"%s\": %lld rows of "
                        "%lld elements do not fill %lld", name,
                        (long long)s->all, (long long)in->size, (long long)n);
    *rows = (ls__goal){.size = in->size};
    s->query.input = (int)(in - t->model.input);
    s->query.asks = -1 - 2 * s->query.input - s->query.drops;
    return open_once(t);
}

/* The pool is taken. */
static int run(ls__step *s, const char *name, int64_t n)
{
    ls_trainer *t = s->trainer;
    ls__goal rows;
    int status;

    s->query.output = &rows;
    t->history.uses++; /* of the devices' gradients */
    if ((status = ls__step_run(s, check(s, name, n, &rows))) < 0)
        return status;
    if (s->verdict == LS__NO_WEIGHT)
        memset(s->query.out, 0, (size_t)n * sizeof *s->query.out);
    return 0;
}

int ls_input_gradient(ls_trainer *t, const ls_batch *batch, bool train,
                      const char *input, int64_t n, float *out)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(input);
    LS__NEED(out);

    ls__step s = {.trainer = t, .batch = batch,
                  .query = {.out = out, .drops = train},
                  .pass = t->ranks ? &with_others : &alone};
    int status;

    if (!t->model.plan)
        return ls__fail(LS_ENOTSUP, "gradient by input \"%s\": a gradient "
                        "function of your own knows none", input);
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    status = run(&s, input, n);
    ls__pool_give(t->pool);
    return status;
}

/* One training step: the heart.
 *
 *     PREPARE    workers pack the kernels that all will read
 *     GRADIENTS  each worker runs its devices, in device order, each into the
 *                device's own buffer; parameters are read only
 *     REDUCE     each worker sums all devices over its range of the
 *                parameters, in tree order, into grad[0], once multiplied
 *     UPDATE     shard: each worker its range; replicate: the caller, all
 *
 * with a barrier after each.  Every worker computes the few numbers that decide
 * how a phase goes on (weights, failures) for itself, from what all devices
 * reported before the barrier: the same input, the same decision. */
#define _GNU_SOURCE /* clock_gettime */
#include "base/error.h"
#include "base/fpmode.h"
#include "mesh/pool.h"
#include "reduce/reduce.h"
#include "train/trainer.h"

#include <string.h>
#include <time.h>

enum { BLOCK = 4096 }; /* floats that are reduced, checked and stay in L1 */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------ gradients ------ */

static ls_shard shard_of(const ls_trainer *t, int device)
{
    const ls_batch *b = t->phase.batch;
    int64_t rows = t->phase.rows;

    return (ls_shard){.first = device * rows, .rows = rows,
                      .data = b->shard_data + device * b->trainer->inputs,
                      .weights = b->weights ? b->weights + device * rows
                                            : NULL};
}

static void run_device(ls_trainer *t, int device)
{
    ls__report *report = &t->report[device];
    ls_shard shard = shard_of(t, device);
    float **grads = t->grad_of + device * t->params.count;

    report->sums = (ls_sums){.correct = __builtin_nan("")};
    report->status = t->fn(t->user, device, &shard, t->value_of,
                           t->phase.train ? grads : NULL, &report->sums);
    if (t->phase.train && t->options.mean == LS_MEAN_OF_SHARDS &&
        report->sums.weight > 0)
        ls__kernels()->scale(t->params.floats,
                             1.0f / (float)report->sums.weight,
                             t->grad[device]);
}

static void predict_device(ls_trainer *t, int device)
{
    ls_shard shard = shard_of(t, device);

    ls__exec_predict(t->exec, device, &shard, t->value_of, t->phase.goal,
                     t->phase.out + shard.first * t->phase.size);
}

/* ------ what the devices reported ------ */

typedef enum verdict { GOES_ON, NO_WEIGHT, FAILED } verdict;

static double total(const ls_trainer *t, const double *member)
{
    return ls__tree_sum_double(member, t->devices,
                               (int)(sizeof *t->report / sizeof *member));
}

static bool is_finite(double x)
{
    return x - x == 0;
}

static verdict judge(const ls_trainer *t)
{
    for (int d = 0; d < t->devices; d++) {
        const ls__report *r = &t->report[d];

        if (r->status < 0 || !is_finite(r->sums.loss) ||
            !is_finite(r->sums.weight) ||
            (t->options.mean == LS_MEAN_OF_SHARDS && !(r->sums.weight > 0)))
            return FAILED;
    }
    return total(t, &t->report[0].sums.weight) > 0 ? GOES_ON : NO_WEIGHT;
}

/* What the tree's sum is multiplied by. */
static float mean_factor(const ls_trainer *t)
{
    switch (t->options.mean) {
    case LS_SUM: return 1;
    case LS_MEAN_OF_SHARDS: return 1.0f / (float)t->devices;
    default: return 1.0f / (float)total(t, &t->report[0].sums.weight);
    }
}

/* ------ reduce and update ------ */

/* The first element of the range that is not finite, or -1. */
static int64_t reduce_range(ls_trainer *t, int64_t first, int64_t last,
                            float factor)
{
    int64_t bad = -1;

    for (int64_t i = first, end; i < last; i = end) {
        int64_t at;

        end = last - i < BLOCK ? last : i + BLOCK;
        ls__reduce_range(t->grad, t->devices, i, end, factor, t->grad[0]);
        at = ls__kernels()->first_nonfinite(end - i, t->grad[0] + i);
        if (bad < 0 && at < end - i)
            bad = i + at;
    }
    return bad;
}

static bool any_bad(const ls_trainer *t)
{
    for (int w = 0; w < t->workers; w++)
        if (t->bad[w] >= 0)
            return true;
    return false;
}

static void update_range(ls_trainer *t, int64_t first, int64_t last)
{
    ls__optim_update(t->options.optimizer.kind, &t->phase.rule, last - first,
                     t->grad[0] + first, t->value + first, t->moment, first);
}

/* ------ the phases on one worker ------ */

static void run_phases(void *user, int worker)
{
    ls_trainer *t = user;
    int first_device, last_device;
    int64_t first, last;

    ls__pool_devices_of(t->pool, worker, &first_device, &last_device);
    if (t->exec) {
        ls__exec_prepare(t->exec, worker, t->workers, t->phase.train,
                         t->value_of);
        ls__pool_barrier(t->pool);
    }
    for (int d = first_device; d < last_device && t->phase.goal; d++)
        predict_device(t, d);
    if (t->phase.goal)
        return;
    for (int d = first_device; d < last_device; d++)
        run_device(t, d);
    if (!t->phase.train)
        return;
    ls__pool_barrier(t->pool);
    if (worker == 0)
        t->phase.graded = now();
    if (judge(t) != GOES_ON)
        return;
    ls__range(t->params.floats, t->workers, worker, 16, &first, &last);
    t->bad[worker] = reduce_range(t, first, last, mean_factor(t));
    ls__pool_barrier(t->pool);
    if (worker == 0)
        t->phase.reduced = now();
    if (t->options.state == LS_SHARD && !any_bad(t))
        update_range(t, first, last);
}

/* ------ naming what went wrong ------ */

/* The first row of a device whose loss, or gradient where train, is not
 * finite when it is computed alone; -1 when each one is. */
static int64_t bad_row(ls_trainer *t, int device, bool train)
{
    ls_shard all = shard_of(t, device), one = all;
    float **grads = t->grad_of + device * t->params.count;
    const void *data[64];

    if (t->inputs > 64)
        return -1;
    one.data = data;
    one.rows = 1;
    for (int64_t row = 0; row < all.rows; row++) {
        ls_sums sums = {0};

        for (int i = 0; i < t->inputs; i++)
            data[i] = (const char *)all.data[i] + 4 * row * t->input[i].size;
        one.weights = all.weights ? all.weights + row : NULL;
        one.first = all.first + row;
        if (t->fn(t->user, device, &one, t->value_of, train ? grads : NULL,
                  &sums) < 0)
            return -1;
        if (!is_finite(sums.loss) || !is_finite(sums.weight) ||
            (train && ls__kernels()->first_nonfinite(
                          t->params.floats, t->grad[device]) !=
                          t->params.floats))
            return one.first;
    }
    return -1;
}

static int fail_device(ls_trainer *t, int d)
{
    const ls__report *r = &t->report[d];
    long long step = (long long)t->step;

    if (r->status < 0)
        return ls__fail(LS_EUSER, "step %lld: the gradient function failed "
                        "on device %d with status %d", step, d, r->status);
    if (!is_finite(r->sums.loss) || !is_finite(r->sums.weight))
        return ls__fail(LS_ENONFINITE, "step %lld: the loss is not finite on "
                        "device %d, first in row %lld of the batch", step, d,
                        (long long)bad_row(t, d, false));
    return ls__fail(LS_EINVAL, "step %lld: device %d has rows of weight 0 "
                    "only, so its own mean does not exist; use the exact mean",
                    step, d);
}

static int fail_report(ls_trainer *t)
{
    for (int d = 0; d < t->devices; d++) {
        const ls__report *r = &t->report[d];

        if (r->status < 0 || !is_finite(r->sums.loss) ||
            !is_finite(r->sums.weight) || !(r->sums.weight > 0))
            return fail_device(t, d);
    }
    return ls__fail(LS_ENONFINITE, "step %lld: the sum of all losses is not "
                    "finite", (long long)t->step);
}

static int fail_gradient(ls_trainer *t)
{
    const char *name = "";

    for (int w = t->workers - 1; w >= 0; w--)
        if (t->bad[w] >= 0)
            name = ls__params_at(&t->params, t->bad[w])->name;
    for (int d = 0; d < t->devices; d++) {
        int64_t row = bad_row(t, d, true);

        if (row >= 0)
            return ls__fail(LS_ENONFINITE, "step %lld: the gradient of \"%s\" "
                            "is not finite on device %d, first in row %lld of "
                            "the batch", (long long)t->step, name, d,
                            (long long)row);
    }
    return ls__fail(LS_ENONFINITE, "step %lld: the gradient of \"%s\" is not "
                    "finite once rows and devices are added",
                    (long long)t->step, name);
}

/* ------ a step ------ */

static float mean_loss(const ls_trainer *t)
{
    double sum = 0;

    if (t->options.mean == LS_MEAN_OF_SHARDS) {
        for (int d = 0; d < t->devices; d++)
            sum += t->report[d].sums.loss / t->report[d].sums.weight;
        return (float)(sum / t->devices);
    }
    sum = total(t, &t->report[0].sums.loss);
    return (float)(t->options.mean == LS_SUM
                       ? sum : sum / total(t, &t->report[0].sums.weight));
}

static void fill_result(const ls_trainer *t, verdict v, ls_result *r)
{
    double weight = total(t, &t->report[0].sums.weight);
    double correct = total(t, &t->report[0].sums.correct);

    *r = (ls_result){.step = t->step, .loss = __builtin_nanf(""),
                     .accuracy = __builtin_nanf(""), .weight = weight,
                     .lr = -t->phase.rule.neg_lr,
                     .rows = t->phase.rows * t->devices};
    if (v != GOES_ON)
        return;
    r->loss = mean_loss(t);
    r->accuracy = (float)(correct / weight);
}

/* After all workers are done: the caller's part of a training step. */
static int conclude(ls_trainer *t, verdict v, ls_result *result)
{
    ls_result r;
    double done;

    if (v == FAILED)
        return fail_report(t);
    if (v == GOES_ON && any_bad(t))
        return fail_gradient(t);
    fill_result(t, v, &r);
    if (v == NO_WEIGHT)
        ls__fail(0, "step %lld: the weights of all %lld rows are 0; nothing "
                 "was updated", (long long)t->step, (long long)r.rows);
    if (v == GOES_ON && t->options.state == LS_REPLICATE)
        update_range(t, 0, t->params.floats);
    r.updated = v == GOES_ON;
    done = now();
    r.gradient_seconds = t->phase.graded - t->phase.began;
    if (v == GOES_ON) {
        r.reduce_seconds = t->phase.reduced - t->phase.graded;
        r.update_seconds = done - t->phase.reduced;
        t->step++;
    }
    *result = r;
    return 0;
}

/* The rows a device gets of the batch, or a status. */
static int64_t shard_rows(const ls_trainer *t, const ls_batch *batch,
                          const bool *reads)
{
    if (!batch || batch->trainer != t)
        return ls__fail(LS_EINVAL, "the batch belongs to another trainer");
    return ls__batch_rows_read(batch, reads);
}

/* The forward pass for evaluation, or all phases. */
static int run(ls_trainer *t, const ls_batch *batch, bool train,
               ls_result *result)
{
    int64_t rows = shard_rows(t, batch, NULL);
    int status = 0;
    ls__fpmode mode;
    verdict v;

    if (rows < 0)
        return (int)rows;
    t->phase = (ls__phase){.batch = batch, .train = train, .rows = rows,
                           .began = now()};
    t->phase.rule = ls__optim_rule(&t->options.optimizer, t->step + 1);
    ls__pool_run(t->pool, run_phases, t);
    mode = ls__fpmode_set();
    v = judge(t);
    if (train)
        status = conclude(t, v, result);
    else if (v == FAILED)
        status = fail_report(t);
    else
        fill_result(t, v, result);
    ls__fpmode_restore(mode);
    return status;
}

int ls_step(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    return run(t, batch, true, result);
}

int ls_evaluate(ls_trainer *t, const ls_batch *batch, ls_result *result)
{
    return run(t, batch, false, result);
}

int ls_predict(ls_trainer *t, const ls_batch *batch, const char *output,
               int64_t n, float *out)
{
    const ls__goal *goal;
    int64_t rows, size;
    int k;

    if (!t->exec)
        return ls__fail(LS_ENOTFOUND, "output \"%s\": a gradient function has "
                        "no outputs", output);
    if ((k = ls__exec_find(t->exec, output, &goal, &size)) < 0)
        return k;
    if ((rows = shard_rows(t, batch, goal->reads)) < 0)
        return (int)rows;
    if (n != rows * t->devices * size)
        return ls__fail(LS_ESHAPE, "output \"%s\": %lld rows of %lld elements "
                        "do not fill %lld", output,
                        (long long)(rows * t->devices), (long long)size,
                        (long long)n);
    t->phase = (ls__phase){.batch = batch, .goal = k, .rows = rows,
                           .size = size, .out = out};
    ls__pool_run(t->pool, run_phases, t);
    return 0;
}

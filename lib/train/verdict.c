/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on a step's reports: go on or not, the result, and, after a
 * failure, whose fault it is. */
#include "train/verdict.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "base/tree.h"
#include "kernel/kernel.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "rules/clip.h"
#include "train/batch.h"
#include "train/device.h"
#include "train/trainer.h"

/* ------ whether it goes on ------ */

static double total(const ls__step *s, const double *member)
{
    _Static_assert(sizeof(ls__report) % sizeof *member == 0, "a stride");
    return ls__tree_sum_double(member, s->trainer->devices.of,
                               (int)(sizeof(ls__report) / sizeof *member));
}

static bool is_finite(double x)
{
    return x - x == 0;
}

/* Means of shards are for gradients; an evaluation knows only rows. */
static bool means_shards(const ls__step *s)
{
    return s->pass->train && s->trainer->options.mean == LS_MEAN_OF_SHARDS;
}

/* A device's report with which no step goes on. */
static bool is_failure(const ls__step *s, const ls__report *r)
{
    return r->status < 0 || r->diverged || !is_finite(r->sums.loss) ||
           !is_finite(r->sums.weight) || r->sums.weight < 0 ||
           (means_shards(s) && !(r->sums.weight > 0));
}

ls__verdict ls__verdict_judge(const ls__step *s)
{
    const ls__report *r = s->notes.report;

    for (int d = 0; d < s->trainer->devices.of; d++)
        if (is_failure(s, &r[d]))
            return LS__FAILED;
    return total(s, &r->sums.weight) > 0 ? LS__GOES_ON : LS__NO_WEIGHT;
}

float ls__verdict_factor(const ls__step *s)
{
    switch (s->trainer->options.mean) {
    case LS_SUM: return 1;
    case LS_MEAN_OF_SHARDS: return 1.0f / (float)s->trainer->devices.of;
    default: return 1.0f / (float)total(s, &s->notes.report->sums.weight);
    }
}

float ls__verdict_norm(const ls__step *s)
{
    int64_t floats = s->trainer->model.params.floats;

    return s->notes.square
               ? ls__clip_norm(ls__reduce_blocks(floats), s->notes.square)
               : __builtin_nanf("");
}

/* Finite elements may have squares that are not. */
bool ls__verdict_bad(const ls__step *s, float norm)
{
    for (int w = 0; w < s->trainer->workers; w++)
        if (s->notes.bad[w] >= 0)
            return true;
    return norm > 0x1.fffffep+127f;
}

ls__verdict ls__verdict_of(ls__step *s)
{
    ls__verdict v = s->pass->trusted ? LS__GOES_ON : ls__verdict_judge(s);

    if (v != LS__GOES_ON || !s->pass->reduces)
        return v;
    if (s->norm != s->norm)
        s->norm = ls__verdict_norm(s);
    return ls__verdict_bad(s, s->norm) ? LS__BAD_GRADIENT : v;
}

/* ------ the result ------ */

static float mean_loss(const ls__step *s)
{
    const ls__report *r = s->notes.report;
    int devices = s->trainer->devices.of;
    double sum = 0;

    if (means_shards(s)) {
        for (int d = 0; d < devices; d++)
            sum += r[d].sums.loss / r[d].sums.weight;
        return (float)(sum / devices);
    }
    sum = total(s, &r->sums.loss);
    return (float)(s->trainer->options.mean == LS_SUM
                       ? sum : sum / total(s, &r->sums.weight));
}

/* Metric i over all devices; NaN when there is none, or nothing in it. */
static float metric(const ls__step *s, int i)
{
    const ls_ratio *m = &s->notes.report->sums.metric[i];

    return i < s->trainer->model.metrics
               ? (float)(total(s, &m->sum) / total(s, &m->weight))
               : __builtin_nanf("");
}

static void fill_result(const ls__step *s, ls_result *r)
{
    const ls_sums *sums = &s->notes.report->sums;

    *r = (ls_result){.step = s->trainer->step, .loss = __builtin_nanf(""),
                     .accuracy = __builtin_nanf(""),
                     .weight = total(s, &sums->weight),
                     .grad_norm = __builtin_nanf(""), .lr = -s->rule.neg_lr,
                     .rows = s->all};
    for (int i = 0; i < LS_METRICS; i++)
        r->metric[i] = metric(s, i);
    if (s->verdict != LS__GOES_ON)
        return;
    r->loss = mean_loss(s);
    r->accuracy = (float)(total(s, &sums->correct) / r->weight);
}

void ls__verdict_result(const ls__step *s, ls_result *r)
{
    ls__fpmode mode = ls__fpmode_set(); /* sums are rounded to float */

    fill_result(s, r);
    ls__fpmode_restore(mode);
}

/* ------ naming what went wrong ------ */

/* Are the sums of one row, and its gradient where train, finite? */
static bool is_good_row(const ls_trainer *t, int device, const ls_sums *sums,
                        bool train)
{
    int64_t n = t->model.params.floats;

    return is_finite(sums->loss) && is_finite(sums->weight) &&
           (!train ||
            ls__kernels()->first_nonfinite(n, t->grad.device[device]) == n);
}

/* The first row of a shard that, computed alone, has a loss, or with train a
 * gradient, that is not finite; -1: there is none. */
static int64_t bad_row_of(ls__step *s, int device, int micro, bool train)
{
    const ls_trainer *t = s->trainer;
    ls_shard all = ls__step_shard(s, device, micro);
    float **grads = t->grad.param + device * t->model.params.count;

    for (int64_t row = 0; row < all.rows; row++) {
        ls_shard one = ls__device_row(t, &all, row, s->notes.row);
        ls_sums sums = {0};

        if (ls__device_run(t, ls__device_context(t, device), device, &one,
                           train ? grads : NULL, &sums) < 0)
            return -1;
        if (!is_good_row(t, device, &sums, train))
            return one.first;
    }
    return -1;
}

/* Find the bad row of a device of the experiment; -1 also where another process
 * runs the device, and where the gradient is not that of a batch. */
static int64_t bad_row(ls__step *s, int device, bool train)
{
    const ls_trainer *t = s->trainer;
    ls__track *track = ls__pool_track(t->pool, 0);
    int64_t row = -1;

    if (!s->batch || !ls__span_has(t->devices, device))
        return -1;
    ls__track_phase(track, "search for the row", device);
    for (int m = 0; m < t->micro && row < 0; m++)
        row = bad_row_of(s, device - t->devices.first, m, train);
    ls__track_phase(track, NULL, -1);
    return row;
}

static const char *operator_name(const ls__plan *plan, int id)
{
    int i = 0;

    while (plan->instr[i].node->id != id)
        i++;
    LS__ASSERT(i < plan->count);
    return plan->instr[i].node->name;
}

static int fail_user(const ls__step *s, int d)
{
    const ls__report *r = &s->notes.report[d];
    long long step = (long long)s->trainer->step;

    if (r->status == LS__ENDED)
        return ls__fail(LS_EUSER, "step %lld: a function of yours ended the "
                        "thread that ran it, on device %d", step, d);
    if (r->failed >= 0)
        return ls__fail(LS_EUSER, "step %lld: the operator \"%s\" failed on "
                        "device %d with status %d", step,
                        operator_name(s->trainer->model.plan, r->failed), d,
                        r->status);
    if (s->trainer->model.plan) /* an operator of ours: it lacked memory */
        return ls__fail(LS_ENOMEM, "step %lld, device %d: no memory", step, d);
    return ls__fail(LS_EUSER, "step %lld: the gradient function failed on "
                    "device %d with status %d", step, d, r->status);
}

int ls__verdict_fail_user(const ls__step *s)
{
    for (int d = 0; d < s->trainer->devices.of; d++)
        if (s->notes.report[d].status < 0)
            return fail_user(s, d);
    return 0;
}

static int fail_loss(ls__step *s, int d)
{
    long long step = (long long)s->trainer->step;
    int64_t row = bad_row(s, d, false);

    if (row >= 0)
        return ls__fail(LS_ENONFINITE, "step %lld: the loss is not finite on "
                        "device %d, first in row %lld of the batch", step, d,
                        (long long)row);
    if (!ls__span_has(s->trainer->devices, d))
        return ls__fail(LS_ENONFINITE, "step %lld: the loss is not finite on "
                        "device %d, which another process runs", step, d);
    return ls__fail(LS_ENONFINITE, "step %lld: the loss is not finite on "
                    "device %d, but is for each of its rows alone", step, d);
}

static int fail_device(ls__step *s, int d)
{
    const ls__report *r = &s->notes.report[d];
    long long step = (long long)s->trainer->step;

    if (r->status < 0)
        return fail_user(s, d);
    if (r->diverged)
        return ls__fail(LS_EUSER, "step %lld: the gradient of device %d is "
                        "another when devices run at the same time: its "
                        "function shares memory with theirs", step, d);
    if (!is_finite(r->sums.loss) || !is_finite(r->sums.weight))
        return fail_loss(s, d);
    if (r->sums.weight < 0)
        return ls__fail(LS_EINVAL, "step %lld: the weight of device %d is %g, "
                        "and a weight is not negative", step, d,
                        r->sums.weight);
    return ls__fail(LS_EINVAL, "step %lld: device %d has rows of weight 0 "
                    "only, so its own mean does not exist; use the exact mean",
                    step, d);
}

static int fail_devices(ls__step *s)
{
    for (int d = 0; d < s->trainer->devices.of; d++)
        if (is_failure(s, &s->notes.report[d]))
            return fail_device(s, d);
    return ls__fail(LS_ENONFINITE, "step %lld: the sum of all losses is not "
                    "finite", (long long)s->trainer->step);
}

/* The parameter of the first element that is not finite; NULL: all are. */
static const char *bad_parameter(const ls__step *s)
{
    const ls_trainer *t = s->trainer;

    for (int w = 0; w < t->workers; w++)
        if (s->notes.bad[w] >= 0)
            return ls__params_at(&t->model.params, s->notes.bad[w])->name;
    return NULL;
}

static int fail_gradient(ls__step *s)
{
    long long step = (long long)s->trainer->step;
    const char *name = bad_parameter(s);

    if (name && s->in_hand)
        return ls__fail(LS_ENONFINITE, "step %lld: the gradient of \"%s\" is "
                        "not finite and was not applied", step, name);
    if (!name)
        return ls__fail(LS_ENONFINITE, "step %lld: the norm of the gradient, "
                        "which is to be clipped, is not finite", step);
    for (int d = 0; d < s->trainer->devices.of; d++) {
        int64_t row = bad_row(s, d, true);

        if (row >= 0)
            return ls__fail(LS_ENONFINITE, "step %lld: the gradient of \"%s\" "
                            "is not finite on device %d, first in row %lld of "
                            "the batch", step, name, d, (long long)row);
    }
    return ls__fail(LS_ENONFINITE, "step %lld: the gradient of \"%s\" is not "
                    "finite once rows and devices are added", step, name);
}

int ls__verdict_fail(ls__step *s)
{
    switch (s->verdict) {
    case LS__FAILED: return fail_devices(s);
    case LS__BAD_GRADIENT: return fail_gradient(s);
    default: return 0;
    }
}

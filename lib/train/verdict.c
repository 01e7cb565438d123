/* What the devices of a step reported: whether the step goes on, its result,
 * and, where it does not, whose fault that is. */
#include "train/verdict.h"
#include "base/error.h"
#include "pool/pool.h"
#include "reduce/reduce.h"

/* ------ whether it goes on ------ */

static double total(const ls_trainer *t, const double *member)
{
    return ls__tree_sum_double(member, t->devices,
                               (int)(sizeof *t->report / sizeof *member));
}

static bool is_finite(double x)
{
    return x - x == 0;
}

/* Means of shards are for gradients; an evaluation knows only rows. */
static bool means_shards(const ls_trainer *t)
{
    return t->phase.train && t->options.mean == LS_MEAN_OF_SHARDS;
}

/* A device's report with which no step goes on. */
static bool is_failure(const ls_trainer *t, const ls__report *r)
{
    return r->status < 0 || r->diverged || !is_finite(r->sums.loss) ||
           !is_finite(r->sums.weight) ||
           (means_shards(t) && !(r->sums.weight > 0));
}

ls__verdict ls__verdict_judge(const ls_trainer *t)
{
    for (int d = 0; d < t->devices; d++)
        if (is_failure(t, &t->report[d]))
            return LS__FAILED;
    return total(t, &t->report[0].sums.weight) > 0 ? LS__GOES_ON
                                                   : LS__NO_WEIGHT;
}

float ls__verdict_factor(const ls_trainer *t)
{
    switch (t->options.mean) {
    case LS_SUM: return 1;
    case LS_MEAN_OF_SHARDS: return 1.0f / (float)t->devices;
    default: return 1.0f / (float)total(t, &t->report[0].sums.weight);
    }
}

bool ls__verdict_bad(const ls_trainer *t)
{
    for (int w = 0; w < t->workers; w++)
        if (t->bad[w] >= 0)
            return true;
    return false;
}

/* ------ the result ------ */

static float mean_loss(const ls_trainer *t)
{
    double sum = 0;

    if (means_shards(t)) {
        for (int d = 0; d < t->devices; d++)
            sum += t->report[d].sums.loss / t->report[d].sums.weight;
        return (float)(sum / t->devices);
    }
    sum = total(t, &t->report[0].sums.loss);
    return (float)(t->options.mean == LS_SUM
                       ? sum : sum / total(t, &t->report[0].sums.weight));
}

/* Metric i over all devices; NaN when there is none, or nothing in it. */
static float metric(const ls_trainer *t, int i)
{
    const ls_ratio *m = &t->report[0].sums.metric[i];

    return i < t->metrics ? (float)(total(t, &m->sum) / total(t, &m->weight))
                          : __builtin_nanf("");
}

void ls__verdict_result(const ls_trainer *t, ls__verdict v, ls_result *r)
{
    double weight = total(t, &t->report[0].sums.weight);
    double correct = total(t, &t->report[0].sums.correct);

    *r = (ls_result){.step = t->step, .loss = __builtin_nanf(""),
                     .accuracy = __builtin_nanf(""), .weight = weight,
                     .grad_norm = __builtin_nanf(""),
                     .lr = -t->phase.rule.neg_lr,
                     .rows = t->phase.rows * ls__trainer_shards(t)};
    for (int i = 0; i < LS_METRICS; i++)
        r->metric[i] = metric(t, i);
    if (v != LS__GOES_ON)
        return;
    r->loss = mean_loss(t);
    r->accuracy = (float)(correct / weight);
}

/* ------ naming what went wrong ------ */

/* The first row of a shard whose loss, or gradient where train, is not finite
 * when it is computed alone; -1 when each one is. */
static int64_t bad_row_of(ls_trainer *t, int device, int micro, bool train)
{
    ls_shard all = ls__step_shard(t, device, micro), one = all;
    float **grads = t->grad_of + device * t->params.count;

    one.data = t->row;
    one.rows = 1;
    for (int64_t row = 0; row < all.rows; row++) {
        ls_sums sums = {0};

        for (int i = 0; i < t->inputs; i++)
            t->row[i] = (const char *)all.data[i] + 4 * row * t->input[i].size;
        one.weights = all.weights ? all.weights + row : NULL;
        one.first = all.first + row;
        one.row = all.row + row;
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

static int64_t bad_row(ls_trainer *t, int device, bool train)
{
    ls__track *track = ls__pool_track(t->pool, 0);
    int64_t row = -1;

    ls__track_phase(track, "search for the row", device);
    for (int m = 0; m < t->micro && row < 0; m++)
        row = bad_row_of(t, device, m, train);
    ls__track_phase(track, NULL, -1);
    return row;
}

int ls__verdict_fail_user(const ls_trainer *t, int d)
{
    long long step = (long long)t->step;

    if (t->exec)
        return ls__fail(LS_EUSER, "step %lld: the operator \"%s\" failed on "
                        "device %d with status %d", step,
                        ls__exec_failure(t->exec, d)->node->name, d,
                        t->report[d].status);
    return ls__fail(LS_EUSER, "step %lld: the gradient function failed on "
                    "device %d with status %d", step, d, t->report[d].status);
}

static int fail_loss(ls_trainer *t, int device)
{
    long long step = (long long)t->step;
    int64_t row = bad_row(t, device, false);

    if (row >= 0)
        return ls__fail(LS_ENONFINITE, "step %lld: the loss is not finite on "
                        "device %d, first in row %lld of the batch", step,
                        device, (long long)row);
    return ls__fail(LS_ENONFINITE, "step %lld: the loss is not finite on "
                    "device %d, but is for each of its rows alone", step,
                    device);
}

static int fail_device(ls_trainer *t, int d)
{
    const ls__report *r = &t->report[d];
    long long step = (long long)t->step;

    if (r->status < 0)
        return ls__verdict_fail_user(t, d);
    if (r->diverged)
        return ls__fail(LS_EUSER, "step %lld: the gradient of device %d is "
                        "another when devices run at the same time: its "
                        "function shares memory with theirs", step, d);
    if (!is_finite(r->sums.loss) || !is_finite(r->sums.weight))
        return fail_loss(t, d);
    return ls__fail(LS_EINVAL, "step %lld: device %d has rows of weight 0 "
                    "only, so its own mean does not exist; use the exact mean",
                    step, d);
}

int ls__verdict_fail(ls_trainer *t)
{
    for (int d = 0; d < t->devices; d++)
        if (is_failure(t, &t->report[d]))
            return fail_device(t, d);
    return ls__fail(LS_ENONFINITE, "step %lld: the sum of all losses is not "
                    "finite", (long long)t->step);
}

int ls__verdict_fail_gradient(ls_trainer *t)
{
    const char *name = "";

    if (!ls__verdict_bad(t))
        return ls__fail(LS_ENONFINITE, "step %lld: the norm of the gradient, "
                        "which is to be clipped, is not finite",
                        (long long)t->step);
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

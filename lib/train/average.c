/* The average of the weights, which is kept with each parameter as its moments
 * are. */
#include "base/error.h"
#include "train/average.h"
#include "train/giving.h"
#include "rules/optim.h"

/* ------ what is kept with each parameter ------ */

static bool averages(const ls_trainer *t)
{
    return t->options.average > 0;
}

int ls__trainer_moments(const ls_trainer *t)
{
    return ls__optim_moments(t->options.optimizer.kind) + averages(t);
}

const char *ls__trainer_moment_name(const ls_trainer *t, int i)
{
    ls_optimizer_kind kind = t->options.optimizer.kind;

    return i < ls__optim_moments(kind) ? ls__optim_moment_name(kind, i)
                                       : "average";
}

float *ls__trainer_average(const ls_trainer *t)
{
    return averages(t) ? t->moment[ls__trainer_moments(t) - 1] : NULL;
}

/* ------ the average in use ------ */

int ls__trainer_check_weights(const ls_trainer *t)
{
    if (!t->averaged)
        return 0;
    return ls__fail(LS_EINVAL, "the average stands in the place of the "
                    "parameters: ls_trainer_use_average(.., false) first");
}

/* Every rank what it owns; then all have all of it. */
static int swap(ls_trainer *t)
{
    float *average = ls__trainer_average(t);

    for (ls__stretch part = {0}; ls__owned_next(&t->owned, &part);)
        for (int64_t i = part.range.first, k = part.at; i < part.range.last;
             i++, k++) {
            float x = t->model.value[i];

            t->model.value[i] = average[k];
            average[k] = x;
        }
    t->averaged = !t->averaged;
    ls__exec_stale(t->model.plan, &t->model.weights);
    if (!t->seam)
        return 0;
    ls__giving_begin(t);
    return ls__giving_rest(t);
}

int ls_trainer_use_average(ls_trainer *t, bool use)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    if (!averages(t))
        return ls__fail(LS_EINVAL, "the trainer keeps no average of its "
                        "weights: ls_trainer_options.average is 0");
    if (t->step == 0)
        return ls__fail(LS_EINVAL, "there is no average before the first "
                        "update");
    return use == t->averaged ? 0 : swap(t);
}

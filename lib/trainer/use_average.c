/* SPDX-License-Identifier: BSD-3-Clause */
/* The average of the weights in use: it stands in the parameters' place. */
#include "base/assert.h"
#include "base/error.h"
#include "ranks/all_gather.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

/* Every rank what it owns; then all have all of it. */
static int swap(ls_trainer *t)
{
    float *average = t->moments.of[t->moments.count - 1];

    LS__ASSERT(t->moments.count >= 1); /* the average is the last of them */
    for (ls__stretch part = {0}; ls__owned_next(&t->owned, &part);)
        for (int64_t i = part.range.first, k = part.at; i < part.range.last;
             i++, k++) {
            float x = t->model.value[i];

            t->model.value[i] = average[k];
            average[k] = x;
        }
    t->moments.averaged = !t->moments.averaged;
    ls__trainer_changed(t);
    if (!t->ranks)
        return 0;
    ls__all_gather_begin(t->ranks->all_gather);
    return ls__all_gather_rest(t->ranks->all_gather);
}

int ls_trainer_use_average(ls_trainer *t, bool use)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    if (!(t->options.average > 0))
        return ls__fail(LS_EINVAL, "the trainer keeps no average of its "
                        "weights: ls_trainer_options.average is 0");
    if (t->step == 0)
        return ls__fail(LS_EINVAL, "there is no average before the first "
                        "update");
    return use == t->moments.averaged ? 0 : swap(t);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a trainer's state is still made of numbers.  A step checks losses and
 * gradients; an update of finite ones can overflow all the same. */
#include "base/error.h"
#include "kernel/kernel.h"
#include "train/trainer.h"

static int not_finite(const ls_trainer *t, const char *moment, int64_t at)
{
    const ls__slot *s = ls__params_at(&t->model.params, at);

    return ls__fail(LS_ENONFINITE, "after %lld updates the %s%sparameter "
                    "\"%s\" is not finite, first in element %lld of %lld",
                    (long long)t->step, moment, *moment ? " of the " : "",
                    s->name, (long long)(at - s->offset), (long long)s->size);
}

static int check_array(const ls_trainer *t, const char *moment,
                       const ls__owned *has, const float *x)
{
    int status = 0;

    for (ls__stretch s = {0}; status == 0 && ls__owned_next(has, &s);) {
        int64_t n = s.range.last - s.range.first;
        int64_t at = ls__kernels()->first_nonfinite(n, x + s.at);

        status = at < n ? not_finite(t, moment, s.range.first + at) : 0;
    }
    return status;
}

int ls_trainer_check(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    ls__owned all = ls__owned_all(t->model.params.floats);
    int status = check_array(t, "", &all, t->model.value);

    for (int m = 0; m < t->moments && status == 0; m++)
        status = check_array(t, t->moment_name[m], &t->owned,
                             t->moment[m]);
    return status;
}

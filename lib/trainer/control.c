/* SPDX-License-Identifier: BSD-3-Clause */
/* Control between steps: the learning rate and the step's number. */
#include "base/error.h"
#include "rules/optim.h"
#include "state/trainer_state.h"
#include "train/trainer.h"
#include <lockstep/control.h>

int ls_trainer_set_lr(ls_trainer *t, double lr)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    if (!ls__is_rate(lr))
        return ls__fail(LS_EINVAL, "the learning rate is %g; it must be a "
                        "finite number from 0 up", lr);
    t->lr = lr;
    return 0;
}

int ls_trainer_set_step(ls_trainer *t, int64_t step)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    if (step < 0 || step > LS__MOST_STEPS)
        return ls__fail(LS_EINVAL, "step %lld is %s", (long long)step,
                        step < 0 ? "negative" : "more than a run can make");
    t->step = step;
    return 0;
}

int64_t ls_trainer_step(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->step;
}

int ls_trainer_devices(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->devices.of;
}

/* Whether a trainer's state is still made of numbers.  A step checks losses and
 * gradients; an update of finite ones can overflow all the same. */
#include "base/error.h"
#include "kernel/kernel.h"
#include "train/average.h"
#include "train/optim.h"
#include "train/trainer.h"

static int not_finite(const ls_trainer *t, const char *moment, int64_t at)
{
    const ls__slot *s = ls__params_at(&t->model.params, at);

    return ls__fail(LS_ENONFINITE, "after %lld updates the %s%sparameter "
                    "\"%s\" is not finite, first in element %lld of %lld",
                    (long long)t->step, moment, *moment ? " of the " : "",
                    s->name, (long long)(at - s->offset), (long long)s->size);
}

/* x is those elements of the layout. */
static int check_block(const ls_trainer *t, const char *moment, ls__range has,
                       const float *x)
{
    int64_t n = has.last - has.first;
    int64_t at = ls__kernels()->first_nonfinite(n, x);

    return at < n ? not_finite(t, moment, has.first + at) : 0;
}

int ls_trainer_check(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    ls__range all = {0, t->model.params.floats};
    int status = check_block(t, "", all, t->model.value);

    for (int m = 0; m < ls__trainer_moments(t) && status == 0; m++)
        status = check_block(t, ls__trainer_moment_name(t, m), t->owned,
                             t->moment[m]);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See weights.h. */
#include "train/weights.h"

int64_t weights_of(const ls_trainer *t, int k)
{
    int64_t shape[LS_MAX_RANK], n = 1;

    for (int i = ls_trainer_param_shape(t, k, shape); i > 0; i--)
        n *= shape[i - 1];
    return n;
}

int64_t weights_count(const ls_trainer *t)
{
    int64_t n = 0;

    for (int k = 0; k < ls_trainer_params(t); k++)
        n += weights_of(t, k);
    return n;
}

int weights_get(const ls_trainer *t, float *to)
{
    int status = 0;

    for (int k = 0; k < ls_trainer_params(t) && status == 0; k++) {
        int64_t n = weights_of(t, k);

        status = ls_trainer_get(t, ls_trainer_param_name(t, k), n, to);
        to += n;
    }
    return status;
}

int weights_set(ls_trainer *t, const float *from)
{
    int status = 0;

    for (int k = 0; k < ls_trainer_params(t) && status == 0; k++) {
        int64_t n = weights_of(t, k);

        status = ls_trainer_set(t, ls_trainer_param_name(t, k), n, from);
        from += n;
    }
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See held.h. */
#include "train/held.h"
#include "opt/opt.h"

#include <stdlib.h>

static int64_t weights_of(const ls_trainer *t, int k)
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
        status = ls_trainer_get(t, ls_trainer_param_name(t, k),
                                weights_of(t, k), to);
        to += weights_of(t, k);
    }
    return status;
}

static int weights_set(ls_trainer *t, const float *from)
{
    int status = 0;

    for (int k = 0; k < ls_trainer_params(t) && status == 0; k++) {
        status = ls_trainer_set(t, ls_trainer_param_name(t, k),
                                weights_of(t, k), from);
        from += weights_of(t, k);
    }
    return status;
}

static float *make_room(const ls_trainer *t)
{
    float *x = malloc((size_t)weights_count(t) * sizeof *x);

    if (!x)
        opt_no_memory("the best weights");
    return x;
}

int held_take(held *h, const ls_trainer *trainer)
{
    if (!h->value && !(h->value = make_room(trainer)))
        return OPT_FAILED;
    h->waits = opt_check(weights_get(trainer, h->value)) == OPT_GO;
    return h->waits ? OPT_GO : OPT_FAILED;
}

int held_swap(held *h, ls_trainer *trainer)
{
    float *now = make_room(trainer);
    int status = now ? opt_check(weights_get(trainer, now)) : OPT_FAILED;

    if (status == OPT_GO)
        status = opt_check(weights_set(trainer, h->value));
    if (status != OPT_GO) {
        free(now);
        return status;
    }
    free(h->value);
    h->value = now;
    return OPT_GO;
}

void held_close(held *h)
{
    free(h->value);
    *h = (held){0};
}

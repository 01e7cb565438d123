/* SPDX-License-Identifier: BSD-3-Clause */
/* See held.h. */
#include "train/held.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of parameter k. */
static size_t size_of(const ls_trainer *t, int k)
{
    int64_t shape[LS_MAX_RANK];
    int rank = ls_trainer_param_shape(t, k, shape);
    size_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= (size_t)shape[i];
    return n;
}

static int get(const ls_trainer *t, float *to)
{
    int status = 0;

    for (int k = 0; k < ls_trainer_params(t) && status == 0; k++) {
        size_t n = size_of(t, k);

        status = ls_trainer_get(t, ls_trainer_param_name(t, k), (int64_t)n, to);
        to += n;
    }
    return opt_check(status);
}

static int set(ls_trainer *t, const float *from)
{
    int status = 0;

    for (int k = 0; k < ls_trainer_params(t) && status == 0; k++) {
        size_t n = size_of(t, k);

        status = ls_trainer_set(t, ls_trainer_param_name(t, k), (int64_t)n,
                                from);
        from += n;
    }
    return opt_check(status);
}

static float *make_room(const ls_trainer *t)
{
    size_t n = 0;
    float *x;

    for (int k = 0; k < ls_trainer_params(t); k++)
        n += size_of(t, k);
    if (!(x = malloc(n * sizeof *x)))
        opt_fail(OPT_FAILED, "no memory for the best weights");
    return x;
}

int held_take(held *h, const ls_trainer *trainer)
{
    if (!h->value && !(h->value = make_room(trainer)))
        return OPT_FAILED;
    h->waits = get(trainer, h->value) == OPT_GO;
    return h->waits ? OPT_GO : OPT_FAILED;
}

int held_swap(held *h, ls_trainer *trainer)
{
    float *now = make_room(trainer);
    int status = now ? get(trainer, now) : OPT_FAILED;

    if (status == OPT_GO)
        status = set(trainer, h->value);
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

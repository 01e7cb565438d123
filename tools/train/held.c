/* SPDX-License-Identifier: BSD-3-Clause */
/* See held.h. */
#include "train/held.h"
#include "opt/opt.h"
#include "train/weights.h"

#include <stdlib.h>

static float *make_room(const ls_trainer *t)
{
    float *x = malloc((size_t)weights_count(t) * sizeof *x);

    if (!x)
        opt_fail(OPT_FAILED, "no memory for the best weights");
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

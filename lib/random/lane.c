/* SPDX-License-Identifier: BSD-3-Clause */
/* See lane.h. */
#include "random/lane.h"

#include "kernel/k_vmath.h"

static float lane0(v16 v)
{
    float lane[16];

    v16_store(lane, v);
    return lane[0];
}

float ls__expf(float x)
{
    return lane0(v16_exp(v16_set(x)));
}

float ls__logf(float x)
{
    return lane0(v16_log(v16_set(x)));
}

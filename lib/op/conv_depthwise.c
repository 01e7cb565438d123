/* SPDX-License-Identifier: BSD-3-Clause */
/* Depthwise convolutions, each channel a group (kernel/k_depthwise.h).  bf16
 * layers round what is multiplied, and sum as f32 does. */
#include "backend/backend.h"
#include "base/least.h"
#include "op/conv.h"
#include "op/window.h"

/* The weights or d, rounded. */
int64_t ls__depthwise_scratch(const ls_node *n)
{
    const ls__window *w = ls__window_of(n);

    return ls__most(w->kh * w->kw * ls__width(n), ls__conv_full_size(n));
}

static const float *rounded(const ls__run *r, int64_t n, const float *x,
                            float *to)
{
    if (!r->backend->bf16)
        return x;
    r->kernels->round_bf16(n, x, NULL, to);
    return to;
}

void ls__depthwise_product(const ls__run *r, const ls__conv *v, bool rotated,
                           float *image, float *scratch)
{
    ls__halo f = rotated ? ls__halo_of_dy(r->node) : ls__halo_of_x(r->node);
    int64_t taps = v->kh * v->kx;
    const float *w = rounded(r, taps * v->c, r->param[0], scratch);
    ls__conv all = *v;

    LS__ASSERT(ls__conv_groups(r->node) == v->c && v->c == ls__width(r->node));
    all.x = rounded(r, ls__halo_size(&f), v->x, image);
    all.out.n = v->c;
    all.out.b = rotated ? w + (taps - 1) * v->c : w;
    all.out.b_row = rotated ? -v->c : v->c;
    r->kernels->depthwise(&all);
}

void ls__depthwise_grad(const ls__run *r, const ls__conv *v, const float *d,
                        float *image, float *scratch)
{
    ls__halo f = ls__halo_of_x(r->node);
    ls__conv all = *v;

    all.x = rounded(r, ls__halo_size(&f), v->x, image);
    all.out.n = v->c;
    all.out.b = rounded(r, ls__conv_full_size(r->node), d, scratch);
    r->kernels->depthwise_grad(&all, r->dparam[1]);
}

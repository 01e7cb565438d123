/* SPDX-License-Identifier: BSD-3-Clause */
/* See initialiser.h: checks, and fans from a shape. */
#include "random/initialiser.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "random/init.h"

/* ------ checks ------ */

static bool is_among(int i, int last)
{
    return i >= 0 && i <= last;
}

/* Written so that NaN is refused. */
static bool scale_is_good(const ls_init *init)
{
    double least = init->kind == LS_INIT_VARIANCE ? 0 : -0x1.fffffep127;

    return init->scale >= least && init->scale <= 0x1.fffffep127;
}

int ls__initial_check(const ls_init *init)
{
    if (!is_among((int)init->kind, LS_INIT_OWN) ||
        !is_among((int)init->distribution, LS_TRUNCATED_NORMAL) ||
        !is_among((int)init->fan, LS_FAN_AVERAGE))
        return ls__fail(LS_EINVAL, "initialiser: kind %d, distribution %d or "
                        "fan %d is unknown", (int)init->kind,
                        (int)init->distribution, (int)init->fan);
    if (!scale_is_good(init))
        return ls__fail(LS_EINVAL, "initialiser: scale %g is not finite%s",
                        init->scale, init->kind == LS_INIT_VARIANCE
                                         ? ", or negative" : "");
    if (init->kind == LS_INIT_OWN && !init->fn)
        return ls__fail(LS_EINVAL, "initialiser: fn is NULL");
    return 0;
}

bool ls__initial_has_fans(const ls_init *init)
{
    return init->kind == LS_INIT_VARIANCE || init->kind == LS_INIT_ORTHOGONAL;
}

/* ------ values ------ */

static int fill_own(const ls_init *init, ls_key key, const char *name, int rank,
                    const int64_t *shape, float *out)
{
    int64_t n = ls__count(rank, shape), bad;

    if (init->fn(init->user, name, rank, shape, key, out) < 0)
        return ls__fail(LS_EUSER, "the initialiser of parameter \"%s\" failed",
                        name);
    if ((bad = ls__kernels()->first_nonfinite(n, out)) < n)
        return ls__fail(LS_ENONFINITE, "the initialiser of parameter \"%s\" "
                        "made element %lld not finite", name, (long long)bad);
    return 0;
}

void ls__initial_fans(const ls_init *init, int rank, const int64_t *shape,
                      double *in, double *out)
{
    double all = (double)ls__count(rank, shape);
    bool has = ls__initial_has_fans(init);

    *in = has ? all / (double)shape[rank - 1] : 0;
    *out = has ? all / (double)shape[rank - 2] : 0;
}

int ls__initial_fill(const ls_init *init, ls_key key, double fan,
                     const char *name, int rank, const int64_t *shape,
                     float *out)
{
    return init->kind == LS_INIT_OWN
               ? fill_own(init, key, name, rank, shape, out)
               : ls__init_values(init, key, fan, rank, shape, out);
}

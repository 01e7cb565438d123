/* SPDX-License-Identifier: BSD-3-Clause */
/* See normalise.h. */
#include "image/normalise.h"
#include "base/error.h"

static bool is_finite(double x)
{
    return (float)x - (float)x == 0;
}

static int check(int64_t channels, int given, const double *mean,
                 const double *std)
{
    if (!mean || !std)
        return ls__fail(LS_EINVAL, "normalisation of %d channels: %s is NULL",
                        given, mean ? "std" : "mean");
    if (given != 1 && given != channels)
        return ls__fail(LS_ESHAPE, "mean and std have %d channels, the images "
                        "%lld", given, (long long)channels);
    for (int c = 0; c < given; c++)
        if (!((float)std[c] > 0) || !is_finite(std[c]) || !is_finite(mean[c]))
            return ls__fail(LS_EINVAL, "normalisation of channel %d: mean %g, "
                            "std %g: floats are wanted, std above 0", c,
                            mean[c], std[c]);
    return 0;
}

int ls__normal_take(ls__normal *normal, ls__arena *arena, int64_t channels,
                    int given, const double *mean, const double *std)
{
    int status = given ? check(channels, given, mean, std) : 0;

    if (status < 0 || given == 0)
        return status;
    normal->mean = ls__arena_new(arena, (size_t)channels, sizeof(float));
    normal->std = ls__arena_new(arena, (size_t)channels, sizeof(float));
    if (!normal->mean || !normal->std)
        return LS_ENOMEM;
    for (int64_t c = 0; c < channels; c++) {
        normal->mean[c] = (float)mean[given == 1 ? 0 : c];
        normal->std[c] = (float)std[given == 1 ? 0 : c];
    }
    return 0;
}

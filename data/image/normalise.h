/* SPDX-License-Identifier: BSD-3-Clause */
/* The normalisation of images: a mean and a deviation for each channel, as
 * options give them. */
#ifndef LS_IMAGE_NORMALISE_H
#define LS_IMAGE_NORMALISE_H

#include "base/memory.h"

typedef struct ls__normal {
    float *mean, *std; /* [channel], NULL: no normalisation */
} ls__normal;

/* Take the numbers of `given` channels (0: no normalisation; 1: one for all)
 * for images of `channels`.  LS_EINVAL: one is missing, no float or not above
 * 0; LS_ESHAPE: another number of channels. */
int ls__normal_take(ls__normal *normal, ls__arena *arena, int64_t channels,
                    int given, const double *mean, const double *std);

/* (x - mean[c]) / std[c], in floats; only where there is one. */
static inline float ls__normal_of(const ls__normal *normal, int64_t c, float x)
{
    return (x - normal->mean[c]) / normal->std[c];
}

#endif

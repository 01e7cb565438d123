/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_norm.h.  In double, rounded once. */
#include "export/torch_norm.h"
#include "base/error.h"
#include "export/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEAN, VARIANCE, SCALE, SHIFT, PARTS, NAME = 512 };

static const char *const part_name[PARTS] = {"running_mean", "running_var",
                                             "weight", "bias"};

static int find(const ls_archive *file, const char *norm, const char *part)
{
    char name[NAME];

    snprintf(name, sizeof name, "%s.%s", norm, part);
    return ls__net_find(file, name);
}

/* One of its tensors; scale 1 and shift 0 where these are missing. */
static int read_part(ls__torch_norm *norm, const ls_archive *file,
                     const char *path, const char *name, int part, bool *taken)
{
    float *to = norm->values + part * norm->n;
    int at = find(file, name, part_name[part]);
    bool there = at >= 0;
    char text[LS__SHAPE_TEXT];
    ls_entry e;

    if (!there && part < SCALE)
        return ls__fail(LS_ENOTFOUND, "%s: has no tensor \"%s.%s\" of a batch "
                        "norm", path, name, part_name[part]);
    for (int64_t i = 0; !there && i < norm->n; i++)
        to[i] = part == SCALE;
    if (!there || !ls_archive_entry(file, at, &e))
        return 0;
    if (e.rank != 1 || e.shape[0] != norm->n)
        return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" is %s, the layer before "
                        "that batch norm has %lld outputs", path, e.name,
                        ls__shape_text(text, e.rank, e.shape),
                        (long long)norm->n);
    taken[at] = true;
    return ls_archive_read(file, at, norm->n, to);
}

static int check_variance(const ls__torch_norm *norm, const char *path,
                          const char *name)
{
    const float *v = norm->values + VARIANCE * norm->n;

    for (int64_t i = 0; i < norm->n; i++)
        if (!((double)v[i] + norm->epsilon > 0))
            return ls__fail(LS_EINVAL, "%s: \"%s.running_var\" %lld is %g, "
                            "with epsilon %g not above 0", path, name,
                            (long long)i, (double)v[i], norm->epsilon);
    return 0;
}

int ls__torch_norm_read(ls__torch_norm *norm, const ls_archive *file,
                        const char *path, const char *name, double epsilon,
                        int64_t n, bool *taken)
{
    int status = 0, counter = find(file, name, "num_batches_tracked");

    norm->n = n;
    norm->epsilon = epsilon;
    norm->values = ls__new((size_t)n, PARTS * sizeof(float), "batch norm");
    if (!norm->values)
        return LS_ENOMEM;
    for (int part = 0; part < PARTS && status == 0; part++)
        status = read_part(norm, file, path, name, part, taken);
    if (counter >= 0)
        taken[counter] = true;
    return status == 0 ? check_variance(norm, path, name) : status;
}

/* s of feature i. */
static double factor(const ls__torch_norm *norm, int64_t i)
{
    double variance = (double)norm->values[VARIANCE * norm->n + i];

    return (double)norm->values[SCALE * norm->n + i] /
           __builtin_sqrt(variance + norm->epsilon);
}

void ls__torch_norm_weights(const ls__torch_norm *norm, int64_t count,
                            float *weights)
{
    for (int64_t i = 0; i < norm->n; i++) {
        double s = factor(norm, i);

        for (int64_t k = 0; k < count; k++) {
            float *w = &weights[k * norm->n + i];

            *w = (float)((double)*w * s);
        }
    }
}

void ls__torch_norm_bias(const ls__torch_norm *norm, float *bias)
{
    const float *mean = norm->values + MEAN * norm->n;
    const float *shift = norm->values + SHIFT * norm->n;

    for (int64_t i = 0; i < norm->n; i++)
        bias[i] =
            (float)(((double)bias[i] - (double)mean[i]) * factor(norm, i) +
                    (double)shift[i]);
}

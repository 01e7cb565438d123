/* SPDX-License-Identifier: BSD-3-Clause */
/* See view.h.  A walk goes over runs, which are vectors along the last axis. */
#include "op/view.h"
#include "base/assert.h"
#include "kernel/kernel.h"

#include <string.h>

ls__view ls__view_all(int rank, const int64_t *shape)
{
    ls__view v = {.rank = rank};
    int64_t stride = 1;

    for (int k = rank - 1; k >= 0; k--) {
        v.shape[k] = shape[k];
        v.stride[k] = stride;
        stride *= shape[k];
    }
    return v;
}

/* Put an axis before the first, or make it one with the first. */
static void put_before(ls__view *v, int64_t extent, int64_t stride)
{
    if (extent == 1)
        return;
    if (v->rank && stride == v->shape[0] * v->stride[0]) {
        v->shape[0] *= extent;
        return;
    }
    LS__ASSERT(v->rank < LS_MAX_RANK);
    memmove(v->shape + 1, v->shape, (size_t)v->rank * sizeof *v->shape);
    memmove(v->stride + 1, v->stride, (size_t)v->rank * sizeof *v->stride);
    v->shape[0] = extent;
    v->stride[0] = stride;
    v->rank++;
}

ls__view ls__view_rows(const ls__view *v, int64_t rows, int64_t size)
{
    ls__view out = {.first = v->first};

    for (int k = v->rank - 1; k >= 0; k--)
        put_before(&out, v->shape[k], v->stride[k]);
    put_before(&out, rows, size);
    if (out.rank == 0) { /* a single element */
        out.rank = 1;
        out.shape[0] = out.stride[0] = 1;
    }
    return out;
}

/* A walk's place: the run that begins at element `at` of the array. */
typedef struct walk {
    const ls__view *v;
    int64_t index[LS_MAX_RANK];
    int64_t at;
} walk;

static walk start(const ls__view *v)
{
    LS__ASSERT(v->rank >= 1 && v->rank <= LS_MAX_RANK && v->first >= 0);
    return (walk){.v = v, .at = v->first};
}

/* Step to the next run; false past the last. */
static bool step(walk *w)
{
    for (int k = w->v->rank - 2; k >= 0; k--) {
        w->at += w->v->stride[k];
        if (++w->index[k] < w->v->shape[k])
            return true;
        w->at -= w->v->stride[k] * w->v->shape[k];
        w->index[k] = 0;
    }
    return false;
}

void ls__view_read(const ls__view *v, const float *array, const float *addend,
                   float *out)
{
    int64_t n = v->shape[v->rank - 1], by = v->stride[v->rank - 1];
    walk w = start(v);

    do {
        const float *from = array + w.at;

        if (by == 1 && !addend)
            memcpy(out, from, (size_t)n * sizeof *out);
        else if (!addend)
            for (int64_t i = 0; i < n; i++)
                out[i] = from[i * by];
        else
            for (int64_t i = 0; i < n; i++)
                out[i] = addend[i] + from[i * by];
        out += n;
        addend = addend ? addend + n : NULL;
    } while (step(&w));
}

void ls__view_write(const ls__view *v, const float *in, bool add, float *array)
{
    int64_t n = v->shape[v->rank - 1], by = v->stride[v->rank - 1];
    walk w = start(v);

    do {
        float *to = array + w.at;

        if (by == 1 && add)
            ls__kernels()->add(n, to, in, to);
        else if (by == 1)
            memcpy(to, in, (size_t)n * sizeof *to);
        else if (!add)
            for (int64_t i = 0; i < n; i++)
                to[i * by] = in[i];
        else
            for (int64_t i = 0; i < n; i++)
                to[i * by] += in[i];
        in += n;
    } while (step(&w));
}

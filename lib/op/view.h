/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided views: the elements of an array in another order, some of them, or
 * some several times.  Element (i,j,..) of a view is element i stride[0] +
 * j stride[1] + .. + first of its array. */
#ifndef LS_OP_VIEW_H
#define LS_OP_VIEW_H

#include "graph/op.h"

typedef struct ls__view {
    int rank;
    int64_t shape[LS_MAX_RANK], stride[LS_MAX_RANK];
    int64_t first;
} ls__view;

/* An array of that shape, all of it, in its own order. */
ls__view ls__view_all(int rank, const int64_t *shape);

/* The same view with `rows` arrays of `size` elements, one after the other, as
 * its first axis; axes that can be one are one. */
ls__view ls__view_rows(const ls__view *v, int64_t rows, int64_t size);

/* out[i] = element i of the view (+ addend[i], may be NULL and may be out). */
void ls__view_read(const ls__view *v, const float *array, const float *addend,
                   float *out);

/* Element i of the view = in[i]; add: += in[i], in rising order. */
void ls__view_write(const ls__view *v, const float *in, bool add, float *array);

#endif

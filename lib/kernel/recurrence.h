/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a recurrent layer, of all rows of a chunk at once. */
#ifndef LS_KERNEL_RECURRENCE_H
#define LS_KERNEL_RECURRENCE_H

#include <stdint.h>

/* Arrays are (rows,n) of units, or (rows,gates n) of gates, unless a stride
 * from row to row stands beside them.  A step that lies beyond a row's length
 * leaves the row's state as it is and makes zeros. */
typedef struct ls__recurrence {
    int64_t rows, n, t;    /* t: which step */
    const int32_t *length; /* of each row; NULL: every step counts */
    int64_t stride;        /* of y and dy */
    int64_t x_stride;      /* of x and kept: gates of all steps a row */

    const float *x;     /* the gates' share of the input */
    const float *gates; /* their share of the state */
    const float *h, *c; /* the state before; c: of LSTM alone */
    float *h_next, *c_next;
    float *y;
    float *kept; /* the gates for backward, which leaves the gradient by x
                    there; may be x */
    float *hn;   /* GRU: the state's share of n, and then the gradient by it */

    const float *dy;
    float *dh, *dc; /* by the state after; dc becomes that before */
    float *past;    /* the part of dh that passes the gates by */
    float *d;       /* the gradient by `gates` */
} ls__recurrence;

typedef void ls__recur(const ls__recurrence *s);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* --explain: the first step that a run makes, shown device by device.
 *
 * What the engine does at once is done here one thing after the other: a
 * trainer of one device is given the rows of each device in turn, the gradients
 * are added in the tree's order, multiplied by the factor and applied.  Then
 * the engine makes its step, and the parameters of both must have the same
 * bytes. */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

#include "run/run.h"

typedef struct explain {
    run *run;       /* NULL: nothing is to be explained (any more) */
    int64_t floats; /* of all parameters */
    float *before;  /* the parameters before the step */
    float *all;     /* (devices,floats): gradients, the first becomes the sum */
    float *sum;     /* all's first */
    double *loss;   /* of each device, summed over its terms */
    double terms;   /* of the batch: a row of y has one for each column */
} explain;

/* OPT_WRONG, and a message, for an option that makes a step more than is
 * shown. */
int explain_check(const run *r);

/* Take the step of batch `step` apart, and print that; nothing when the run is
 * not to be explained.  Before the engine's step. */
int explain_begin(explain *e, run *r, int64_t step);

/* The update, after the engine's; OPT_FAILED when the bytes differ. */
int explain_end(explain *e, const ls_result *result);

void explain_free(explain *e);

#endif

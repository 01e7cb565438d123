/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded step, and who is shown it. */
#ifndef LS_RECORD_RECORD_STEP_H
#define LS_RECORD_RECORD_STEP_H

#include "record/where.h"
#include <lockstep/trainer.h>

#include <jansson.h>

/* Who is shown a step: first its plan, as so many rows of a chunk and an object
 * for each node, then each array and number in the order in which it is made.
 * The step goes on with the values as they are left.  The first status below 0
 * ends the showing, and not the step. */
typedef struct ls__onlooker {
    void *user;
    int (*begin)(void *user, int64_t chunk_rows);
    int (*node)(void *user, json_t *node); /* which is the user's from here on;
                                              NULL: no memory */
    int (*array)(void *user, const ls__where *where, void *values,
                 int64_t floats, bool integers);
    int (*number)(void *user, const ls__where *where, float *x);
    int (*real)(void *user, const ls__where *where, double x);
} ls__onlooker;

/* Can a step be shown, of one device or, -1, of all?  LS_ENOTSUP, LS_EINVAL. */
int ls__show_check(const ls_trainer *t, int device);

/* Make a step as ls_step does, and show what it makes, of forward and backward
 * that of one device or, -1, of all; *shown is what the showing ended with. */
int ls__show_step(ls_trainer *t, const ls_batch *batch, int device,
                  const ls__onlooker *show, ls_result *result, int *shown);

/* Sizes as a text, "4x16"; returns it. */
enum { LS__SIZES_TEXT = 200 };
const char *ls__sizes_text(char out[LS__SIZES_TEXT], int rank,
                           const int64_t *sizes);

#endif

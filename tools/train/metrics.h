/* SPDX-License-Identifier: BSD-3-Clause */
/* --metrics FILE: one JSON object a line.  The first describes the run, each
 * other is a step.  Floats are written so that they read back exactly; all but
 * the first line and "ms" is the same for any number of workers. */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include "run/run.h"

#include <stdio.h>

typedef struct metrics {
    FILE *file; /* NULL: no metrics are wanted */
    const char *path;
} metrics;

/* Create the file of that path and write the first line, or go on behind the
 * `keep` bytes that a resumed run had written, if they are there and the line
 * of step `next` (0: of a new run) comes behind them.  Nothing to do where path
 * is NULL. */
int metrics_open(metrics *m, const run *r, const char *path, int64_t keep,
                 int64_t next);

/* A step of `rows` rows (without padding) that took ms milliseconds. */
int metrics_step(metrics *m, const ls_result *result, int64_t rows, double ms);

/* The findings of the last step's check, on that rank; -1: there are none. */
void metrics_check(metrics *m, const ls_health *found, int rank);

/* The outcome of a run that went back: of the recorded states the one after
 * `same` batches is the last that is the same again, that after `other` the
 * first that is not; -1: all are the same. */
void metrics_onset(metrics *m, int64_t same, int64_t other);

/* Let readers see what is there; OPT_FAILED when it could not be written. */
int metrics_flush(metrics *m);
int metrics_close(metrics *m);

/* The bytes that are in the file, after a flush; 0 without one. */
int64_t metrics_size(const metrics *m);

#endif

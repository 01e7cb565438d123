/* --metrics FILE: one JSON object a line.  The first describes the run, each
 * other is a step.  Floats are written so that they read back exactly; all but
 * the first line and "ms" is the same for any number of workers. */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include "opt.h"

#include <lockstep.h>
#include <stdio.h>

typedef struct metrics {
    FILE *file; /* NULL: no metrics are wanted */
    const char *path;
} metrics;

typedef struct metrics_run {
    const opt_program *program;
    const opt_line *line;
    const void *settings;
    int devices, workers;
    const char *bits; /* "portable" or "not portable" */
    const char *products; /* who makes them: see run_products */
    int64_t keep;     /* bytes that a resumed run had written; 0: a new run */
} metrics_run;

/* Create the file and write the first line, or go on behind the bytes that are
 * to be kept, if they are there; path NULL: nothing to do. */
int metrics_open(metrics *m, const char *path, const metrics_run *run);

/* A step of `rows` rows (without padding) that took ms milliseconds. */
int metrics_step(metrics *m, const ls_result *result, int64_t rows, double ms);

/* Let readers see what is there; OPT_FAILED when it could not be written. */
int metrics_flush(metrics *m);
int metrics_close(metrics *m);

/* The bytes that are in the file, after a flush; 0 without one. */
int64_t metrics_size(const metrics *m);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A progress bar: one line on stderr, only when that is a terminal, redrawn at
 * most ten times a second.  Results never pass through here. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool on;        /* stderr is a terminal */
    int drawn;      /* characters on the line now */
    int64_t first;  /* steps done before it began */
    int64_t total;  /* steps */
    int64_t rows;   /* trained so far */
    double started; /* seconds */
    double last;    /* when it was drawn */
    const char *what; /* they are, if no steps */
} progress;

void progress_start(progress *bar, int64_t first, int64_t total);

/* `done` steps are done, the last of them with this loss and number of rows;
 * where no step has rows, the loss is not shown. */
void progress_step(progress *bar, int64_t done, float loss, int64_t rows);

/* Erase it: before a line is printed, and at the end. */
void progress_clear(progress *bar);

#endif

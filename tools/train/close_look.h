/* SPDX-License-Identifier: BSD-3-Clause */
/* --record STEP[:DEVICE] FILE.lsr: one step of a run, with all it makes. */
#ifndef TOOLS_CLOSE_LOOK_H
#define TOOLS_CLOSE_LOOK_H

#include "run/run.h"
#include "train/train_settings.h"

typedef struct close_look {
    int64_t step; /* of the run, from 0; -1: none is recorded */
    int device;   /* -1: all */
    bool values;
    const char *path;
    bool is_done;
} close_look;

/* Read the option and the file's name beside it.  OPT_WRONG after a message. */
int close_look_open(close_look *c, const run *r, const train_settings *set);

/* ls_step of step `step`, recorded if it is the one. */
int close_look_step(close_look *c, const run *r, int64_t step,
                    ls_result *result);

/* OPT_FAILED after a message: the run is over and never came to the step. */
int close_look_close(const close_look *c);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* --record STEP[:DEVICE] FILE.lsr: one step of a run, with all it makes. */
#ifndef TOOLS_STEP_RECORDER_H
#define TOOLS_STEP_RECORDER_H

#include "run/run.h"
#include "train/keeper.h"
#include "train/train_settings.h"

#include <lockstep/record.h>

typedef struct step_recorder {
    int64_t step; /* of the run, from 0; -1: none is recorded */
    int device;   /* -1: all */
    bool values;
    const char *path;
    bool is_done;
    ls_record *record; /* which waits for what follows the step; or NULL */
} step_recorder;

/* Read the option and the file's name beside it.  OPT_WRONG after a message. */
int step_recorder_open(step_recorder *c, const run *r,
                       const train_settings *set);

/* ls_step of the step after a position, recorded if it is the one. */
int step_recorder_step(step_recorder *c, const run *r, const position *at,
                       ls_result *result);

/* The position is that after the step, with its evaluation: the record has its
 * file.  NULL: it is not known. */
int step_recorder_follow(step_recorder *c, const run *r, const position *at);

/* OPT_FAILED after a message: the run is over and never came to the step. */
int step_recorder_close(step_recorder *c);

#endif

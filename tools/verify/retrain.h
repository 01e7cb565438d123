/* SPDX-License-Identifier: BSD-3-Clause */
/* Training again, by lockstep-train under the options of a transcript. */
#ifndef TOOLS_RETRAIN_H
#define TOOLS_RETRAIN_H

#include "verify/files.h"

enum { REPLAY_TEXT = 512, REPLAY_NAMES = 1 << 14 };

typedef struct replay {
    const published *of;
    const files *files;     /* their places */
    const char *workers;    /* for --workers; or NULL */
    const char *checkpoint; /* a folder of one, to begin with; or NULL */
    int64_t first;          /* batches that it has */
    int64_t until;          /* batches at which to end; -1: the run's end */
    const char *trainer;    /* the program; NULL: lockstep-train */
    char *unknown;          /* [REPLAY_NAMES]: what the referee does not know,
                               one after the other; or NULL */
    const char *save;       /* the model's file to write and compare at the
                               run's end; or NULL */
    char *model;            /* [REPLAY_TEXT]: "same .." or "differs ..", ""
                               where it was not compared; or NULL */
    const char *const *more; /* words in the place of --against, ended by NULL;
                               NULL: compare */
} replay;

/* Train, to that many batches, part by part where options changed between; that
 * needs a folder of checkpoints. *same: every line was the transcript's; text
 * says of how many, or which is not.  OPT_FAILED after a message: it could not
 * be done. */
int replay_run(const replay *r, int64_t batches, bool *same,
               char text[REPLAY_TEXT]);

/* Train up to a step, in one process, compare nothing, and write the step's
 * record; device -1: all.  OPT_FAILED after a message. */
int replay_record(const replay *r, int64_t step, int device, const char *path);

#endif

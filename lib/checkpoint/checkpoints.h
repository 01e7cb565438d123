/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a run's checkpoints (checkpoints.c), for reading them back
 * (checkpoints_load.c) and for several ranks (checkpoints_ranks.c). */
#ifndef LS_CHECKPOINT_CHECKPOINTS_H
#define LS_CHECKPOINT_CHECKPOINTS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "checkpoint/checkpoint.h"
#include "state/over_ranks.h"
#include "state/trainer_state.h"
#include <lockstep/checkpoint.h>

#include <pthread.h>

typedef enum phase { IDLE, BUSY, ENDING } phase;

struct ls_checkpoints {
    ls_trainer *trainer;
    const ls__params *layout; /* of its arrays */
    ls__arena arena;
    ls__process process; /* the thread's */
    ls__folder dir;      /* locked, by the rank that writes */
    int keep;
    bool keep_first;
    int blocks;                   /* the parameters and each moment */
    float *copy[1 + LS__MOMENTS]; /* [block][layout->floats]; NULL: this rank
                                     writes none */
    ls__safetensor *tensor;       /* [blocks * layout->count], of the copy */
    json_t *options, *graph, *notes;
    json_t *loaded; /* the notes of what was loaded */
    const char *may_change;
    json_t *differs; /* options that the last one looked at had otherwise */
    char skipped[LS__MESSAGE];
    int64_t step; /* of the copy */
    char root[65]; /* of the copy's state; "": not known */

    pthread_t thread;
    bool started; /* not on ranks that write nothing */
    /* Guards phase, status and message; held while nothing else is done. */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the phase changed */
    phase phase;
    int status; /* of the last save, until it is reported */
    char message[LS__MESSAGE];
};

/* The trainer goes on from what was loaded. */
void ls__checkpoints_set(ls_checkpoints *c, int64_t step);

/* Wait until the thread has nothing to write, and the copy is the caller's. */
void ls__checkpoints_idle(ls_checkpoints *c);

/* LS_EINVAL names the first option that is not the same on all ranks. */
int ls__checkpoints_agree(const ls_checkpoints *c);

/* Copy the trainer's state, of all ranks. */
int ls__checkpoints_collect(ls_checkpoints *c);

/* The first rank has looked for a checkpoint and ended with this status; *step
 * is that of the copy, or -1 where there was none.  All ranks end alike and,
 * where it was good, have their state. */
int ls__checkpoints_deal(ls_checkpoints *c, int status, int64_t *step);

#endif

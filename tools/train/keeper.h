/* SPDX-License-Identifier: BSD-3-Clause */
/* --checkpoint: what the tool has the library keep, and where a run goes on.
 * A save that fails is told and does not end the training. */
#ifndef TOOLS_KEEPER_H
#define TOOLS_KEEPER_H

#include "run/run.h"
#include "train/change.h"
#include "train/evaluate.h"
#include "train/train_settings.h"

#include <lockstep/transcript.h>

/* The position of a run, beside what the trainer knows. */
typedef struct position {
    int64_t done;               /* batches taken from the data */
    int64_t epoch;              /* of them; for readers */
    double loss, right, weight; /* sums over the epoch so far */
    score score;                /* of evaluations so far */
    int64_t waits;              /* 1: a signal cut short the one that is due */
    int64_t metrics;            /* bytes of --metrics; 0: none */
} position;

typedef struct keeper {
    ls_checkpoints *all; /* NULL: none are wanted */
    const char *folder;
    int64_t every;       /* batches; 0: at the end only */
    int64_t saved;       /* batches done when it was; -1: never */
    int64_t waits;       /* and the position's, with it */
    bool went_on;        /* from one of them */
    bool failed;         /* the last one that was heard of */
    bool is_old;         /* they name options that are parts by now */
    bool quiet;          /* another rank writes, and tells */
    char changes[CHANGE_TEXT]; /* of options since the run began; "": none */
} keeper;

/* Nothing to do without --checkpoint.  With --resume go on from what there is,
 * *at being where; without, a folder that holds some is refused.  The data must
 * be the same when a run goes on, and every option of the model, unless its row
 * says that it may differ. */
int keeper_open(keeper *k, const run *r, const train_settings *set,
                position *at);

/* Go back to the newest checkpoint of fewer than `before` updates (INT64_MAX:
 * to the newest), *at being where; younger ones are deleted.  *step: its
 * updates; -1: there is none, and nothing is changed. */
int keeper_back(keeper *k, const run *r, int64_t before, int64_t *step,
                position *at);

/* The numbers of a position that a run goes on with, without the places of
 * files: the program's part of a state's root.  Returns how many. */
enum { KEEPER_CONTROLS = 24 };
int keeper_controls(const run *r, const position *at,
                    ls_control control[KEEPER_CONTROLS]);

/* The root of the state that the run has now; all ranks call it. */
int keeper_root(const run *r, const position *at, char root[65]);

/* The note on its transcript in the checkpoint that a run went on from; NULL:
 * none, or the run began. */
const char *keeper_transcript(const keeper *k);

/* Is one to be saved now? */
bool keeper_due(const keeper *k, int64_t done);
/* transcript: what it shall say of one; or NULL. */
void keeper_save(keeper *k, const run *r, const position *at,
                 const char *transcript);

/* Wait for the last one; OPT_FAILED, and a message, if it failed. */
int keeper_finish(keeper *k);
void keeper_close(keeper *k);

#endif

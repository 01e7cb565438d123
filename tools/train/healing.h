/* SPDX-License-Identifier: BSD-3-Clause */
/* --check: what the checks of a run found, told when it happens and summed at
 * the end, with what they cannot have seen.  Its part heal: what the core did
 * in steps that were not checked is undone: the run goes back to its oldest
 * checkpoint, computes again on the other cores, and finds where it went
 * wrong. */
#ifndef TOOLS_HEALING_H
#define TOOLS_HEALING_H

#include "run/launch.h"
#include "run/run.h"
#include "train/keeper.h"
#include "train/metrics.h"

#include <lockstep/transcript.h>

/* The findings of a rank's checks in one step. */
typedef struct healing_news {
    int64_t checks, wrong, moved;
    int64_t step;   /* of the last fault, */
    int worker, pu; /* the one at fault */
} healing_news;

typedef struct healing {
    ls_health found; /* until the last step, on all ranks, without a text */
    int rank;        /* of that fault; -1: the process is alone */
    ls_health own;   /* of this rank */
    healing_news mine, all; /* of this step: this rank's, and of all ranks */
    ls_state_root *root; /* of states, before it went back */
    int64_t roots;
    bool replays;    /* the run went back, and is not yet where it was */
    int64_t until;   /* batches done there, */
    char hash[65];   /* and the state hash before anything else was done */
    bool arrived;    /* in this step */
    ls_health then;  /* found, before it went back, */
    int then_rank;   /* on this rank */
    int64_t from, same, other; /* batches: the checkpoint; the last root that
                                  was the same; the first that was not, -1 */
    int64_t backs;
    int64_t left; /* computations that were wrong, on whichever rank, since it
                     went back last, where not all are checked */
} healing;

/* Look at what the step found, which all ranks tell each other where it was
 * checked; where h->mine.wrong, this rank then tells it. */
int healing_step(healing *h, launch *l, const run *r);
void healing_tell(const healing *h, const run *r, const train_settings *set);
/* The same in the metrics, after the step's row. */
void healing_note(healing *h, metrics *m);

/* Was a core of any rank wrong in this step that may have been before, and is
 * it out of the way now? */
bool healing_is_late(const healing *h, const run *r);

/* Go back from a step, `done` batches after which it ended; all ranks call it.
 * *went: there was a checkpoint, and *at is where the run is. */
int healing_back(healing *h, const run *r, keeper *k, const char *transcript,
                 position *at, int64_t done, bool *went);

/* A run goes on, or begins: it first goes back where one before it was ended
 * while it did so. */
int healing_resume(healing *h, launch *l, const run *r, keeper *k,
                   position *at);

/* Compare the run with what it was: after the update of a batch, and when all
 * that belongs to it is done. */
int healing_arrive(healing *h, const run *r, int64_t done);
int healing_compare(healing *h, const run *r, const position *at);

/* The last line of a run that is checked; nothing without --check.  OPT_FAILED
 * after a message: it did not go back from what a core that was found may have
 * done before. */
int healing_end(const healing *h, const run *r);
void healing_free(healing *h);

#endif

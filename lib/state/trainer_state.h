/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer as those see it who stand above the engine and keep its state, hash
 * it or compare it: what it is, and arrays in one layout. */
#ifndef LS_STATE_TRAINER_STATE_H
#define LS_STATE_TRAINER_STATE_H

#include "base/range.h"
#include "model/input.h"
#include "model/params.h"
#include "reduce/owned.h"
#include <lockstep/trainer.h>

/* The most updates: times the micro-batches of one (65536 at most) it is a
 * number yet. */
#define LS__MOST_STEPS (INT64_C(1) << 46)

/* A trainer's present state; all that it points to is the trainer's. */
typedef struct ls__state {
    const ls__params *layout;
    const ls_graph *graph; /* NULL: a gradient function of the user's */
    const ls_trainer_options *options;
    ls_pool *pool;
    const struct ls_transport *link; /* to the other ranks, or NULL */
    ls__owned owned;       /* this rank's share of moments */
    ls__span here;         /* the devices of this process, of all */
    int micro;
    bool local_rows;         /* each rank gives a batch the rows that it has */
    int64_t chunk_rows;    /* of the plan; 0: there is none */
    int moments;
    const char *const *moment_name;
    int64_t step, sets;    /* updates; how often the program set values */
    bool averaged;         /* the average stands in the parameters' place */
    double lr;             /* the peak that schedules go by */
} ls__state;

ls__state ls__state_of(const ls_trainer *t);

/* The parameters, block 0, or moment b - 1 as far as this rank owns it. */
const float *ls__state_block(const ls_trainer *t, int b);

/* The same to write all of it, or some: what was packed of it is stale. */
float *ls__state_write(ls_trainer *t, int b);

/* The same for the program to set it, which counts. */
float *ls__state_set(ls_trainer *t, int b);

/* The weights are fit for a step and to be kept: LS_EINVAL while the average
 * stands in their place. */
int ls__state_check(const ls_trainer *t);

/* The trainer goes on from what was written, as after `step` updates and with
 * the rate of its options. */
void ls__state_go_on(ls_trainer *t, int64_t step);

/* The first device of a rank, and behind the last rank how many there are. */
int ls__state_border(const ls_trainer *t, int rank);

/* The inputs of the model, and their number. */
const ls__input *ls__state_inputs(const ls_trainer *t, int *count);

/* Was the batch opened for the trainer? */
bool ls__state_has_batch(const ls_trainer *t, const ls_batch *batch);

/* Let the calling thread run where none of the workers does, if it may. */
void ls__state_roam(const ls_trainer *t);

/* Let a thread of its owner's run wherever the owner could before it was
 * pinned. */
void ls__state_unpin(const ls_trainer *t);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A step: one pass of one batch through a model and its training.  The caller
 * makes it, the workers of a job share it, and it is gone when the call
 * returns; what lives longer is in the trainer (trainer.h). */
#ifndef LS_TRAIN_STEP_H
#define LS_TRAIN_STEP_H

#include "base/range.h"
#include "model/ls_model.h"
#include "rules/optim.h"

typedef struct ls__step ls__step;

/* The kinds that a worker's time is counted as. */
typedef enum ls__lap_kind {
    LS__GRADIENTS, LS__REDUCE, LS__UPDATE, LS__LAPS
} ls__lap_kind;

/* A phase: the work between two barriers.  Every worker computes the few
 * numbers that decide how a pass goes on (weights, failures) for itself, from
 * what all devices reported before the barrier: the same input, the same
 * decision. */
typedef struct ls__phase {
    const char *name; /* in traces and for watchdogs */
    ls__lap_kind lap;
    /* One of the two.  A worker's part; false: the pass ends here, which every
     * worker says alike. */
    bool (*run)(ls__step *s, int worker);
    /* Called for each device, by the worker that runs it.  `device` counts
     * those that run in this process. */
    void (*run_device)(ls__step *s, int worker, int device);
    /* In its place where devices meet on the way (joint.h): all of a worker's,
     * as run. */
    bool (*run_joint)(ls__step *s, int worker);
    /* Is there nothing to do?  Every worker says alike, after the barrier of
     * the phase before, and goes past it.  NULL: there always is. */
    bool (*idle)(const ls__step *s);
    bool meets; /* processes do, also one that cannot begin: ls__step.refused */
} ls__phase;

enum { LS__PHASES = 64 };

/* A kind of pass: its phases, up to one without a function. */
typedef struct ls__pass {
    bool train;   /* with gradients, and layers as they are in training */
    bool reduces; /* to one gradient */
    bool updates; /* the parameters, by it */
    bool trusted; /* no sums of devices to judge by: nothing stops it */
    ls__phase phase[LS__PHASES];
} ls__pass;

/* A device's report; a cache line each, since devices write at once. */
typedef struct ls__report {
    _Alignas(64) ls_sums sums;
    int64_t step, rows; /* the trainer's; the batch's */
    double lr;          /* the trainer's peak */
    int asks, refused;  /* the step's */
    int status; /* of its gradient function */
    int failed; /* the number of the user's operator that made it so, or -1 */
    bool diverged; /* its gradient is not the one it gave alone */
} ls__report;

/* A worker's times in the last step; a cache line each.  Tracks need an open
 * trace; these are sums that a program may ask for at any time. */
typedef struct ls__lap {
    _Alignas(64) double entered; /* when, the phase it is in or was; 0: none */
    double busy[LS__LAPS];       /* seconds */
} ls__lap;

_Static_assert(sizeof(ls__report) % 64 == 0 && sizeof(ls__lap) % 64 == 0,
               "no two of them share a cache line");

/* Records of a step, in memory that the trainer lends. */
typedef struct ls__notes {
    ls__report *report; /* [device of the experiment] plain data: a process
                           may send its own to others */
    int64_t *bad;       /* [worker] first element not finite, or -1 */
    float *square;      /* [block of the gradient] sum of squares, by the
                           worker that reduces it; NULL: no clipping */
    unsigned char *fate; /* [block] ls__fate, likewise; NULL: none has one */
    const void **row;   /* [input] of a row that is looked at alone */
    ls__lap *lap;       /* [worker]; NULL: not asked for (cost.c) */
} ls__notes;

/* The verdict on a step: it goes on, or what ended it. */
typedef enum ls__verdict {
    LS__GOES_ON,
    LS__NO_WEIGHT,   /* of any row: nothing to do, and no failure */
    LS__FAILED,      /* on a device */
    LS__BAD_GRADIENT /* once it was reduced: it or its norm is not finite */
} ls__verdict;

/* The question of a pass that writes to out. */
typedef struct ls__query {
    const ls__goal *output; /* to predict */
    float *out;             /* each row by its device */
    int asks;               /* for what, as a number that all processes have
                               alike */
    int input;              /* number of the input that the gradient is by */
    bool drops;             /* layers are as they are in training */
    const void **row;       /* [device here * inputs + input] of a row that is
                               looked at alone, in a pass over rows */
} ls__query;

/* Times of phases, in seconds of worker 0's clock. */
typedef struct ls__clock {
    const ls__phase *last; /* that was run */
    double began, ended;   /* the step, and the last phase */
    double took[LS__LAPS]; /* waiting at barriers included */
} ls__clock;

struct ls__step {
    ls_trainer *trainer;
    const ls__pass *pass;
    const ls_batch *batch;
    int64_t number;     /* of the step: how many updates were before it */
    int64_t all, rows;  /* of the batch; of a shard, the last ones less */
    ls__query query;
    int refused;            /* why this process cannot begin, a status: where
                               others wait for it, it goes along to where they
                               meet, computes nothing and says so; 0: it can */
    int micro;          /* micro-batches of the batch */
    int before, calls;  /* those that were added up before; all that
                           the coming update has */
    float *in_hand;     /* the gradient of a pass that computes none */
    float *gradient;    /* what is reduced to, and updates read; grad[0] where
                           nobody says otherwise */
    bool checked;       /* it is computed twice: blocks are one worker's */
    bool fates;         /* blocks of the gradient have a fate: hook.h */
    ls__rule rule;      /* the scalars of the update */
    float drop;         /* rates of dropout are times this */
    const ls__rule *rules; /* [slot] where parameters have their own; NULL */
    ls__notes notes;
    int status;         /* of the ranks' last exchange */
    float norm;         /* of the gradient, by worker 0; NaN: not computed */
    ls__verdict verdict; /* once all is over */
    ls__clock clock;
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Step hooks: what goes along with steps and is no part of them.  A
 * hook is a row of functions, any of which may be NULL; the step calls those
 * of its trainer's hooks at its stations, one hook after the other, and knows
 * none by name.
 *
 *     wants, open, close    with the trainer
 *     begin, end            a step, on the caller's thread
 *     enter, leave, ready   a device's gradient, on the device's worker
 *     fate, summed          a block of the gradient in the reduction
 *     before, moves, changed, passed    a patch of what an update changes
 *
 * Whoever looks at a step between operators is a hook; inside of an operator
 * sees only the observer of a recorded step (graph/op.h).
 *
 * Blocks are those of the reduction, or parts of them; whoever works on one
 * calls.  So hooks lock nothing, and what they note of a block has one
 * writer. */
#ifndef LS_TRAIN_HOOK_H
#define LS_TRAIN_HOOK_H

#include "model/ls_model.h"
#include "pool/pool.h"
#include "reduce/owned.h"
#include "train/step.h"
#include "train/trained.h"

/* Running statistics of devices before an update; ranks exchange them. */
typedef struct ls__running {
    double *next;   /* [device of the experiment * values]; NULL: nothing */
    int64_t values; /* of a device */
} ls__running;

/* A trainer as its hooks see it.  Gradients, contexts and kept arrays are there
 * from `open` on. */
typedef struct ls__rig {
    ls_pool *pool;
    int workers, micro;
    ls__span devices;
    ls__owned owned;
    const ls_trainer_options *options;
    ls__arena *arena;
    ls__model *model;
    const ls__trained *trained;
    const ls__gradients *grad;
    ls__context **context;     /* [device here]; NULL without a plan */
    float *kept;               /* [owned float] what `needs` named, or NULL */
    ls__running *running;
    struct ls__ranks *ranks;   /* NULL: this process runs all devices */
    bool whole;                /* as in ls__needs */
} ls__rig;

/* The sum of all hooks' needs. */
typedef struct ls__needs {
    const char *keeps; /* an array of this name, with the moments */
    size_t guard;      /* floats around each device's gradient */
    bool whole;        /* the device's gradients, of all parameters: nothing
                          is left out of them, or leaves them early */
    bool fates;        /* of blocks */
    bool single;       /* on several NUMA nodes too one copy of the weights, and
                          sums of all devices at once */
} ls__needs;

/* A device's micro-batch, on its worker. */
typedef struct ls__micro_batch {
    int worker, device, micro;
    int room;    /* of ls__gradients.later, that is its own */
    bool later;  /* its gradient is there, to be added to the device's */
    bool added;  /* a hook has done so */
    int status;  /* of the gradient function, when it has run */
} ls__micro_batch;

/* The fate of a block in the reduction. */
typedef enum ls__fate {
    LS__SUMMED, /* now */
    LS__WAITS,  /* for the update, which sums it where it is used */
    LS__ZEROS   /* never: it is zeros on all devices */
} ls__fate;

/* A block of an update, of one parameter: `range` of the layout lies at `at` of
 * what is owned. */
typedef struct ls__patch {
    int slot;
    ls__range range;
    int64_t at;
} ls__patch;

typedef struct ls__hook {
    const char *name;

    /* Does it ride this trainer?  Then what it needs. */
    bool (*wants)(const ls__rig *rig, ls__needs *needs);
    /* *own is the first argument of all that follow.  Closed after a failure
     * too, if it is set. */
    int (*open)(void **own, const ls__rig *rig);
    void (*close)(void *own);

    /* A status below 0 ends the step before it began. */
    int (*begin)(void *own, ls__step *s);
    /* The step is over, and this is its result; not called where it failed. */
    void (*end)(void *own, const ls__step *s, const ls_result *result);

    void (*enter)(void *own, ls__step *s, const ls__micro_batch *mb);
    void (*leave)(void *own, ls__step *s, ls__micro_batch *mb);
    /* The gradient of a device is complete, and not reduced yet; the sum of
     * some devices may stand in it, unless `whole`. */
    void (*ready)(void *own, ls__step *s, int worker, int device);

    /* Before a block is reduced, where s->fates; the first hook's counts. */
    ls__fate (*fate)(void *own, const ls__step *s, ls__range block);
    /* It is, or is known to be zeros.  No block waits where anybody asks. */
    void (*summed)(void *own, const ls__step *s, ls__range block, bool zeros);

    /* Every patch of every parameter, before it is updated if it is trained. */
    void (*before)(void *own, const ls__step *s, const ls__patch *patch);
    /* The next stretch of it that moves: run->last is where to look on, the
     * range's first to begin with.  False: there is none.  The first hook's
     * counts; nobody's: all moves. */
    bool (*moves)(void *own, const ls__patch *patch, ls__range *run);
    /* It was updated. */
    void (*changed)(void *own, const ls__step *s, const ls__patch *patch);
    /* A worker is through with its part of so many sections
     * (reduce/owned.h). */
    void (*passed)(void *own, ls__step *s, int worker, int sections);
} ls__hook;

/* A hook and what it holds. */
typedef struct ls__riding {
    const ls__hook *is; /* NULL: the list ends here */
    void *own;
} ls__riding;

/* The most hooks of a trainer. */
enum { LS__HOOKS = 11 };

#endif

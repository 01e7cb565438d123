/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that lives between steps: the model, each device's gradient,
 * moments, options and ownership.  The needs of a single step are in step.h. */
#ifndef LS_TRAIN_TRAINER_H
#define LS_TRAIN_TRAINER_H

#include "train/copies.h"
#include "train/hook.h"
#include <lockstep/gradients.h>

typedef struct ls__row_ways ls__row_ways;

/* The source of a device's gradient: a function, or the plan. */
typedef struct ls__source {
    ls_gradient_fn *fn;    /* the user's; NULL: the model's plan */
    void *user;
    ls__context **context; /* [device here] its worker's; NULL without a plan */
    ls__team **team;       /* [device here] its worker's, by which others help
                              it; NULL: nobody does */
} ls__source;

/* Arrays of an update beside the parameters: the optimizer's, and last what a
 * hook keeps, if one does. */
typedef struct ls__moments {
    int count;
    const char *name[LS__MOMENTS];
    float *of[LS__MOMENTS]; /* [owned float] each piece by its owner */
    bool averaged; /* the last is the parameters, and in their place is the
                      average */
} ls__moments;

/* The sharding of parameters and moments, and its axis. */
typedef struct ls__placed {
    const char *data_axis;   /* of the mesh */
    struct ls__split *of[2]; /* [slot] of parameters, of moments */
} ls__placed;

/* A trainer's history: others compare it to see that the trainer changed. */
typedef struct ls__history {
    int64_t uses; /* computations that took the devices' gradients */
    int64_t sets; /* of values, by the program */
    bool changed; /* values are other ones than at first, or may be */
} ls__history;

struct ls_trainer {
    ls_pool *pool;
    struct ls__life *life; /* its batches know by it whether it is closed */
    ls_trainer_options options;
    ls__span devices; /* those that run in this process, of the experiment's,
                         which are those along the data axis */
    ls__owned owned;  /* the floats that this process reduces and updates, of
                         the layout */
    struct ls__ranks *ranks; /* the others; NULL: this process runs all devices
                                and owns all floats */
    int workers;
    const ls__row_ways *row_ways; /* NULL: batches are given all rows */
    int micro; /* batches of a step */
    int64_t step;
    ls__arena arena;

    ls__model model;
    ls__source source;
    ls__moments moments;
    ls__gradients grad;
    ls__running running;
    struct ls__nodes *nodes; /* nodes.h; NULL: devices are added at once */
    ls__copies copies; /* of the model's packed weights */
    struct ls__joint *joint; /* joint.h; NULL: devices need not meet */
    ls__trained trained;
    ls_gradients *between; /* has a function for between reduction and update;
                              NULL: none does */

    double lr;        /* the peak that schedules go by */
    ls__history history;
    ls__riding hook[LS__HOOKS];
    ls__placed placed;
    ls__notes notes;  /* lent to each step */
    double seconds;   /* of the last training step */
    struct ls__by_inputs *by_inputs; /* input_gradient.h; NULL: not yet */
};

/* The rows of a shard among those of the batch. */
typedef struct ls__shard_rows {
    int64_t first, rows;
    const float *weights; /* NULL: all 1 */
} ls__shard_rows;

struct ls_batch {
    const ls_trainer *trainer; /* unless its life is over */
    struct ls__life *life;
    int inputs;
    int64_t *rows;            /* [input], 0: not set; of all ranks */
    const float *weights;
    int64_t weight_rows;
    const void **shard_data;  /* [shard * inputs + input] */
    const ls__row_ways *ways; /* the trainer's; NULL: it is given all rows */
    struct ls__own *own;      /* theirs */
    ls__shard_rows *cut;      /* [shard] what rows of ranks' own come to */
    int64_t most;             /* rows of a shard, of those */
};

/* Functions of a batch on ranks with local rows (ranks/local_rows.h).  In the
 * place of an input, the number of inputs stands for the weights. */
struct ls__row_ways {
    int (*open)(ls_batch *b);   /* LS_ENOMEM */
    void (*close)(ls_batch *b); /* also after a failure, or none */
    /* Take this rank's rows of an input, or a status it failed with, which
     * fails on all then; *all is set to the number of all ranks' rows.  Where
     * ranks have other numbers of rows than of the inputs set before, those are
     * no longer set. */
    int (*set)(ls_batch *b, int64_t input, const char *what, const void *data,
               int64_t rows, int64_t bytes, int64_t *all);
};

/* The trainer's life begins (LS_ENOMEM), and ends: its batches may be open. */
int ls__life_begin(ls_trainer *t);
void ls__life_end(ls_trainer *t);

/* Values change, by whatever hand: what was packed of them is old. */
static inline void ls__trainer_changed(ls_trainer *t)
{
    t->history.changed = true;
    ls__exec_stale(t->model.plan, &t->model.weights);
}

/* Is the gradient of a parameter, by its declared number, never computed? */
static inline bool ls__trainer_leaves_out(const ls_trainer *t, int declared)
{
    return t->model.plan && t->model.plan->left_out[declared];
}

/* A batch is cut into shards (batch.c); shard micro * devices + device belongs
 * to that device of the experiment in that micro-batch. */
static inline int64_t ls__trainer_shards(const ls_trainer *t)
{
    return (int64_t)t->micro * t->devices.of;
}

#endif

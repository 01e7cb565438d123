/* SPDX-License-Identifier: BSD-3-Clause */
/* What lives between steps: the model, each device's gradient, moments, options
 * and who owns what.  What one step needs for itself is in step.h. */
#ifndef LS_TRAIN_TRAINER_H
#define LS_TRAIN_TRAINER_H

#include "train/rider.h"
#include <lockstep/gradients.h>

/* Two of an optimizer, and one that a rider asks for. */
enum { LS__MOMENTS = 4 };

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
    int micro; /* batches of a step */
    int64_t step;
    ls__arena arena;

    ls__model model;
    ls_gradient_fn *fn;    /* the user's; NULL: the model's plan */
    void *user;
    ls__context **context; /* [device here] its worker's; NULL without a plan */

    int moments;
    const char *moment_name[LS__MOMENTS];
    float *moment[LS__MOMENTS]; /* [owned float] each piece by its owner */
    bool averaged;    /* the average stands in the parameters' place */
    ls__gradients grad;
    ls__trained trained;
    int64_t use;      /* how often they were taken for a computation */
    ls_gradients *between; /* has a function for between reduction and update;
                              NULL: none does */

    double lr;        /* the peak that schedules go by */
    ls__riding rider[LS__RIDERS];
    const char *data_axis;     /* of the mesh */
    struct ls__place *place[2]; /* [slot] of parameters, of moments */
    ls__notes notes;  /* lent to each step */
    double seconds;   /* of the last training step */
    struct ls__by_inputs *by_inputs; /* input_gradient.h; NULL: not yet */
};

struct ls_batch {
    const ls_trainer *trainer; /* unless its life is over */
    struct ls__life *life;
    int64_t *rows;            /* [input], 0: not set */
    const float *weights;
    int64_t weight_rows;
    const void **shard_data;  /* [shard * inputs + input] */
};

/* The trainer's life begins (LS_ENOMEM), and ends: its batches may be open. */
int ls__life_begin(ls_trainer *t);
void ls__life_end(ls_trainer *t);

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

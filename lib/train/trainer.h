/* What lives between steps: the model, each device's gradient, moments, options
 * and who owns what.  What one step needs for itself is in step.h. */
#ifndef LS_TRAIN_TRAINER_H
#define LS_TRAIN_TRAINER_H

#include "reduce/owned.h"
#include "train/step.h"

/* Two of an optimizer, and the average of the weights. */
enum { LS__MOMENTS = 3 };

/* Room for gradients, and where each parameter's begins in it. */
typedef struct ls__gradients {
    float **device; /* [device here] by the device's worker; when reduced,
                       device[0] by ranges, but for blocks whose sum waits
                       (marked.h) */
    float **param;  /* [device here * params.count + declared] */
    float **later;  /* [worker] of the second micro-batch and later ones; NULL
                       when there is but one */
    float **later_param; /* [worker * params.count + declared] */
} ls__gradients;

/* What has gradients (trained.h). */
typedef struct ls__trained {
    int count;
    ls__range *run;
} ls__trained;

struct ls_trainer {
    ls_pool *pool;
    struct ls__life *life; /* its batches know by it whether it is closed */
    ls_trainer_options options;
    ls__span devices; /* those that run in this process, of the experiment's,
                         which are those along the data axis */
    ls__owned owned;  /* the floats that this process reduces and updates, of
                         the layout */
    struct ls__seam *seam; /* to other processes; NULL: this one runs all
                              devices and owns all floats */
    struct ls__leaving *leaving; /* of gradients that pass the seam */
    struct ls__giving *giving; /* of parameters that do */
    struct ls__ranks *ranks; /* whose seam it is; NULL: another one's */
    int workers;
    int micro; /* batches of a step */
    int64_t step;
    ls__arena arena;

    ls__model model;
    ls_gradient_fn *fn;    /* the user's; NULL: the model's plan */
    void *user;
    ls__context **context; /* [device here] its worker's; NULL without a plan */

    float *moment[LS__MOMENTS]; /* [owned float] each piece by its owner; the
                                   average of the weights comes last */
    bool averaged;    /* the average stands in the parameters' place */
    ls__gradients grad;
    ls__trained trained;
    int64_t use;      /* how often they were taken for a computation */
    ls_gradients *between; /* has a function for between reduction and update;
                              NULL: none does */

    double lr;        /* the peak that schedules go by */
    struct ls__lazy *lazy; /* [slot] lazy.h; NULL: no row stands still */
    struct ls__marked *marked; /* marked.h; NULL: all gradients are whole */
    struct ls__way *way; /* [slot] groups.h; NULL: all are trained alike */
    const char *data_axis;     /* of the mesh */
    struct ls__place *place[2]; /* [slot] of parameters, of moments */
    ls__notes notes;  /* lent to each step */
    const void **row; /* [input] of a row that is looked at alone */
    double seconds;   /* of the last training step */
    struct ls__watch *watch; /* LS_CHECK_DIVERGENCE; NULL: not asked for */
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

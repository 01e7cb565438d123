/* The trainer's inside: parameters, moments, each device's gradient, and what
 * one step leaves for its phases.  step.c says who writes what when. */
#ifndef LS_TRAIN_TRAINER_H
#define LS_TRAIN_TRAINER_H

#include "plan/exec.h"
#include "train/optim.h"
#include "train/params.h"

/* An input as batches are checked against it. */
typedef struct ls__input {
    const char *name;
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t size;  /* elements a row */
    int64_t limit; /* LS_I32: values lie in [0, limit) */
} ls__input;

/* What a device reports; a cache line each, since devices write at once. */
typedef struct ls__report {
    _Alignas(64) ls_sums sums;
    int status; /* of its gradient function */
    bool diverged; /* its gradient is not the one it gave alone */
} ls__report;

/* What a worker did in the last step; a cache line each. */
enum { LS__GRADIENTS, LS__REDUCE, LS__UPDATE, LS__PHASES };

typedef struct ls__lap {
    _Alignas(64) double entered; /* when, the phase it is in or was; 0: none */
    double busy[LS__PHASES];     /* seconds */
} ls__lap;

/* One step on its way through the phases. */
typedef struct ls__phase {
    const ls_batch *batch;
    bool train;
    int64_t rows;                  /* of a device */
    int goal;                      /* of the plan: ls_predict; 0: the loss */
    int64_t size;                  /* of the goal's rows */
    float *out;                    /* PREDICT: each row by its device */
    ls__rule rule;
    double began, graded, reduced; /* seconds, worker 0's clock */
    double ended;
} ls__phase;

struct ls_trainer {
    ls_pool *pool;
    ls_trainer_options options;
    int devices, workers; /* devices: those along the data axis */
    int micro; /* batches of a step */
    ls__arena arena;

    ls_gradient_fn *fn; /* the exec's, or the user's */
    void *user;
    ls__exec *exec; /* NULL for a user's function */
    int inputs;
    ls__input *input;
    const void **row; /* [input] of a row that is looked at alone */
    int metrics; /* of ls_sums.metric that may be in use */

    ls__params params;
    float *value;     /* UPDATE: by its owner; read only otherwise */
    float *moment[2]; /* UPDATE: by its owner */
    float **grad;     /* [device]; GRADIENTS: by the device's worker;
                         REDUCE: grad[0] by ranges */
    float **later;    /* [worker] a gradient of the second micro-batch and
                         later ones; NULL when there is but one */
    const float **value_of;  /* [declared] */
    float **grad_of;         /* [device * params.count + declared] */
    float **later_of;        /* [worker * params.count + declared] */
    ls__report *report;      /* [device] */
    int *axis[2]; /* [slot] of parameters, of moments: see train/placement.h */
    int64_t *bad;            /* [worker] first element not finite, or -1 */
    float *square;           /* [block of the gradient] sum of squares, REDUCE:
                                by the block's worker; NULL: no clipping */
    int64_t step;
    ls__phase phase;
    ls__lap *lap;            /* [worker]; NULL: not asked for (cost.c) */
    struct ls__watch *watch; /* LS_CHECK_DIVERGENCE; NULL: not asked for */
};

struct ls_batch {
    const ls_trainer *trainer;
    int64_t *rows;            /* [input], 0: not set */
    const float *weights;
    int64_t weight_rows;
    const void **shard_data;  /* [shard * inputs + input] */
};

/* The input of that name, or NULL. */
const ls__input *ls__trainer_input(const ls_trainer *t, const char *name);

/* A batch is cut into equal shards; shard micro * devices + device belongs to
 * that device in that micro-batch. */
static inline int64_t ls__trainer_shards(const ls_trainer *t)
{
    return (int64_t)t->micro * t->devices;
}

/* Rows of a shard, or a status where an input that matters is not set or has
 * other rows; reads[input]: which do, NULL: all. */
int64_t ls__batch_rows_read(const ls_batch *batch, const bool *reads);

/* The shard of a device in a micro-batch of the phase.  Each micro-batch is a
 * call of the model, whose number follows from the step, so that a run that is
 * resumed draws what it would have drawn. */
ls_shard ls__step_shard(const ls_trainer *t, int device, int micro);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients, operators and losses that are functions of your own. */
#ifndef LOCKSTEP_OWN_H
#define LOCKSTEP_OWN_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ Own gradients ------ */

/* A device's shard of a batch: rows first .. first+rows of each input, and
 * their weights (NULL: all 1). */
typedef struct ls_shard {
    int64_t first;           /* row in the batch */
    int64_t rows;            /* 1 or more: a device without rows is not asked */
    const void *const *data; /* per input, at this shard's first row */
    const float *weights;
    bool train;              /* false: ls_evaluate */
    /* Random numbers that depend on these two and no more do not depend on how
     * many devices and workers there are. */
    int64_t call;            /* step x micro-batches + micro-batch */
    int64_t row;             /* of the micro-batch: the shard's first */
    float drop;              /* rates of dropout are times this, in training */
} ls_shard;

/* A mean over devices and micro-batches in the making. */
typedef struct ls_ratio {
    double sum, weight; /* sum of weight x value, and of weight */
} ls_ratio;

/* A device's sums, returned with its gradient.  At the start of a call loss and
 * weight are 0, correct is NaN and metrics are 0. */
typedef struct ls_sums {
    double loss;    /* sum over rows of weight x loss */
    double weight;  /* sum of weights (of terms, when a row has several) */
    double correct; /* weight of the terms whose argmax was right; NaN: none */
    ls_ratio metric[LS_METRICS]; /* anything else: ls_result.metric */
} ls_sums;

/* The gradient of sum_i w_i loss_i over the shard's rows: written (not added)
 * to grads[p], for each parameter p, in the order they were declared; grads
 * NULL asks for the sums alone.  Called once a step for each micro-batch of
 * each device, in order, on the worker that runs the device, at the same time
 * as other devices (and again, row by row, to name the row when something was
 * not finite).  A negative return
 * stops the step. */
typedef int ls_gradient_fn(void *user, int device, const ls_shard *shard,
                           const float *const *params, float *const *grads,
                           ls_sums *sums);

/* Mistakes of such a function are found with check_divergence, or with
 * LS_CHECK_DIVERGENCE=1 in the environment when the trainer is opened.  Before
 * each ls_step it is called twice for every device alone, on the caller, with
 * parameters and all gradients watched, and what it then gives among the other
 * devices is compared.  The step fails, changing nothing, with LS_EUSER and a
 * message that names the device and the array, when the function writes to a
 * parameter, to another device's gradient, or before or beyond its own (64
 * numbers are watched); leaves a part of its gradient unwritten (or adds to
 * it); gives other bytes when called again (random numbers, sums that go on
 * from the call before); or other bytes when devices run at the same time
 * (shared scratch memory). */

/* A model that is given by its gradient.  It is copied; what user points to is
 * borrowed until the trainer is closed. */
typedef struct ls_gradient {
    ls_gradient_fn *fn;
    void *user;
    int n_inputs, n_params;
    const ls_array_spec *inputs, *params; /* parameters start as zeros */
} ls_gradient;

/* The same trainer around a gradient function of your own. */
LS_API int ls_trainer_open_gradient(ls_trainer **trainer, ls_pool *pool,
                                    const ls_gradient *gradient,
                                    const ls_trainer_options *options);

/* ------ Own operators and losses ------ */

enum { LS_OWN_INPUTS = 3 }; /* the most an own operator has */

/* Arguments of an own operator's functions: some rows of a device's shard.
 * Each array holds those rows, one after the other; arrays do not overlap. */
typedef struct ls_own_run {
    int64_t rows;
    const int64_t *x_size; /* [input] elements of a row */
    int64_t y_size;        /* elements of a row of y; 0 for a loss */
    const void *const *x;  /* [input] float or int32_t, as its node says */
    float *y;              /* forward writes it, backward reads it */
    float *stash;          /* kept by forward for backward */
    const float *dy;       /* backward: the gradient of y */
    float *const *dx;      /* [input] backward, loss: to be written, all of it,
                              not added to; NULL where it is not wanted */
    const float *weights;  /* loss: of the rows; NULL: all 1 */
    ls_sums *sums;         /* loss: of these rows; finds 0, 0, NaN */
} ls_own_run;

/* Called for the rows of each device in turn, on the worker that runs the
 * device, at the same time as for other devices.  A negative return stops the
 * step or the prediction: LS_EUSER names operator, device and status. */
typedef int ls_own_fn(void *user, const ls_own_run *run);

/* The row shape of y, given those of the inputs: y is as x[0] but LS_F32 when
 * it is called.  A negative return is the graph's error. */
typedef int ls_own_shape_fn(void *user, const ls_array_spec *x,
                            ls_array_spec *y);

/* An operator of your own.  A loss has only name, inputs, user and forward. */
typedef struct ls_own_op {
    const char *name;       /* for messages */
    int inputs;             /* 1 to LS_OWN_INPUTS */
    void *user;             /* borrowed until the graph's trainers are closed */
    ls_own_shape_fn *shape; /* NULL: that of input 0 */
    int64_t stash;          /* floats a row */
    ls_own_fn *forward;     /* y = f(x), and the stash */
    ls_own_fn *backward;    /* dx[k][j] = sum_i dy[i] df[i]/dx[k][j] */
} ls_own_op;

/* A node of an operator of your own: op is copied, in[k] is its input k.  Rows
 * must not depend on each other, nor a value on anything but x.  Operators run
 * with denormals flushed and rounding to nearest; their bits are as portable as
 * the functions they call (those of libm are not).  Its gradient is best
 * checked by central differences, as examples/05_own_operator.c does.
 * LS_EINVAL, LS_ESHAPE stick to the graph. */
LS_API ls_node *ls_own(const ls_own_op *op, ls_node *const *in);

/* A loss of your own: op has neither shape, stash nor backward.  Its forward
 * sets sums to the sum over the rows of weight x loss, and of weight x terms,
 * and dx[k] to the gradient of the former, where dx[k] is not NULL.  Inputs of
 * LS_I32 are not checked for their range. */
LS_API ls_node *ls_own_loss(const ls_own_op *op, ls_node *const *in);

#ifdef __cplusplus
}
#endif

#endif

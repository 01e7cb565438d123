/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients in hand: to be read, changed, made elsewhere or added up (gradient
 * accumulation) before the optimizer applies them.  ls_step is
 * ls_gradients_compute and ls_gradients_apply, to the bit. */
#ifndef LOCKSTEP_GRADIENTS_H
#define LOCKSTEP_GRADIENTS_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The gradients of a trainer's parameters, of all devices and their mean.  It
 * belongs to the trainer, which is closed after it. */
typedef struct ls_gradients ls_gradients;

/* Make room for the mean.  `batches` is the most batches that are added up
 * before an update: 1 or more, with at most 65536 micro-batches in all; from 2
 * on each worker has room for its sum.  Layers of dropout draw in batch i of an
 * update what they draw in micro-batch i of a trainer that accumulates. */
LS_API int ls_gradients_open(ls_gradients **gradients, ls_trainer *trainer,
                             int batches);
/* Free the room; the trainer's ls_step no longer calls a function of yours. */
LS_API void ls_gradients_close(ls_gradients *gradients);

/* ------ Computing ------ */

/* Compute every device's gradient of a batch and reduce them to their mean, as
 * ls_step does, without an update.  The result is that of ls_step, with
 * `updated` false; grad_norm is set if the trainer clips.  Fails as ls_step
 * does; there is no gradient then. */
LS_API int ls_gradients_compute_bytes(ls_gradients *gradients,
                                      const ls_batch *batch, ls_result *result,
                                      size_t size);
static inline int ls_gradients_compute(ls_gradients *gradients,
                                       const ls_batch *batch,
                                       ls_result *result)
{
    return ls_gradients_compute_bytes(gradients, batch, result,
                                      sizeof *result);
}

/* Add the gradients of one more batch to each device's own.  The first batch
 * after ls_gradients_open, ls_gradients_mean or an update begins anew.
 * LS_EINVAL: as many batches are added up as there is room for.  When it fails,
 * what was added up is lost. */
LS_API int ls_gradients_add(ls_gradients *gradients, const ls_batch *batch);

/* Reduce what was added up to its mean: the sum over all rows of all batches,
 * divided by the sum of all weights (ls_mean says how).  The result is that of
 * all batches together. */
LS_API int ls_gradients_mean_bytes(ls_gradients *gradients, ls_result *result,
                                   size_t size);
static inline int ls_gradients_mean(ls_gradients *gradients, ls_result *result)
{
    return ls_gradients_mean_bytes(gradients, result, sizeof *result);
}

/* ------ Reading and changing ------ */

/* The mean gradient of a parameter: n elements in the parameter's shape, not
 * yet clipped.  It lasts until the next computation and outlives an update;
 * before anything was computed or set it is 0. */
LS_API int ls_gradients_get(const ls_gradients *gradients, const char *name,
                            int64_t n, float *out);

/* One device's own gradient of a parameter: the sum over its rows of weight
 * times gradient; the mean adds these up over devices and divides.  With
 * LS_MEAN_OF_SHARDS, after a reduction, it is the device's own mean.  LS_EINVAL
 * once an update or another step of the trainer has taken the memory. */
LS_API int ls_gradients_get_device(const ls_gradients *gradients, int device,
                                   const char *name, int64_t n, float *out);

/* Make a parameter's mean gradient another: one that was changed, or comes from
 * elsewhere.  That of a frozen parameter stays 0. */
LS_API int ls_gradients_set(ls_gradients *gradients, const char *name,
                            int64_t n, const float *values);

/* Make all gradients 0 and forget what was added up. */
LS_API void ls_gradients_clear(ls_gradients *gradients);

/* ------ By an input ------ */

/* Stores in out the gradient of the batch's loss by one of its float inputs:
 * n elements, the rows of the batch in order, each in the input's shape.
 * The loss is that of the next ls_step (ls_mean says how rows count; rows of
 * weight 0 have gradients of 0), with layers of dropout as in that step
 * where train, and as in ls_evaluate where not.  Nothing is updated.  The
 * bytes depend on neither workers nor ranks; over ranks all of them call it
 * and get all rows.  The first call allocates, and what ls_gradients_add has
 * added up is lost.  The graph may be one without parameters, which no step
 * trains.  jax.grad by an argument.  LS_ENOTFOUND: no such input;
 * LS_EINVAL: its numbers are integers; LS_ESHAPE: n is another number;
 * LS_ENOTSUP: the trainer is around a gradient function of your own;
 * LS_ENONFINITE, LS_EUSER as ls_step. */
LS_API int ls_input_gradient(ls_trainer *trainer, const ls_batch *batch,
                             bool train, const char *input, int64_t n,
                             float *out);

/* ------ Updating ------ */

/* Update the trainer's parameters by the mean gradient: clip it if the trainer
 * does, then do what the optimizer does, and count one step.  The result is
 * that of the last computation, with `updated`, lr and grad_norm of this
 * update.  The mean stays as it is; an update needs another computation or
 * something that was set.  LS_ENONFINITE names the parameter, and nothing has
 * changed.  After a batch whose weights are all 0 it updates nothing. */
LS_API int ls_gradients_apply_bytes(ls_gradients *gradients, ls_result *result,
                                    size_t size);
static inline int ls_gradients_apply(ls_gradients *gradients, ls_result *result)
{
    return ls_gradients_apply_bytes(gradients, result, sizeof *result);
}

/* A function that each ls_step of the trainer calls on the calling thread
 * between reduction and update.  It may read and change the mean and the
 * devices' gradients through `gradients`, but not compute or apply any.  A
 * negative return ends the step with LS_EUSER before anything has changed. */
typedef int ls_gradients_fn(void *user, ls_gradients *gradients,
                            const ls_result *result);

/* Have ls_step call fn from now on, until this is called with NULL or the
 * gradients are closed. */
LS_API int ls_gradients_between(ls_gradients *gradients, ls_gradients_fn *fn,
                                void *user);

#ifdef __cplusplus
}
#endif

#endif

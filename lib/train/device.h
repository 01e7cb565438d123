/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of one device: by the model's plan, or by a function of the
 * user's. */
#ifndef LS_TRAIN_DEVICE_H
#define LS_TRAIN_DEVICE_H

#include "train/trainer.h"

/* The memory of each worker's runs of the plan; nothing for a model that a
 * function of the user's computes. */
int ls__devices_open(ls_trainer *t);
void ls__devices_close(ls_trainer *t);

/* A plan of the trainer's graph beside its own, for another purpose: it draws
 * the same, and has the trainer's values packed for it, and contexts. */
typedef struct ls__beside {
    ls__plan *plan;
    ls__weights weights;
    ls__context **context; /* [device here] */
    int devices;
} ls__beside;

/* Open it; it is to be closed after a failure, too. */
int ls__beside_open(ls__beside *b, const ls_trainer *t, ls__purpose purpose,
                    const bool *frozen);
void ls__beside_close(ls__beside *b);

/* Pack a worker's share of its weights, and of the trainer's own: after a
 * failure the trainer's plan searches for the row at fault. */
void ls__beside_pack(const ls__beside *b, const ls_trainer *t, int worker);

/* Work stealing.  A device's worker gathers its team before it runs its
 * devices, and dismisses it afterwards; a worker without devices helps until
 * then.  A worker that is done helps one that is not, which counts as waiting;
 * `device` is its first, or of the worker that it helped.  All do nothing
 * without teams, and in a checked step: what is computed twice is one worker's.
 */
void ls__device_gather(const ls__step *s, int device);
void ls__device_dismiss(const ls__step *s, int device);
void ls__device_help(const ls__step *s, int worker, int device,
                     const char *phase);
void ls__device_steal(const ls__step *s, int worker, int device,
                      ls__lap_kind lap);

/* Make room in the contexts for the shards of a step that trains, where all
 * rows are at work at the same time.  LS_ENOMEM. */
int ls__devices_reserve(const ls__step *s);

/* The memory of t->grad.later that a device's worker uses. */
int ls__device_later(const ls_trainer *t, int worker, int device);

/* Make t->grad.later, unless it is there: gradients that are added to those
 * that a device has already.  The pool is taken. */
int ls__devices_make_later(ls_trainer *t);

/* The weights that the worker of a device reads. */
const ls__weights *ls__device_weights(const ls_trainer *t, int device);

/* The memory of the worker that runs a device; NULL without a plan. */
ls__context *ls__device_context(const ls_trainer *t, int device);

/* Add the sums of a device's shard and write its gradients, by parameters in
 * the order of declaration (grads NULL: the sums alone), in the memory of a
 * context, which may be another worker's.  A status below 0 is the function's,
 * or that of an operator of the user's, which ls__device_failed names then. */
int ls__device_run(const ls_trainer *t, ls__context *context, int device,
                   const ls_shard *shard, float *const *grads, ls_sums *sums);

/* The zeros of a shard without rows. */
int ls__device_nothing(const ls__model *m, float *const *grads, ls_sums *sums);

/* Row `row` of a shard alone; data[input] is room for where it is. */
ls_shard ls__device_row(const ls_trainer *t, const ls_shard *all, int64_t row,
                        const void **data);

/* Add the sums of a micro-batch, with its metrics. */
void ls__sums_add(ls_sums *total, const ls_sums *sums, int metrics);

/* A device begins, and its gradient function has not returned yet; its sums
 * stay. */
void ls__step_report(const ls__step *s, ls__report *report);

/* The report of a device, counted from this process's first. */
ls__report *ls__step_report_of(const ls__step *s, int device);

/* The number of the operator; -1: it was the gradient function, or none. */
int ls__device_failed(const ls__context *context);

#endif

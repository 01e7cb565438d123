/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases that passes consist of (step.h). */
#ifndef LS_TRAIN_PHASES_H
#define LS_TRAIN_PHASES_H

#include "reduce/reduce.h"
#include "train/hook.h"
#include "train/step.h"

/* Workers pack the weights that all will read, each a share. */
bool ls__phase_prepare(ls__step *s, int worker);

/* A device's gradient into its own buffer, micro-batch after micro-batch, or,
 * in a pass that does not train, its sums alone.  Parameters are read only. */
void ls__phase_gradients(ls__step *s, int worker, int device);

/* The same in the memory of a context, which may be another worker's; nobody is
 * told that the gradient is ready. */
void ls__gradients_in(ls__step *s, ls__context *context, int worker,
                      int device);

/* A device's micro-batch: its gradients by parameters in the order of
 * declaration, NULL in a pass that does not train; and its end, which adds them
 * to the device's. */
ls__micro_batch ls__micro_batch_of(const ls__step *s, int worker, int device,
                                  int micro);
float **ls__micro_batch_grads(const ls__step *s, const ls__micro_batch *mb);
void ls__micro_batch_ends(ls__step *s, ls__micro_batch *mb);

/* Runs a shard of a device in a pass that does not train, one shard after the
 * other; a status other than 0 ends the pass. */
typedef int ls__shard_fn(ls__step *s, int device, const ls_shard *shard);

/* Go through a device's shards and report how it ended. */
void ls__phase_shards(ls__step *s, int device, ls__shard_fn *fn);

/* The rows of an output that are a device's. */
void ls__phase_predict(ls__step *s, int worker, int device);

/* Replaces a range of each device's gradient by the device's own mean, for
 * means over shards. */
void ls__reduce_means(const ls__step *s, ls__range range);

/* Each worker sums all devices over its range of the parameters, in tree
 * order, into s->gradient, once multiplied, unless a device failed. */
bool ls__phase_reduce(ls__step *s, int worker);

/* The same with a gradient that is there already, s->in_hand. */
bool ls__phase_check(ls__step *s, int worker);

/* Its parts: a worker's range of what is owned, the questions asked of each
 * block, and the sum of trained floats in a range, which returns the first
 * element that is not finite, or -1. */
ls__range ls__reduce_mine(const ls__step *s, int worker);
void ls__reduce_ask(ls__step *s, ls__reduction *r);
int64_t ls__reduce_trained(const ls__step *s, const ls__reduction *r,
                           ls__range mine);

/* Each worker updates what its devices own (placement.h), worker 0 also what
 * nobody owns: all of it when state is replicated.  Nothing changes where the
 * gradient or its norm is not finite. */
bool ls__phase_update(ls__step *s, int worker);

/* The update of a block of one parameter, as far as it is trained and moves. */
void ls__update_patch(const ls__step *s, float norm, const ls__patch *patch);

#endif

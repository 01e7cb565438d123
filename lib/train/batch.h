/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a batch, as a step has them. */
#ifndef LS_TRAIN_BATCH_H
#define LS_TRAIN_BATCH_H

#include "train/trainer.h"

/* The rows of the step's batch and of a shard into s, or a status where an
 * input that matters is not set or has other rows; reads[input]: which do,
 * NULL: all. */
int ls__step_set_rows(ls__step *s, const bool *reads);

/* The shard of a device, counted from this process's first, in a micro-batch
 * (gradient accumulation).  Each micro-batch is a call of the model, numbered
 * from the trainer's step: so a resumed run draws what it would have drawn. */
ls_shard ls__step_shard(const ls__step *s, int device, int micro);

/* Note where the rows of a shard are, of an input or (their number) of the
 * weights. */
void ls__batch_place(ls_batch *b, int64_t input, int64_t shard,
                     const void *data);

#endif

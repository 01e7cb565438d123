/* SPDX-License-Identifier: BSD-3-Clause */
/* Local rows: each rank has rows of its own of a batch.  How many are whose,
 * and how they come to the devices that compute on them. */
#ifndef LS_RANKS_LOCAL_ROWS_H
#define LS_RANKS_LOCAL_ROWS_H

#include <lockstep/trainer.h>

/* A batch's functions with ls_trainer_options.rows (local rows). */
extern const struct ls__row_ways ls__local_rows;

/* Agree on how many batches each rank's source has.  LS_EINVAL names two
 * ranks. */
int ls__local_rows_batches(const ls_trainer *t, int64_t batches);

#endif

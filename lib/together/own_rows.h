/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of which each rank has rows of its own: how many are whose, and how
 * rows come to the devices that compute on them. */
#ifndef LS_TOGETHER_OWN_ROWS_H
#define LS_TOGETHER_OWN_ROWS_H

#include <lockstep/trainer.h>

/* What a batch asks for where ls_trainer_options.rows says so. */
extern const struct ls__row_ways ls__own_rows;

/* Agree on how many batches each rank's source has.  LS_EINVAL names two
 * ranks. */
int ls__own_rows_batches(const ls_trainer *t, int64_t batches);

#endif

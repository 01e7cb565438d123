/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a trainer, once its model is laid out. */
#ifndef LS_TRAINER_TRAINER_MEMORY_H
#define LS_TRAINER_TRAINER_MEMORY_H

#include "train/trainer.h"

/* Make it, with that of the hooks of a list that want to ride.
 * frozen[declared] says what is not trained, NULL: all is. */
int ls__trainer_make(ls_trainer *t, const ls__hook *const *list,
                     const bool *frozen);

/* Accepts what was made in part. */
void ls__trainer_drop(ls_trainer *t);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed weights where workers sit on several NUMA nodes: the workers of a node
 * pack a copy for themselves, since they read it for each chunk of rows.  There
 * are none where a rider packs the model's itself.  Of one of several ranks the
 * first copy, the model's, may have been packed early. */
#ifndef LS_TRAIN_COPIES_H
#define LS_TRAIN_COPIES_H

#include "train/trainer.h"

/* Set t->copies where there are several nodes.  LS_ENOMEM. */
int ls__copies_open(ls_trainer *t, const ls__needs *needs);
void ls__copies_close(ls_trainer *t);

/* The weights that a worker runs its devices with; each member of its team
 * reads those of the member's own node. */
const ls__weights *ls__copies_of(const ls_trainer *t, int worker);

/* Write a worker's share of these, as ls__exec_pack does. */
void ls__copies_pack(const ls_trainer *t, int worker, bool backward);

#endif

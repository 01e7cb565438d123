/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaves (state/merkle.h) of what ranks own, and those of all of them. */
#ifndef LS_STATE_GATHER_H
#define LS_STATE_GATHER_H

#include "state/merkle.h"
#include "reduce/owned.h"
#include <lockstep/trainer.h>

/* The leaves of a stretch, which begins with a leaf, or is an empty one behind
 * the last; and the number in all that is owned. */
ls__range ls__leaves_of(const ls__stretch *s);
int64_t ls__owned_leaves(const ls__owned *o);

/* All ranks: gathers leaf[array][leaf] of the layout, each rank having those it
 * owns; row[] has as much room, border[ranks + 1]. */
int ls__leaves_gather(const ls_trainer *t, int arrays, ls__digest *leaf,
                      ls__digest *row, int64_t *border);

#endif

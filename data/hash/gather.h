/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaves (hash/merkle.h) of what ranks own, and those of all of them. */
#ifndef LS_HASH_GATHER_H
#define LS_HASH_GATHER_H

#include "hash/merkle.h"
#include "reduce/owned.h"
#include <lockstep/trainer.h>

/* Those of a stretch, which begins with a leaf, or is an empty one behind the
 * last; and how many there are in all that is owned. */
ls__range ls__leaves_of(const ls__stretch *s);
int64_t ls__owned_leaves(const ls__owned *o);

/* All ranks: leaf[array][leaf] of the layout, of which each has those that it
 * owns, from all; row[] has as much room, border[ranks + 1]. */
int ls__leaves_gather(const ls_trainer *t, int arrays, ls__digest *leaf,
                      ls__digest *row, int64_t *border);

#endif

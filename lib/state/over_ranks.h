/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a trainer on ranks: parameters are everywhere, moments each in
 * the range of its owner.  All ranks call each of these at once.
 *
 * Whatever is read, written or hashed as a whole goes through the first rank,
 * in the order of the layout, so that files and hashes are those of one
 * machine. */
#ifndef LS_STATE_OVER_RANKS_H
#define LS_STATE_OVER_RANKS_H

#include "ranks/spread.h"

/* Are there other ranks, and is this the first one?  A trainer without ranks is
 * its own first. */
bool ls__spread_is(const ls_trainer *t);
bool ls__spread_first(const ls_trainer *t);

/* A moment from its owners to the first rank's all[floats]; ignored on the
 * others. */
int ls__spread_collect(const ls_trainer *t, int moment, float *all);

/* A moment from the first rank's all[floats] to its owners. */
int ls__spread_deal(ls_trainer *t, int moment, const float *all);

/* Bytes of the first rank to all others. */
int ls__spread_tell(const ls_trainer *t, void *data, int64_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: which device owns which part of parameters and optimizer state.
 * In shared memory every byte exists once, so owning means updating: a piece is
 * updated by the worker that runs its device, what nobody owns by the caller.
 * The update is elementwise, so no placement changes a bit. */
#ifndef LS_TRAIN_PLACEMENT_H
#define LS_TRAIN_PLACEMENT_H

#include "train/trainer.h"

/* Runs of floats: `runs` of `length` each, `stride` apart, from `first` on. */
typedef struct ls__piece {
    int64_t first, length, stride, runs;
} ls__piece;

/* How an array is cut. */
typedef struct ls__split {
    int axis;          /* of the array; -1: it is not cut */
    int owners;        /* how many devices there are along .. */
    char along[32];    /* .. an axis of the mesh; "": the data axis */
} ls__split;

/* How slot i is cut among those who update it.  A parameter and its moments are
 * updated together: where their placements differ, by the owners of the
 * moments, if those have any. */
const ls__split *ls__placement_of(const ls_trainer *t, int i);

/* What a worker's devices own of an array cut like that: pieces first .. last-1
 * of so many. */
typedef struct ls__share {
    int pieces, first, last;
} ls__share;
ls__share ls__placement_share(const ls_trainer *t, const ls__split *place,
                              int worker);

/* What devices first .. last-1 own of a slot that is cut along axis among so
 * many: each ceil(n / devices) of the axis' n, the last ones less or none. */
ls__piece ls__placement_piece(const ls__slot *s, int axis, int devices,
                              int first, int last);

/* An array of those elements of the layout. */
typedef struct ls__held {
    float *array; /* [owned float] */
    ls__owned owned;
} ls__held;

/* Zero, in such an array, what devices first .. last-1 of the data axis own, as
 * if all were cut along that, and where rest, what nobody owns, padding
 * included; unless `all`, but for what has no gradient.  Called by every worker
 * for fresh memory, it places each page where it will be updated. */
void ls__placement_zero(const ls_trainer *t, int first, int last, bool rest,
                        bool all, const ls__held *array);

/* Room for every slot's axis, not cut, then the trainer's own option. */
int ls__placement_open(ls_trainer *t);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement (ZeRO): which device owns which part of parameters and optimizer
 * state.  In shared memory every byte exists once, so owning means updating: a
 * piece is updated by the worker that runs its device, what nobody owns by the
 * caller.  The update is elementwise, so no placement changes a bit. */
#ifndef LS_TRAIN_PLACEMENT_H
#define LS_TRAIN_PLACEMENT_H

#include "train/trainer.h"

/* Runs of floats: `runs` of `length` each, `stride` apart, from `first` on. */
typedef struct ls__piece {
    int64_t first, length, stride, runs;
} ls__piece;

/* The cut of an array (its sharding). */
typedef struct ls__split {
    int axis;          /* of the array; -1: it is not cut */
    int owners;        /* number of devices along .. */
    char along[32];    /* .. an axis of the mesh; "": the data axis */
} ls__split;

/* The cut of slot i among those who update it.  A parameter and its moments are
 * updated together: where their placements differ, by the owners of the
 * moments, if those have any. */
const ls__split *ls__placement_of(const ls_trainer *t, int i);

/* The piece of a slot that devices first .. last-1 own: along axis each has
 * ceil(n / devices) of n, the last ones less or none. */
ls__piece ls__placement_piece(const ls__slot *s, int axis, int devices,
                              int first, int last);

/* Zero, in an array of what is owned of the layout, the share of devices first
 * .. last-1 as if all were cut along the data axis, and with rest what nobody
 * owns, padding included; unless `all`, only floats that have gradients.  Every
 * worker calls it for fresh memory: first touch places each page where it will
 * be updated. */
void ls__placement_zero(const ls_trainer *t, int first, int last, bool rest,
                        bool all, const ls__owned *owned, float *array);

/* Room for every slot's axis, not cut, then the trainer's own option. */
int ls__placement_open(ls_trainer *t);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients over ranks: every rank sums its own devices as far as the tree lets
 * it (ls__reduce_partials), sends each owner those partial sums of what it
 * owns (reduce/owned.h), and the owner completes the tree (ls__reduce).
 *
 *     ls__exchange_leave     partial sums of a section go to their owners
 *     ls__exchange_give      what owners made of a section goes to all
 *
 * Parts are whole nodes of the tree, so neither the cut nor who owns what
 * shows in a bit.  With one part a rank, a rank sends 2 N (R-1)/R floats in
 * a step. */
#ifndef LS_RANKS_EXCHANGE_H
#define LS_RANKS_EXCHANGE_H

#include "base/ranges.h"
#include "ranks/cut.h"
#include "reduce/owned.h"
#include <lockstep/transport.h>

typedef struct ls__exchange {
    const ls_transport *link;
    ls__cut cut;
    int64_t n;       /* floats of a gradient */
    ls__owned own;   /* this rank's share of them */
    const ls__ranges *live; /* the floats that are sent: others are zeros, and
                               their values stand still.  NULL: all */
    float **partial; /* [cut.parts] this rank's are its devices' gradients, of
                        others there is what is owned here, in `staged` */
    float *staged;
    int64_t *border; /* [ranks+1] of the gather that is under way */
} ls__exchange;

/* Cut the devices over the ranks of a transport, which is borrowed.  LS_EINVAL:
 * more ranks than devices.  Closed after a failure too. */
int ls__exchange_open(ls__exchange *x, const ls_transport *link, int devices);
void ls__exchange_close(ls__exchange *x);

/* Make memory for gradients of n floats. live: the runs that are sent, by whole
 * blocks of the reduction; borrowed, the same on all ranks; NULL: all. */
int ls__exchange_size(ls__exchange *x, const ls__ranges *live, int64_t n);

/* The devices that run here. */
ls__span ls__exchange_devices(const ls__exchange *x);

/* The parts of cut.part whose sums are added here. */
ls__span ls__exchange_parts(const ls__exchange *x);

/* Send partial sums to their owners and receive those of what is owned here,
 * one section after the other, all ranks in one order: post what will be
 * received of a section, and post what is sent, once this rank's partial sums
 * of it are there.  grad[i] is the gradient of device i of this rank, and the
 * sum of a part lies in that of its first device.  ls__link_wait ends it.
 * LS_EIO. */
int ls__exchange_expect(ls__exchange *x, int section);
int ls__exchange_leave(ls__exchange *x, float *const *grad, int section);

/* Every rank has what it owns of a section of value[0..n): post it, and what
 * will be received of the others' parts, one section after the other, all ranks
 * in one order.  ls__link_wait ends it.  LS_EIO. */
int ls__exchange_give(const ls__exchange *x, float *value, int section);

/* The number of first sections that have arrived, of `given` posted last of
 * all. */
int ls__exchange_arrived(const ls__exchange *x, int given);

/* Afterwards every rank has all records of `size` bytes: of one for each block
 * of the reduction, which the block's owner has ... */
int ls__exchange_gather_blocks(const ls__exchange *x, void *record,
                               int64_t size);
/* ... and of one for each device, which the device's rank has; no more than
 * `all` bytes of them. */
int ls__exchange_gather_devices(const ls__exchange *x, void *record,
                                int64_t size, int64_t all);

#endif

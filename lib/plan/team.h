/* SPDX-License-Identifier: BSD-3-Clause */
/* A team: several workers on the shard of one device, where workers are more
 * than devices.  The leader is the device's worker; the others help it from the
 * beginning of a phase to its end with all that it runs meanwhile.
 *
 * They run whole chunks at the same time, each in memory of its own.  Chunks
 * depend on each other only where sums go on from one to the next: gradients of
 * parameters, the losses.  There they take turns (ls__turns in graph/op.h):
 * each waits until the chunk before it has added its part.  So every sum has
 * the order that one worker gives it, and a member is behind the one before it
 * by its longest turn, once.
 *
 * Where chunks are fewer than members, groups of members have a chunk each and
 * cut it by rows, operator by operator; gradients of parameters, whose sums go
 * over the rows, by turns. */
#ifndef LS_PLAN_TEAM_H
#define LS_PLAN_TEAM_H

#include "plan/work.h"

/* A team of so many workers of a pool.  LS_ENOMEM. */
int ls__team_open(ls__team **team, const ls_pool *pool, int members);
void ls__team_close(ls__team *team);

int ls__team_members(const ls__team *team);

/* The leader's: the others are there from now on, until they may go.  NULL:
 * there is no team. */
void ls__team_gather(ls__team *team);
void ls__team_dismiss(ls__team *team);
bool ls__team_is_here(const ls__team *team);

/* Help, as member 1 or above, until the leader lets them go. */
void ls__team_help(ls__team *team, int member);

/* What is done with a chunk; every member calls it that has rows of it. */
typedef void ls__chunk_fn(const ls__work *chunk, const void *how);

/* Run all chunks of a shard that was begun.  False: nothing was done, because
 * there is no team here, or it is too little, or chunks depend on each other in
 * more than sums: operators of the program's own, what is kept from chunk to
 * chunk. */
bool ls__team_run(const ls__work *begun, ls__chunk_fn *run, const void *how);

/* Groups, each with a chunk at a time, of members that have a part each. */
typedef struct ls__cut {
    int groups, parts;
} ls__cut;

/* Cut so from now on, for a test, as far as may be, whatever takes least; and
 * how many shards were cut so far. */
void ls__team_set_cut(ls__team *team, ls__cut cut);
int64_t ls__team_calls(const ls__team *team);

/* team_cut.c: what takes least for a shard; 1 and 1: one member alone. */
ls__cut ls__cut_of(const ls__work *begun, int members);

/* What is asked for, as far as it may be.  Tied parameters get their gradients
 * chunk by chunk, so that is one group. */
ls__cut ls__cut_as(const ls__work *begun, ls__cut asked);

/* What a shard takes so by counts, in operations of one worker's time, of the
 * busiest member. */
double ls__cut_time(const ls__work *begun, ls__cut cut);

/* The most turns that one operator should take. */
unsigned ls__cut_turns(const ls__cut *cut);

#endif

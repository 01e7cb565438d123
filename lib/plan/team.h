/* SPDX-License-Identifier: BSD-3-Clause */
/* A team: several workers on what one worker, its leader, runs.  Members are
 * there from the beginning of a phase to its end: where workers are more than
 * devices, those without one.  Helpers (work stealing) come when they are done
 * with their own devices, and stay until the leader is done with his.
 *
 * Members run whole chunks at the same time, each in memory of its own.  Chunks
 * depend on each other only where sums go on from one to the next: gradients of
 * parameters, the losses.  There they take turns (ls__turns in graph/op.h):
 * each waits until the chunk before it has added its part.  So every sum has
 * the order that one worker gives it, and a member is behind the one before it
 * by its longest turn, once.
 *
 * Where chunks are fewer than members, groups of members have a chunk each and
 * cut it by rows, operator by operator; gradients of parameters, whose sums go
 * over the rows, by turns.
 *
 * A leader that runs a chunk alone shares out one operator at a time in the
 * same way, among those who are there just then; with nobody there it runs
 * whole operators.  So workers end together though some have a device more than
 * others, or a slower core. */
#ifndef LS_PLAN_TEAM_H
#define LS_PLAN_TEAM_H

#include "plan/work.h"

enum { LS__HELPERS = 15 }; /* the most of a team at a time */

/* Open a team of `members` workers of a pool, with the leader.  LS_ENOMEM. */
int ls__team_open(ls__team **team, const ls_pool *pool, int members);
void ls__team_close(ls__team *team);

int ls__team_members(const ls__team *team);

/* The leader's: members are there from now on until it dismisses them.  Helpers
 * may come if a shard of `rows` rows of this plan is worth it (plan NULL: they
 * may not).  NULL: there is no team. */
void ls__team_gather(ls__team *team, const ls__plan *plan, int64_t rows);
void ls__team_dismiss(ls__team *team);

/* Are there other members now? */
bool ls__team_is_here(const ls__team *team);

/* Help, as member 1 or above, until the leader lets them go. */
void ls__team_help(ls__team *team, int member);

/* Steal work: be a helper of the team that has the fewest, those behind number
 * `at` first, until it is dismissed, and so on until no team wants any.  Nobody
 * else uses the helper's own memory, for operators of the plan, meanwhile. */
void ls__team_steal(ls__team *const *team, int teams, int at, float *scratch);

/* The work on a chunk, called by every member that has rows of it. */
typedef void ls__chunk_fn(const ls__work *chunk, const void *how);

/* Run all chunks of a shard that was begun.  False: nothing was done, because
 * there is no team here, or too little work, or chunks depend on each other in
 * more than sums: own operators, or memory kept from chunk to chunk. */
bool ls__team_run(const ls__work *begun, ls__chunk_fn *run, const void *how);

/* Run an instruction on a chunk that its leader runs alone.  False: nothing was
 * done, because nobody is there, or it is too little, or cannot be cut. */
bool ls__team_share(const ls__work *chunk, const ls__instr *in, bool back);

/* Groups, each with a chunk at a time, of members that have a part each. */
typedef struct ls__team_cut {
    int groups, parts;
} ls__team_cut;

/* The number of shards cut so far, and of operators by themselves.  For tests:
 * from now on cut shards so, as far as may be, whatever takes least; and cut
 * operators however small, after a yield, so that a helper comes. */
int64_t ls__team_calls(const ls__team *team);
int64_t ls__team_shared(const ls__team *team);
void ls__team_set_cut(ls__team *team, ls__team_cut cut);
void ls__team_set_always(ls__team *team, bool always);

/* team_cut.c: what takes least for a shard; 1 and 1: one member alone. */
ls__team_cut ls__cut_of(const ls__work *begun, int members);

/* The cut that is asked for, as far as it may be.  Tied parameters get their
 * gradients chunk by chunk, so that is one group. */
ls__team_cut ls__cut_as(const ls__work *begun, ls__team_cut asked);

/* The time of a shard cut so, in operations of its busiest member. */
double ls__cut_time(const ls__work *begun, ls__team_cut cut);

/* The most turns that one operator should take. */
unsigned ls__cut_turns(const ls__team_cut *cut);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor: runs a plan on the rows of a shard.  Three things are apart.
 * The plan says what runs and never changes; the weights are read only and
 * shared by whatever runs; a context is the memory of one run at a time.  So
 * each worker of a training has a context, and all of them one set of weights;
 * any other thread that has a context of its own may run the plan as well. */
#ifndef LS_PLAN_EXEC_H
#define LS_PLAN_EXEC_H

#include "plan/plan.h"

/* The weights that a plan is run with. */
typedef struct ls__weights {
    const float *const *of; /* [parameter] in the order of declaration */
    float *packed; /* by ls__exec_pack; ls__plan.packs.floats of them */
    float *const *near; /* [member of a team] what each reads instead, with
                           the same numbers; NULL: all read packed */
    bool *ready;   /* [ls__plan.packs] packed since its parameter changed; NULL:
                      nobody packs early */
} ls__weights;

/* Write worker `worker`'s share of w->packed, with what backward reads where
 * backward; all workers' shares must be written before anything runs. */
void ls__exec_pack(const ls__plan *plan, const ls__weights *w, int worker,
                   int workers, bool backward);

/* Write pack i alone, all of it. */
void ls__exec_pack_one(const ls__plan *plan, const ls__weights *w, int64_t i);

/* Early, where w->ready is kept: write the next columns of pack i, from *column
 * on, a few microseconds' work.  Returns true with the last of them: the pack
 * is ready, and ls__exec_pack leaves it out. */
bool ls__exec_pack_columns(const ls__plan *plan, const ls__weights *w,
                           int64_t i, int64_t *column);

/* A parameter has changed: nothing is ready. */
void ls__exec_stale(const ls__plan *plan, const ls__weights *w);

typedef struct ls__context ls__context;
typedef struct ls__team ls__team; /* team.h */

/* Memory for one chunk of rows, not touched before the first run: its pages lie
 * with the thread that runs.  The plan is borrowed. */
int ls__context_open(ls__context **context, const ls__plan *plan);
void ls__context_close(ls__context *context);

/* Let a team run the context's shards, where it is there: takes memory of a
 * chunk for each other member.  LS_ENOMEM. */
int ls__context_join(ls__context *c, ls__team *team);

/* Pair chunks: from now on the last two of a shard run forward one after the
 * other and then back together, operator by operator, so that gradients are
 * complete over twice the time before the end, unless a team runs them.  Takes
 * the memory of a second chunk, and shows in no bit.  Plans with tied
 * parameters or a user's operators stay as they are.  LS_ENOMEM. */
int ls__context_pair(ls__context *c);
bool ls__context_pairs(const ls__context *c);

/* Track sparse gradients from now on: operators that know zeros of a gradient
 * mark here the blocks of the array of all gradients that they touch, and clear
 * those alone.  NULL: they write all. */
void ls__context_touched(ls__context *c, const ls__touched *touched);

/* The gradients of the loss over the rows of a shard, in the order of
 * declaration, and its sums, which are added to; grads NULL: the sums alone.
 * Fails if a user's operator does, with its status. */
int ls__exec_gradient(ls__context *c, const ls__weights *w,
                      const ls_shard *shard, float *const *grads,
                      ls_sums *sums);

/* The same by a plan made for it, and the gradients of the sum of weighted
 * losses by a float input, which go to out (rows of the shard, shape of the
 * input).  grads is needed for parameters whose gradient is not left out. */
int ls__exec_input_gradient(ls__context *c, const ls__weights *w,
                            const ls_shard *shard, float *const *grads,
                            ls_sums *sums, int input, float *out);

/* Call a function from now on after the backward of each operator in the last
 * chunk of a shard: the gradients of its parameters are complete then, unless
 * an operator before it has them too.  NULL: no call. */
typedef void ls__after_fn(void *user, int instr);
void ls__context_after(ls__context *c, ls__after_fn *fn, void *user);

/* ------ surveys ------ */

/* Make room for a shard of `rows` rows; if the plan has surveys, all of them
 * are at work at the same time.  LS_ENOMEM. */
int ls__context_reserve(ls__context *c, int64_t rows);

/* Share the findings of surveys among devices: `found` has surveys.found of the
 * plan in doubles for each, this context being device `device`; `joined` has
 * those of all together, which surveys of all devices' rows read. */
void ls__context_share(ls__context *c, double *found, const double *joined,
                       int devices, int device);

/* Use the findings of another context, of a plan of the same graph. */
void ls__context_borrow(ls__context *c, const ls__context *of);

/* Findings of a survey: of the run's own rows, and of all that count. */
double *ls__context_found(const ls__context *c, const ls__instr *in, bool back);
const double *ls__context_all(const ls__context *c, const ls__instr *in,
                              bool back);

/* Clear the findings: of all surveys; of one. */
void ls__context_clear(const ls__context *c);
void ls__context_clear_found(const ls__context *c, const ls__instr *in,
                             bool back);

/* Run one part of ls__exec_gradient in a plan with surveys, after
 * ls__context_reserve; then the findings of its survey are there. */
int ls__exec_part(ls__context *c, const ls__weights *w, const ls_shard *shard,
                  float *const *grads, ls_sums *sums, int part);

/* An output for the rows of a shard whose weight is not 0, into out (rows of
 * the shard, shape of the output), or of the last row alone.  Fails as
 * above. */
int ls__exec_output(ls__context *c, const ls__weights *w,
                    const ls_shard *shard, const ls__goal *output, bool last,
                    float *out);

/* The user's operator that made the last run fail. */
const ls_node *ls__context_failed(const ls__context *context);

#endif

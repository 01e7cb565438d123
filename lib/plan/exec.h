/* The executor: a plan with memory for each worker of a pool, which makes a
 * graph into a gradient function (ls_gradient_fn). */
#ifndef LS_PLAN_EXEC_H
#define LS_PLAN_EXEC_H

#include "plan/plan.h"

typedef struct ls__exec ls__exec;

/* For devices 0 .. devices-1 of the data axis.  The plan is taken over: closed
 * with the executor, also on failure. */
int ls__exec_open(ls__exec **exec, ls__plan *plan, const ls_pool *pool,
                  int devices);
void ls__exec_close(ls__exec *exec);

/* What it runs. */
const ls__plan *ls__exec_plan(const ls__exec *exec);

/* Where a stream's keys come from: call c of the model uses fold_in(key, c),
 * and where hashed, that folded with hash. */
typedef struct ls__draw {
    ls_key key;
    uint32_t hash;
    bool hashed;
} ls__draw;

/* Set the keys of stream i of the plan; zero until then. */
void ls__exec_draw(ls__exec *exec, int stream, ls__draw draw);

/* An ls_gradient_fn whose user is an ls__exec.  grads NULL: the loss alone.
 * Fails if a user's operator does, with its status. */
int ls__exec_gradient(void *exec, int device, const ls_shard *shard,
                      const float *const *params, float *const *grads,
                      ls_sums *sums);

/* A goal of the plan, for the rows of a shard whose weight is not 0, into out
 * (rows of the shard, shape of the output).  Fails as above. */
int ls__exec_predict(void *exec, int device, const ls_shard *shard,
                      const float *const *params, int goal, float *out);

/* Which user's operator made the calls above fail on a device. */
const ls__failure *ls__exec_failure(const void *exec, int device);

/* The goal that is an output's, or the status of a name that is none. */
int ls__exec_find(const void *exec, const char *output, const ls__goal **goal,
                  int64_t *size);

/* Worker `worker`'s share of packing the weights, those for the backward sweep
 * where train; all workers' shares must be done before any gradient. */
void ls__exec_pack(void *exec, int worker, int workers, bool train,
                   const float *const *params);

#endif

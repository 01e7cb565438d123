/* SPDX-License-Identifier: BSD-3-Clause */
/* Aid: a worker that is done with its devices helps one that is not, operator
 * by operator, from the next one on until that one is done.  So workers end
 * together though some have a device more than others, or a slower core.
 *
 * Whoever is helped cuts the rows of its chunk anew for each operator, for
 * itself and the helpers that are there, as a team does for its members
 * (team.h); what they compute is what it would compute alone, bit for bit.  It
 * waits for nobody who is not there, and alone it runs whole operators. */
#ifndef LS_PLAN_AID_H
#define LS_PLAN_AID_H

#include "plan/work.h"
#include "pool/pool.h"

/* What a worker asks for. */
struct ls__aid {
    _Alignas(64) atomic_uint helpers; /* in the first places; above that, it is
                                         closed */
    unsigned most;      /* that are of use; written before it is opened */
    bool always;        /* ask however little there is to do: for a test */
    int64_t calls;      /* operators that were shared */
    const ls_pool *pool;
    const ls__work *work; /* what is called for; NULL: they may go */
    const ls__instr *in;
    bool back;
    int parts;
    ls__barrier fence;  /* of those who have a part */
    struct ls__helper *helper; /* their places */
};

/* One for each worker of a pool, closed.  NULL after a failure: LS_ENOMEM. */
int ls__aids_open(ls__aid **aid, const ls_pool *pool);
void ls__aids_close(ls__aid *aid);

/* Let helpers come from now on, if a shard of so many rows is worth it; let no
 * more come, and those who came go. */
void ls__aid_open(ls__aid *aid, const ls__plan *plan, int64_t rows);
void ls__aid_close(ls__aid *aid);

/* Help whoever has the fewest helpers, until it is done, and so on until there
 * is nobody to help.  `worker` works in its memory as `member` of the team of
 * this context, which nobody else uses meanwhile. */
void ls__aid_give(ls__aid *aids, int worker, const ls__context *memory,
                  int member);

/* Run an instruction on a chunk together with the helpers.  False: nothing was
 * done, since there are none or it cannot be cut. */
bool ls__aid_run(const ls__work *chunk, const ls__instr *in, bool back);

#endif

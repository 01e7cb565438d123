/* SPDX-License-Identifier: BSD-3-Clause */
/* See call.h. */
#include "pool/call.h"
#include "pool/pool.h"

typedef struct call {
    const char *name;
    ls__job *job;
    void *user;
} call;

void ls__pool_at(const char *what, int device)
{
    ls__track_phase(ls__track_here(), what, device);
}

static void run(void *user, int worker)
{
    const call *c = user;

    ls__pool_at(c->name, -1);
    c->job(c->user, worker);
}

int ls__pool_call(ls_pool *pool, const char *name, ls__job *job, void *user)
{
    call c = {name, job, user};
    int status = ls__pool_take(pool);

    if (status < 0)
        return status;
    ls__pool_run(pool, run, &c);
    ls__pool_give(pool);
    return 0;
}

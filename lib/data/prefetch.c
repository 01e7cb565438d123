/* The thread behind a loader: two gates, no locks.  It never spins, since it
 * waits for a whole step at a time, and neither does its owner, who finds the
 * work done as a rule. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "data/prefetch.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "mesh/signals.h"

#include <string.h>

static void settle(const ls_mesh *mesh)
{
    (void)pthread_setname_np(pthread_self(), "lockstep-data");
    ls__topology_roam(&mesh->topology, mesh->workers);
    (void)ls__fpmode_set();
}

/* The first opening of `done` says that the thread has settled. */
static void *serve(void *arg)
{
    ls__prefetch *p = arg;
    unsigned seen = ls__gate_now(&p->asked);

    settle(p->mesh);
    ls__gate_open(&p->done);
    for (;;) {
        ls__gate_wait(&p->asked, seen, 0);
        seen = ls__gate_now(&p->asked);
        if (p->ends)
            return NULL;
        p->work(p->user);
        ls__gate_open(&p->done);
    }
}

int ls__prefetch_open(ls__prefetch *p, const ls_mesh *mesh,
                      void (*work)(void *user), void *user)
{
    sigset_t old;
    int error;

    *p = (ls__prefetch){.mesh = mesh, .work = work, .user = user,
                        .busy = true};
    p->seen = ls__gate_now(&p->done);
    ls__signals_block(&old);
    error = pthread_create(&p->thread, NULL, serve, p);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error)
        return ls__fail(LS_ETHREAD, "the thread that makes batches: %s",
                        strerror(error));
    ls__prefetch_wait(p);
    return 0;
}

void ls__prefetch_close(ls__prefetch *p)
{
    ls__prefetch_wait(p);
    p->ends = true;
    ls__gate_open(&p->asked);
    pthread_join(p->thread, NULL);
}

void ls__prefetch_ask(ls__prefetch *p)
{
    p->seen = ls__gate_now(&p->done);
    p->busy = true;
    ls__gate_open(&p->asked);
}

void ls__prefetch_wait(ls__prefetch *p)
{
    if (p->busy)
        ls__gate_wait(&p->done, p->seen, 0);
    p->busy = false;
}

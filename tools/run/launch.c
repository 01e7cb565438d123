/* SPDX-License-Identifier: BSD-3-Clause */
/* What is the same with MPI and without it. */
#include "run/launch.h"
#include "opt/opt.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Where Open MPI, MPICH and Intel MPI, and srun say how many there are. */
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                    "SLURM_STEP_NUM_TASKS"};

int launch_ranks(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *text = getenv(sizes[i]);

        if (text && atoi(text) > 0)
            return atoi(text);
    }
    return 1;
}

bool launch_first(const launch *l)
{
    return !l->transport || l->transport->rank == 0;
}

int launch_join(launch *l)
{
    int ranks = launch_ranks();

    return ranks > 1 && !l->transport ? launch_connect(l, ranks) : OPT_GO;
}

int launch_open(launch *l)
{
    int status = launch_join(l);

    if (status == OPT_GO && !launch_first(l) &&
        !freopen("/dev/null", "w", stdout))
        return opt_fail(OPT_FAILED, "/dev/null cannot be opened");
    return status;
}

bool launch_gather(launch *l, const void *mine, void *of, size_t each)
{
    const ls_transport *t = l->transport;
    int64_t bytes = (int64_t)each;
    int status = 0;

    for (int r = 0; r < t->ranks; r++)
        if (r != t->rank &&
            (t->receive(t->user, r, bytes, (char *)of + bytes * r) < 0 ||
             t->send(t->user, r, bytes, mine) < 0))
            return false;
    while ((status = t->test(t->user, &l->peer)) == 0)
        sched_yield();
    return status > 0;
}

/* The first rank that is as said, or -1. */
static int find(int ranks, const int *of, int as)
{
    for (int r = 0; r < ranks; r++)
        if (of[r] == as)
            return r;
    return -1;
}

int launch_agree(launch *l, int status, bool apart)
{
    const ls_transport *t = l->transport;
    int ends = apart || status == OPT_DONE, r;
    bool met;
    int *of;

    if (!t || (status != OPT_GO && status != OPT_DONE))
        return status;
    if (!(of = calloc((size_t)t->ranks, sizeof *of)))
        return opt_fail(OPT_FAILED, "out of memory");
    of[t->rank] = ends;
    met = launch_gather(l, &ends, of, sizeof ends);
    r = find(t->ranks, of, 1);
    l->all_end = met && r >= 0 && find(t->ranks, of, 0) >= 0;
    free(of);
    if (!met)
        return opt_fail(OPT_FAILED, "rank %d of %d: exchanging with rank %d "
                        "failed: %s", t->rank, t->ranks, l->peer,
                        t->reason(t->user));
    return !l->all_end || ends
               ? status
               : opt_fail(OPT_FAILED, "rank %d of %d: rank %d has other "
                          "options and works alone, or only showed --help or "
                          "--version", t->rank, t->ranks, r);
}

int launch_most(launch *l, int number)
{
    const ls_transport *t = l->transport;
    int *of = t ? calloc((size_t)t->ranks, sizeof *of) : NULL;
    int most = number;

    if (!of)
        return most;
    (void)launch_gather(l, &number, of, sizeof *of);
    for (int r = 0; r < t->ranks; r++)
        most = of[r] > most ? of[r] : most;
    free(of);
    return most;
}

int launch_close(launch *l, int status)
{
    if (l->transport && status != OPT_GO && status != OPT_DONE &&
        !l->all_end) {
        fflush(stdout);
        l->transport->abort(l->transport->user, opt_said());
    }
    launch_disconnect(l);
    return status;
}

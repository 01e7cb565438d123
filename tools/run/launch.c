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

int launch_open(launch *l)
{
    int ranks = launch_ranks(), status = OPT_GO;

    if (ranks > 1)
        status = launch_connect(l, ranks);
    if (status == OPT_GO && !launch_first(l) &&
        !freopen("/dev/null", "w", stdout))
        return opt_fail(OPT_FAILED, "/dev/null cannot be opened");
    return status;
}

bool launch_gather(const launch *l, const void *mine, void *of, size_t each)
{
    const ls_transport *t = l->transport;
    int64_t bytes = (int64_t)each;
    int status = 0, rank;

    for (int r = 0; r < t->ranks; r++)
        if (r != t->rank &&
            (t->receive(t->user, r, bytes, (char *)of + bytes * r) < 0 ||
             t->send(t->user, r, bytes, mine) < 0))
            return false;
    while ((status = t->test(t->user, &rank)) == 0)
        sched_yield();
    return status > 0;
}

int launch_most(const launch *l, int number)
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
    if (l->transport && status != OPT_GO && status != OPT_DONE) {
        fflush(stdout);
        l->transport->abort(l->transport->user, opt_said());
    }
    launch_disconnect(l);
    return status;
}

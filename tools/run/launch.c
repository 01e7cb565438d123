/* SPDX-License-Identifier: BSD-3-Clause */
/* Launching that is the same with MPI and without it. */
#include "run/launch.h"
#include "opt/opt.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Variables of Open MPI, MVAPICH, MPICH and Intel MPI, srun, and torchrun that
 * tell the number of ranks.  WORLD_SIZE is a common name: it counts where RANK
 * is beside it. */
static const struct {
    const char *name, *beside;
} sizes[] = {{"OMPI_COMM_WORLD_SIZE", NULL},
             {"MV2_COMM_WORLD_SIZE", NULL},
             {"PMI_SIZE", NULL},
             {"SLURM_STEP_NUM_TASKS", NULL},
             {"WORLD_SIZE", "RANK"}};

static const char NUMBER[] = "PMIX_RANK"; /* all that PRRTE says */

static launcher find_launcher(void)
{
    const char *text;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if ((text = getenv(sizes[i].name)) && atoi(text) > 0 &&
            (!sizes[i].beside || getenv(sizes[i].beside)))
            return (launcher){sizes[i].name, atoi(text), true};
    if ((text = getenv(NUMBER)))
        return (launcher){NUMBER, atoi(text) + 1, false};
    return (launcher){"", 1, true};
}

bool launch_first(const launch *l)
{
    return !l->transport || l->transport->rank == 0;
}

int launch_join(launch *l)
{
    launcher by = find_launcher();
    bool alone = by.ranks == 1 && by.is_all;
    int status = alone || l->transport ? OPT_GO : launch_connect(l, &by);

    if (!l->transport || l->records)
        return status;
    l->records = calloc((size_t)l->transport->ranks, LAUNCH_RECORD);
    return l->records ? status : opt_fail(OPT_FAILED, "out of memory");
}

int launch_open(launch *l)
{
    int status = launch_join(l);

    if (status != OPT_GO || launch_first(l))
        return status;
    if (!freopen("/dev/null", "w", stdout))
        return opt_fail(OPT_FAILED, "/dev/null cannot be opened");
    opt_first_notes();
    opt_hold(); /* until launch_agree knows what the first rank says */
    return OPT_GO;
}

/* Exchange with all others; false: with *peer it failed. */
static bool exchange(const ls_transport *t, const void *mine, int64_t bytes,
                     char *of, int *peer)
{
    int status = 0;

    for (*peer = 0; *peer < t->ranks; ++*peer)
        if (*peer != t->rank &&
            (t->receive(t->user, *peer, bytes, of + bytes * *peer) < 0 ||
             t->send(t->user, *peer, bytes, mine) < 0))
            return false;
    while ((status = t->test(t->user, peer)) == 0)
        sched_yield();
    return status > 0;
}

const void *launch_gather(launch *l, const void *mine, size_t each)
{
    const ls_transport *t = l->transport;
    char *of = l->records;
    int peer;

    assert(each <= LAUNCH_RECORD);
    memcpy(of + each * (size_t)t->rank, mine, each);
    if (exchange(t, mine, (int64_t)each, of, &peer))
        return of;
    opt_show(true, "");
    opt_fail(OPT_FAILED, "rank %d of %d: exchanging with rank %d failed: %s",
             t->rank, t->ranks, peer, t->reason(t->user));
    return NULL;
}

/* The plan of a rank, and its message if it failed. */
enum { GOES, ENDS, FAILS };

typedef struct plan {
    int does, status;
    char text[400];
} plan;

/* The first rank that does this, or -1. */
static int find(int ranks, const plan *of, int does)
{
    for (int r = 0; r < ranks; r++)
        if (of[r].does == does)
            return r;
    return -1;
}

/* A failure that is the first rank's, too, is told by that one. */
static void show(const ls_transport *t, const plan *of)
{
    bool same = t->rank > 0 && of->does == FAILS &&
                !strcmp(of->text, of[t->rank].text);
    char who[64] = "";

    if (t->rank > 0)
        snprintf(who, sizeof who, "rank %d of %d: ", t->rank, t->ranks);
    opt_show(!same, who);
}

/* Decides about this rank, once all plans are known. */
static int settle(launch *l, int status, const plan *of)
{
    const ls_transport *t = l->transport;
    int ends = find(t->ranks, of, ENDS), goes = find(t->ranks, of, GOES);
    int fails = find(t->ranks, of, FAILS);

    l->all_end = fails >= 0 || (ends >= 0 && goes >= 0);
    show(t, of);
    if (!l->all_end || of[t->rank].does != GOES)
        return status;
    return fails >= 0 ? of[fails].status
                      : opt_fail(OPT_FAILED, "rank %d of %d: rank %d has other "
                                 "options and works alone, or only showed "
                                 "--help or --version", t->rank, t->ranks,
                                 ends);
}

int launch_agree(launch *l, int status, bool apart)
{
    const ls_transport *t = l->transport;
    plan mine = {.does = apart || status == OPT_DONE ? ENDS : GOES};
    const plan *of;

    if (!t || !l->records)
        return status;
    if (status != OPT_GO && status != OPT_DONE) {
        mine.does = FAILS;
        mine.status = status;
        snprintf(mine.text, sizeof mine.text, "%s", opt_said());
    }
    of = launch_gather(l, &mine, sizeof mine);
    return of ? settle(l, status, of) : OPT_FAILED;
}

int launch_compare(launch *l, int count, const ls_setting *setting)
{
    const ls_transport *t = l->transport;
    int status = t ? ls_transport_compare(t, count, setting) : 0;

    l->all_end = status == LS_EINVAL;
    return l->all_end && t->rank > 0 ? OPT_FAILED : opt_check(status);
}

int launch_most(launch *l, int *number)
{
    const ls_transport *t = l->transport;
    const int *of = t ? launch_gather(l, number, sizeof *number) : NULL;

    for (int r = 0; of && r < t->ranks; r++)
        *number = of[r] > *number ? of[r] : *number;
    return !t || of ? OPT_GO : OPT_FAILED;
}

int launch_close(launch *l, int status)
{
    if (l->transport && status != OPT_GO && status != OPT_DONE &&
        !l->all_end) {
        fflush(stdout);
        l->transport->abort(l->transport->user, opt_said());
    }
    free(l->records);
    launch_disconnect(l);
    return status;
}

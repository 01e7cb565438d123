/* SPDX-License-Identifier: BSD-3-Clause */
/* See scaling_ranks.h. */
#define _GNU_SOURCE
#include "scale/scaling_ranks.h"
#include "opt/cores.h"
#include "scale/scaling_fail.h"

#include <stdlib.h>
#include <time.h>

/* A rank's message at a meeting of all. */
typedef struct word {
    int status, number;
} word;

bool party_has(const rank_party *p, const ls_transport *all)
{
    return !all || all->rank < p->ranks;
}

const ls_transport *party_link(const rank_party *p)
{
    return p->ranks > 1 ? &p->link : NULL;
}

/* ------ Messages ------ */

/* Wait until all that was posted is done, without end: ranks that have nothing
 * to do wait for as long as others measure. */
static int finish(const ls_transport *t, int status)
{
    const struct timespec nap = {.tv_nsec = 200000};
    int rank = t->rank;
    const char *why;

    while (status == 0 && (status = t->test(t->user, &rank)) == 0)
        nanosleep(&nap, NULL);
    if (status > 0)
        return 0;
    why = t->reason ? t->reason(t->user) : NULL;
    return scaling_fail(LS_EIO, "scaling: rank %d of %d: exchanging with rank "
                        "%d failed: %s", t->rank, t->ranks, rank,
                        why ? why : ls_strerror(status));
}

/* The words of all ranks to all. */
static int gather(const ls_transport *t, word *of)
{
    int status = 0;

    for (int i = 1; i < t->ranks && status == 0; i++) {
        int r = (t->rank + i) % t->ranks;

        status = t->receive(t->user, r, sizeof *of, of + r);
    }
    for (int i = 1; i < t->ranks && status == 0; i++)
        status = t->send(t->user, (t->rank + i) % t->ranks, sizeof *of,
                         of + t->rank);
    return finish(t, status);
}

static int judge(const word *of, int ranks, int status, int *number)
{
    for (int r = 0; r < ranks; r++)
        *number = of[r].number < *number ? of[r].number : *number;
    for (int r = 0; r < ranks && status == 0; r++)
        if (of[r].status < 0)
            return scaling_fail(of[r].status, "scaling: rank %d failed: %s", r,
                            ls_strerror(of[r].status));
    return status;
}

int parties_meet(const ls_transport *all, int status, int *number)
{
    word *of;
    int met;

    if (!all)
        return status;
    if (!(of = scaling_new((size_t)all->ranks, sizeof *of, "ranks")))
        return LS_ENOMEM;
    of[all->rank] = (word){status, *number};
    met = gather(all, of);
    if (met == 0)
        status = judge(of, all->ranks, status, number);
    free(of);
    return status < 0 ? status : met;
}

int parties_tell(const ls_transport *all, void *data, size_t bytes)
{
    int status = 0;

    if (!all || bytes == 0)
        return 0;
    if (all->rank > 0)
        status = all->receive(all->user, 0, (int64_t)bytes, data);
    for (int r = 1; all->rank == 0 && r < all->ranks && status == 0; r++)
        status = all->send(all->user, r, (int64_t)bytes, data);
    return finish(all, status);
}

/* ------ Counts of ranks ------ */

/* The places above the new one move up. */
static int insert(int *out, int n, int count)
{
    int i = n;

    for (int k = 0; k < n; k++)
        if (out[k] == count)
            return n;
    for (; i > 0 && out[i - 1] > count; i--)
        out[i] = out[i - 1];
    out[i] = count;
    return n + 1;
}

int count_all(int *out, int asked, const int *count, int most)
{
    int n = insert(out, 0, 1);

    for (int i = 0; i < asked; i++)
        n = insert(out, n, count[i]);
    if (asked)
        return n;
    for (int c = 2; c < most; c *= 2)
        n = insert(out, n, c);
    return insert(out, n, most);
}

/* Deals the cores among the ranks of a machine.  Returns this rank's number. */
static int deal(rank_party *p, const ls_transport *all,
                const ls_mesh_options *mesh)
{
    ls_mesh_options o = *mesh;
    int dealt = 1;

    if (p->ranks > 1) {
        p->link = *all;
        p->link.ranks = p->ranks;
        dealt =
            ls_transport_cpus(&p->link, mesh->cpus, p->cpus, sizeof p->cpus);
    }
    o.cpus = *p->cpus ? p->cpus : o.cpus;
    return dealt <= 0 ? dealt : cores_of(o);
}

static int open_party(rank_party *p, const ls_transport *all,
                      const ls_mesh_options *mesh)
{
    int cores = INT32_MAX, status = 0;

    if (party_has(p, all))
        cores = deal(p, all, mesh);
    if (cores < 0)
        status = cores;
    status = parties_meet(all, status, &cores);
    p->cores = cores;
    return status;
}

int parties_make(rank_party **party, int *parties,
                     const scaling_options *o)
{
    const ls_transport *t = o->transport;
    int all = t ? t->ranks : 1, status;
    int *count;

    count = scaling_new((size_t)o->n_ranks + DOUBLINGS, sizeof *count,
                    "counts of ranks");
    if (!count)
        return LS_ENOMEM;
    *parties = count_all(count, o->n_ranks, o->ranks, all);
    *party = scaling_new((size_t)*parties, sizeof **party, "counts of ranks");
    status = *party ? 0 : LS_ENOMEM;
    for (int i = 0; i < *parties && status == 0; i++) {
        (*party)[i].ranks = count[i];
        status = open_party(&(*party)[i], t, o->mesh);
    }
    free(count);
    return status;
}

/* See scaling_ranks.h. */
#include "scale/scaling_ranks.h"
#include "base/error.h"
#include "base/memory.h"
#include "rank/link.h"
#include "scale/counts.h"

#include <stdlib.h>

/* What a rank says when all meet. */
typedef struct word {
    int status, number;
} word;

bool ls__party_has(const ls__party *p, const ls_transport *all)
{
    return !all || all->rank < p->ranks;
}

const ls_transport *ls__party_link(const ls__party *p)
{
    return p->ranks > 1 ? &p->link : NULL;
}

/* ------ Messages ------ */

/* Ranks that have nothing to do wait for as long as others measure. */
static ls_transport patient(const ls_transport *all)
{
    ls_transport t = *all;

    t.patience = 1e9;
    return t;
}

static int judge(const word *of, int ranks, int status, int *number)
{
    for (int r = 0; r < ranks; r++)
        *number = of[r].number < *number ? of[r].number : *number;
    for (int r = 0; r < ranks && status == 0; r++)
        if (of[r].status < 0)
            return ls__fail(of[r].status, "scaling: rank %d failed: %s", r,
                            ls_strerror(of[r].status));
    return status;
}

int ls__parties_meet(const ls_transport *all, int status, int *number)
{
    ls_transport t;
    word *of;
    int met;

    if (!all)
        return status;
    t = patient(all);
    if (!(of = ls__new((size_t)t.ranks, sizeof *of, "ranks")))
        return LS_ENOMEM;
    of[t.rank] = (word){status, *number};
    met = ls__link_gather_each(&t, of, sizeof *of);
    if (met == 0)
        status = judge(of, t.ranks, status, number);
    free(of);
    return status < 0 ? status : met;
}

int ls__parties_tell(const ls_transport *all, void *data, size_t bytes)
{
    ls_transport t;
    int status = 0;

    if (!all)
        return 0;
    t = patient(all);
    if (t.rank > 0)
        status = ls__link_receive(&t, 0, data, (int64_t)bytes);
    for (int r = 1; t.rank == 0 && r < t.ranks && status == 0; r++)
        status = ls__link_send(&t, r, data, (int64_t)bytes);
    return status < 0 ? status : ls__link_wait(&t);
}

/* ------ Counts of ranks ------ */

static int usable_cores(const ls_mesh_options *options, const char *cpus)
{
    ls_mesh_options o = *options;
    ls_mesh *mesh;
    int cores, status;

    o.workers = 1;
    o.cpus = *cpus ? cpus : o.cpus;
    if ((status = ls_mesh_open(&mesh, &o)) < 0)
        return status;
    cores = ls_mesh_usable_cores(mesh);
    ls_mesh_close(mesh);
    return cores;
}

/* Deals the cores among the ranks of a machine.  Returns this rank's number. */
static int deal(ls__party *p, const ls_transport *all,
                const ls_mesh_options *mesh)
{
    int dealt = 1;

    if (p->ranks > 1) {
        p->link = *all;
        p->link.ranks = p->ranks;
        dealt =
            ls_transport_cpus(&p->link, mesh->cpus, p->cpus, sizeof p->cpus);
    }
    return dealt <= 0 ? dealt : usable_cores(mesh, p->cpus);
}

static int open_party(ls__party *p, const ls_transport *all,
                      const ls_mesh_options *mesh)
{
    int cores = INT32_MAX, status = 0;

    if (ls__party_has(p, all))
        cores = deal(p, all, mesh);
    if (cores < 0)
        status = cores;
    status = ls__parties_meet(all, status, &cores);
    p->cores = cores;
    return status;
}

static int check(const ls_scaling_options *o, int all)
{
    if (o->ranks < 0 || o->ranks > 65536 || (o->ranks && !o->rank))
        return ls__fail(LS_EINVAL, "scaling: %d counts of ranks are given%s",
                        o->ranks, o->rank ? "; 0 to 65536 may be" :
                        ", and rank is NULL");
    for (int i = 0; i < o->ranks; i++)
        if (o->rank[i] < 1 || o->rank[i] > all)
            return ls__fail(LS_EINVAL, "scaling: %d ranks: there must be 1 to "
                            "%d", o->rank[i], all);
    return 0;
}

int ls__parties_make(ls__party **party, int *parties,
                     const ls_scaling_options *o)
{
    const ls_transport *t = o->transport;
    int all = t ? t->ranks : 1, status = check(o, all);
    int *count;

    if (status < 0)
        return status;
    count = ls__new((size_t)o->ranks + LS__DOUBLINGS, sizeof *count,
                    "counts of ranks");
    if (!count)
        return LS_ENOMEM;
    *parties = ls__counts(count, o->ranks, o->rank, all);
    *party = ls__new((size_t)*parties, sizeof **party, "counts of ranks");
    status = *party ? 0 : LS_ENOMEM;
    for (int i = 0; i < *parties && status == 0; i++) {
        (*party)[i].ranks = count[i];
        status = open_party(&(*party)[i], t, o->mesh);
    }
    free(count);
    return status;
}

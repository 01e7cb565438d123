/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step reads over the links between NUMA nodes, counted from the plan
 * alone. */
#include "base/error.h"
#include "base/sized.h"
#include "mesh/node_sums.h"

/* Groups of workers that sit on one node are one end of a link. */
static bool is_first_there(const ls__node_sums *s, int n)
{
    for (int i = 0; i < n; i++)
        if (s->node[i].at == s->node[n].at)
            return false;
    return true;
}

/* Sum over the groups of both ends. */
static double all(const ls__node_sums *s, const ls_link *l,
                  double (*read)(const ls__node_sums *s, int from, int to))
{
    double sum = 0;

    for (int from = 0; from < s->nodes; from++)
        for (int to = 0; to < s->nodes; to++)
            if (s->node[from].at == l->from && s->node[to].at == l->to)
                sum += read(s, from, to);
    return sum;
}

static int package_of(const ls_mesh *mesh, const ls__group *g)
{
    return ls__mesh_place(mesh, g->worker)->package;
}

static ls_link link_of(const ls_mesh *mesh, const ls__node_sums *s, int from,
                       int to)
{
    ls_link l = {.from = s->node[from].at, .to = s->node[to].at};

    l.packages = package_of(mesh, &s->node[from]) !=
                 package_of(mesh, &s->node[to]);
    l.flat = all(s, &l, ls__node_sums_flat);
    l.floats = s->pays ? all(s, &l, ls__node_sums_read) : l.flat;
    return l;
}

static bool find(const ls_mesh *mesh, const ls__node_sums *s, int i,
                 ls_link *link)
{
    for (int from = 0; from < s->nodes; from++)
        for (int to = 0; to < s->nodes; to++) {
            if (s->node[from].at == s->node[to].at ||
                !is_first_there(s, from) || !is_first_there(s, to) || i-- > 0)
                continue;
            *link = link_of(mesh, s, from, to);
            return true;
        }
    return false;
}

bool ls_mesh_link_bytes(const ls_mesh *mesh, int i, ls_link *link, size_t size)
{
    LS__NEED_OR(mesh, false);
    LS__NEED_OR(link, false);

    ls__node_sums s;
    ls_link l;
    bool there = i >= 0 && ls__node_sums_open(&s, mesh, mesh->devices) == 0 &&
                 s.nodes > 1 && find(mesh, &s, i, &l);

    if (i >= 0)
        ls__node_sums_close(&s);
    if (there)
        ls__sized_put(link, size, &l, sizeof l);
    return there;
}

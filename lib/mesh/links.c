/* SPDX-License-Identifier: BSD-3-Clause */
/* A step's traffic over the links between NUMA nodes, counted from the plan
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

/* The last-level caches of some workers; one where nobody tells. */
static int caches_of(const ls_mesh *mesh, const ls__group *g)
{
    int n = 1;

    for (int w = g->worker + 1; w < g->worker + g->workers; w++)
        n += ls__mesh_place(mesh, w)->l3 != ls__mesh_place(mesh, w - 1)->l3;
    return n;
}

/* The number of workers on node `to` that help a worker on `from` with its
 * device; each adds to the device's gradient (train/device.c). */
static int helpers(const ls_mesh *mesh, int from, int to)
{
    int n = 0, next = mesh->devices, helped = -1;

    for (int w = mesh->workers - 1; w >= 0; w--) {
        int first = ls__mesh_dealt(mesh, mesh->devices, w);
        int at = ls__mesh_place(mesh, w)->numa;

        if (first < next)
            helped = at;
        n += first == next && helped == from && at == to;
        next = first;
    }
    return n;
}

/* Count what the workers of one group read of what another one has. */
static void add(const ls_mesh *mesh, const ls__node_sums *s, int from, int to,
                ls_link *l)
{
    double packed = 2. * s->node[from].workers / mesh->workers;

    l->flat += ls__node_sums_flat(s, from, to);
    l->floats += s->pays ? ls__node_sums_read(s, from, to)
                         : ls__node_sums_flat(s, from, to);
    if (is_first_there(s, to)) {
        l->weights_flat += packed * caches_of(mesh, &s->node[to]);
        l->weights += packed;
    }
    if (from == 0) {
        l->rows_flat += (double)s->shards[to].count / mesh->devices;
        l->position_flat += (double)s->node[to].workers / mesh->workers;
    }
}

/* Count all groups of both ends. */
static ls_link link_of(const ls_mesh *mesh, const ls__node_sums *s, int a,
                       int b)
{
    ls_link l = {.from = s->node[a].at, .to = s->node[b].at};
    int adders = helpers(mesh, l.from, l.to);

    l.packages = ls__mesh_place(mesh, s->node[a].worker)->package !=
                 ls__mesh_place(mesh, s->node[b].worker)->package;
    l.flat = l.floats = adders;
    for (int from = 0; from < s->nodes; from++)
        for (int to = 0; to < s->nodes; to++)
            if (s->node[from].at == l.from && s->node[to].at == l.to)
                add(mesh, s, from, to, &l);
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

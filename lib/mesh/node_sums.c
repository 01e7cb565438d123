/* SPDX-License-Identifier: BSD-3-Clause */
/* See node_sums.h. */
#include "mesh/node_sums.h"
#include "base/assert.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void note_workers(ls__node_sums *s)
{
    for (int n = 0; n < s->nodes; n++)
        for (int w = 0; w < s->node[n].workers; w++)
            s->of[s->node[n].worker + w] = n;
}

/* Note the subtrees that each node's shards consist of; without memory for them
 * they are counted. */
static void find_parts(ls__node_sums *s)
{
    ls__subtree room[LS__TREE_PARTS];

    s->parts = 0;
    for (int n = 0; n < s->nodes; n++) {
        int count = ls__tree_parts(s->shards[n], room);

        if (s->part)
            memcpy(s->part + s->parts, room, (size_t)count * sizeof *room);
        LS__ASSERT(!s->part || s->parts_of[n] == count);
        s->parts_of[n] = count;
        s->parts += count;
    }
}

static double links(const ls__node_sums *s,
                    double (*read)(const ls__node_sums *s, int from, int to))
{
    double sum = 0;

    for (int from = 0; from < s->nodes; from++)
        for (int to = 0; to < s->nodes; to++)
            sum += s->node[from].at == s->node[to].at ? 0 : read(s, from, to);
    return sum;
}

static int make_lists(ls__node_sums *s, const ls_mesh *mesh, int shards)
{
    size_t n = (size_t)s->nodes;

    s->shards = ls__new(n, sizeof *s->shards, "nodes");
    s->parts_of = ls__new(n, sizeof *s->parts_of, "nodes");
    if (!s->shards || !s->parts_of)
        return LS_ENOMEM;
    for (int i = 0; i < s->nodes; i++) {
        int at = s->node[i].worker, first = ls__mesh_dealt(mesh, shards, at);
        int end = ls__mesh_dealt(mesh, shards, at + s->node[i].workers);

        LS__ASSERT(first <= end && end <= shards);
        s->shards[i] = (ls__span){first, end - first, shards};
    }
    find_parts(s);
    if (!(s->part = ls__new((size_t)s->parts, sizeof *s->part, "nodes")))
        return LS_ENOMEM;
    find_parts(s);
    return 0;
}

int ls__node_sums_open(ls__node_sums *s, const ls_mesh *mesh, int shards)
{
    size_t n = (size_t)mesh->workers;
    int status;

    *s = (ls__node_sums){.node = ls__new(n, sizeof *s->node, "nodes"),
                         .of = ls__new(n, sizeof *s->of, "nodes")};
    if (!s->node || !s->of)
        return LS_ENOMEM;
    s->nodes = ls__mesh_groups(mesh, LS__BELOW_NODE, s->node);
    if (s->nodes > LS__NODES)
        s->nodes = 0;
    note_workers(s);
    if (s->nodes < 2)
        return 0;
    if ((status = make_lists(s, mesh, shards)) < 0)
        return status;
    s->pays = links(s, ls__node_sums_read) < links(s, ls__node_sums_flat);
    return 0;
}

void ls__node_sums_close(ls__node_sums *s)
{
    free(s->node);
    free(s->shards);
    free(s->of);
    free(s->part);
    free(s->parts_of);
    memset(s, 0, sizeof *s);
}

/* Workers share the parameters out evenly, whichever node they are on. */
static double share(const ls__node_sums *s, int node)
{
    int workers = s->node[s->nodes - 1].worker + s->node[s->nodes - 1].workers;

    return (double)s->node[node].workers / workers;
}

double ls__node_sums_flat(const ls__node_sums *s, int from, int to)
{
    return s->shards[from].count * share(s, to);
}

double ls__node_sums_read(const ls__node_sums *s, int from, int to)
{
    return s->parts_of[from] * share(s, to);
}

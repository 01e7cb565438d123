/* SPDX-License-Identifier: BSD-3-Clause */
/* See neighbours.h. */
#include "mesh/neighbours.h"
#include "base/assert.h"

static int part_of(const ls_mesh *mesh, int worker, ls__below below)
{
    const ls_place *p = ls__mesh_place(mesh, worker);

    return below == LS__BELOW_L3 ? p->l3 : p->numa;
}

int ls__mesh_groups(const ls_mesh *mesh, ls__below below, ls__group *group)
{
    int n = 0;

    for (int w = 0; w < mesh->workers; w++) {
        int at = part_of(mesh, w, below);

        if (n == 0 || group[n - 1].at != at)
            group[n++] = (ls__group){at, w, 0};
        group[n - 1].workers++;
    }
    LS__ASSERT(group[n - 1].worker + group[n - 1].workers == mesh->workers);
    return n;
}

bool ls__mesh_has_nodes(const ls_mesh *mesh)
{
    int w = 1;

    while (w < mesh->workers && part_of(mesh, w, LS__BELOW_NODE) ==
                                    part_of(mesh, 0, LS__BELOW_NODE))
        w++;
    return w < mesh->workers;
}

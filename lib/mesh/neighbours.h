/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours: successive workers below the same last-level cache or NUMA node.
 * They never change a result, only the links that bytes go over, and who should
 * meet first. */
#ifndef LS_MESH_NEIGHBOURS_H
#define LS_MESH_NEIGHBOURS_H

#include "mesh/mesh.h"

typedef enum ls__below { LS__BELOW_L3, LS__BELOW_NODE } ls__below;

/* Some workers of a mesh. */
typedef struct ls__group {
    int at; /* hwloc's number of what they are below; -1: nobody tells */
    int worker, workers; /* the first one, and how many */
} ls__group;

/* Store the groups of a mesh's workers, in order, in group, [workers].  Returns
 * their number. */
int ls__mesh_groups(const ls_mesh *mesh, ls__below below, ls__group *group);

/* Do workers sit on several NUMA nodes? */
bool ls__mesh_has_nodes(const ls_mesh *mesh);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Hierarchical all-reduce where workers sit on several NUMA nodes: first the
 * workers of each node add the gradients of its own shards to whole subtrees of
 * the tree (base/tree.h), then the tree is completed from these.  The sums are
 * those of the tree either way; what changes is how much of them is read over
 * the links between nodes. */
#ifndef LS_MESH_NODE_SUMS_H
#define LS_MESH_NODE_SUMS_H

#include "base/tree.h"
#include "mesh/neighbours.h"

typedef struct ls__node_sums {
    int nodes;        /* groups of workers below one */
    ls__group *node;
    ls__span *shards; /* [node] that its workers run */
    int *of;          /* [worker] its node, by its place here */
    int parts;        /* subtrees of all nodes, in order */
    ls__subtree *part;
    int *parts_of;    /* [node] how many of them are its shards' */
    bool pays;        /* less is read over links than by adding all shards at
                         once */
} ls__node_sums;

enum { LS__NODES = 256 };

/* Find the node sums for `shards` shards of a mesh.  More than LS__NODES groups
 * of workers have none: it does not pay.  LS_ENOMEM. */
int ls__node_sums_open(ls__node_sums *s, const ls_mesh *mesh, int shards);
/* Accepts a cleared struct. */
void ls__node_sums_close(ls__node_sums *s);

/* Floats that workers of node `to` read of buffers on node `from` for each
 * parameter: of all shards, and where nodes have added their own before. */
double ls__node_sums_flat(const ls__node_sums *s, int from, int to);
double ls__node_sums_read(const ls__node_sums *s, int from, int to);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to a complete graph: readers of a node, nodes, parameters and
 * requests for keys. */
#ifndef LS_GRAPH_EDIT_H
#define LS_GRAPH_EDIT_H

#include <lockstep/initial.h>

/* A copy that shares nothing with the graph but what a user's operators point
 * at.  LS_ENOMEM; a graph that failed is copied with its failure. */
int ls__graph_copy(ls_graph **copy, const ls_graph *graph);

/* A node that was looked at, to be built on. */
ls_node *ls__edit_node(const ls_node *node);

/* A node's attribute that is a number; 0: it has none of that name. */
double ls__edit_number(const ls_node *node, const char *attribute);

/* Parameter k of a node starts so. */
void ls__edit_start(const ls_node *node, int k, ls_init init);

/* Redirect all readers of a node to another, which itself may read on. */
void ls__edit_redirect(const ls_node *from, const ls_node *to);

/* Move the newest nodes and parameters behind a node: they get the numbers and
 * requests for keys as if they had been built there. */
void ls__edit_move_behind(const ls_node *node, int nodes, int params);

/* Drop a node that nothing reads, and its parameters, which no other has. */
void ls__edit_drop(const ls_node *node);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to a graph that is complete: what reads a node, and which nodes,
 * parameters and requests for keys there are. */
#ifndef LS_GRAPH_EDIT_H
#define LS_GRAPH_EDIT_H

#include "graph/graph.h"

/* Whatever reads a node reads another one now, which itself may go on. */
void ls__edit_redirect(ls_graph *g, ls_node *from, ls_node *to);

/* Set the nodes' numbers to their places. */
void ls__edit_number_nodes(ls_graph *g);

/* A node goes, which nothing reads. */
void ls__edit_drop_node(ls_graph *g, const ls_node *node);

/* Requests from number `from` on are so many later. */
void ls__edit_shift_requests(ls_graph *g, int from, int by);

/* A parameter goes; numbers of later ones are one less. */
void ls__edit_drop_param(ls_graph *g, int index);

/* How many nodes have a parameter. */
int ls__edit_users(const ls_graph *g, int param);

#endif

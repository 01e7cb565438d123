/* SPDX-License-Identifier: BSD-3-Clause */
/* Undo: state to take a failing builder back to, where errors pass. */
#ifndef LS_GRAPH_UNDO_H
#define LS_GRAPH_UNDO_H

#include "graph/graph.h"

/* A builder begins: remember the graph, and how its inputs (may be NULL) are
 * limited.  Inside another builder it does nothing. */
void ls__undo_mark(ls_graph *graph, ls_node *const *in);

/* A number of a name changes, which was another.  LS_ENOMEM. */
int ls__undo_note(ls_graph *graph, ls__names *names, const char *text,
                  int was);

/* The graph has failed: unless that sticks, it is as it was at the mark, and
 * stands.  Memory that is short sticks always. */
void ls__undo_take_back(ls_graph *graph);

#endif

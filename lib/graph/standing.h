/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph that stands, or has failed: for functions that build no node, and for
 * builders that are made of others. */
#ifndef LS_GRAPH_STANDING_H
#define LS_GRAPH_STANDING_H

#include <lockstep/graph.h>

/* Return a status if the graph has failed or argument is NULL, else 0. */
#define LS__NEED_STANDING(graph, argument) \
    do { \
        int status_ = ls__graph_stands(graph, argument, __func__, #argument); \
        if (status_ < 0) \
            return status_; \
    } while (0)

int ls__graph_stands(ls_graph *graph, const void *argument,
                     const char *function, const char *name);

/* Make the current message the graph's error if it is the first, and take back
 * what the builder had begun where errors pass; NULL. */
ls_node *ls__graph_failed(ls_graph *graph, int status);

ls_graph *ls__graph_of(const ls_node *x);

/* Is there a node, whose graph stands? */
bool ls__node_stands(const ls_node *x);

/* The same, and options are read over ours as ls__sized_take does; where they
 * are refused the graph has failed. */
bool ls__node_takes(const ls_node *x, const char *what, void *ours, size_t n,
                    const void *theirs);

/* A builder made of others begins, and ends with its node or NULL. */
void ls__undo_enter(ls_graph *graph);
ls_node *ls__undo_leave(ls_graph *graph, ls_node *node);

/* "scope.name" in the graph's arena, or the one of both that is not empty.
 * NULL: there was no memory, and the graph has failed. */
char *ls__path(ls_graph *graph, const char *scope, const char *name);

#endif

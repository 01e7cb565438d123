/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a graph stands or has failed, for functions that build no node. */
#ifndef LS_GRAPH_STANDING_H
#define LS_GRAPH_STANDING_H

#include <lockstep/graph.h>

/* Whether the graph has failed, or argument is NULL: a status, 0 for
 * neither. */
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

#endif

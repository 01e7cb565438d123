/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes as layers see them that are made of others. */
#ifndef LS_LAYERS_SHAPE_H
#define LS_LAYERS_SHAPE_H

#include <lockstep/graph.h>

/* The shape of a row. */
typedef struct ls__shape {
    int rank;
    int64_t of[LS_MAX_RANK];
} ls__shape;

static inline ls__shape ls__shape_of(const ls_node *x)
{
    ls__shape s = {0};

    s.rank = ls_node_shape(x, s.of);
    return s;
}

/* The extent of the last axis; 1 where there is none. */
static inline int64_t ls__last_of(const ls_node *x)
{
    ls__shape s = ls__shape_of(x);

    return s.rank ? s.of[s.rank - 1] : 1;
}

#endif

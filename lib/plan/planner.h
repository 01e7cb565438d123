/* SPDX-License-Identifier: BSD-3-Clause */
/* State shared by those who make a plan: see plan.c. */
#ifndef LS_PLAN_PLANNER_H
#define LS_PLAN_PLANNER_H

#include "plan/plan.h"

/* Memory with a lifetime. */
typedef struct ls__value {
    int64_t size; /* floats */
    int first, last;
    int64_t offset;
} ls__value;

/* A node that waits for a gradient, and the next that waits for the same. */
typedef struct ls__waiter {
    int node, next;
} ls__waiter;

typedef struct ls__planner {
    ls__plan *plan;
    const ls_graph *graph;
    const ls_node *loss; /* of the graph; NULL: not to train */
    ls_node *node;    /* copies, by id */
    void **made;      /* [node] its operator's decisions; NULL: none */
    ls__bench bench;  /* the operators' view, and their requests */
    bool *used;       /* the loss or an output depends on it */
    bool *trains;     /* a parameter that is not frozen lies at or before it,
                         or an input whose gradient is wanted */
    const bool *frozen; /* [param]; NULL: none is */
    int *consumers;   /* a count of nodes, outputs and metrics that read it */
    int *home;        /* the node whose instruction makes its value */
    int *instr;       /* instruction of a node, -1 for none */
    int *y, *stash, *grad; /* value numbers, -1 for none */
    ls__value *values;
    int value_count;
    int *waiting;        /* [value] the first waiter, -1 for none */
    ls__waiter *waiters;
    int waiter_count;
    int (*refs)[3 + 2 * LS__MAX_INPUTS]; /* per instruction: y, stash, dy,
                                            dx.., addend.. */
} ls__planner;

/* The columns of refs. */
enum { Y, STASH, DY, DX, ADDEND = DX + LS__MAX_INPUTS };

static inline bool ls__planner_is_plain(const ls__planner *p)
{
    return p->plan->purpose == LS__TO_RECORD;
}

/* The node whose instruction makes the value of metric i. */
static inline const ls_node *ls__metric_node(const ls__planner *p, int i)
{
    return &p->node[p->home[p->graph->metric[i]->id]];
}

/* Is the gradient of a parameter wanted? */
bool ls__planner_moves(const ls__planner *p, int param);

/* plan_fold.c: the nodes needed, copied, and then folded where they can be. */
int ls__plan_copy(ls__planner *p);
void ls__plan_fold(ls__planner *p);

/* plan_formula.c: chains of elementwise operators made one. */
int ls__plan_chain(ls__planner *p);

/* plan_bf16.c: which values are numbers of bf16. */
void ls__plan_bf16(ls__planner *p);

/* plan_memory.c: what the instructions read and write, each laid out; then
 * their locations, in the instructions. */
int ls__plan_layout(ls__planner *p);
void ls__plan_write(ls__planner *p);

/* plan_work.c: how much work the instructions are, and what chunks share. */
void ls__plan_weigh(ls__plan *plan);

#endif

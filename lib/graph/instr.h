/* SPDX-License-Identifier: BSD-3-Clause */
/* One operator of a plan: where its values lie, and what it decided for itself;
 * and what a plan offers to an operator that decides. */
#ifndef LS_GRAPH_INSTR_H
#define LS_GRAPH_INSTR_H

#include "graph/graph.h"
#include "kernel/product.h"

/* The place of a value: in an input of the batch, or in a worker's memory. */
typedef struct ls__location {
    int input;      /* index, or -1 */
    int64_t offset; /* floats from the start of the worker's memory */
    bool is_bf16;     /* numbers of bf16, as c_bf16 leaves them
                       (kernel/product.h) */
    const struct ls__instr *lender; /* these are its input: the reader makes its
                       value itself; NULL: they are the value */
} ls__location;

/* One operator to run, forward at its place in the list, backward in the
 * reverse order. */
typedef struct ls__instr {
    const ls_node *node;
    int inputs;                  /* with those of what it took in */
    ls__location x[LS__MAX_INPUTS];
    bool is_bf16;                  /* y is numbers of bf16 */
    bool lends;                  /* y is not written (ls__op_rare.lends) */
    int64_t y, stash, dy;        /* offsets; -1: none */
    int64_t kept;                /* floats a row of the stash */
    bool over_x;                 /* and it keeps some where x[0] was, which
                                    nobody else reads */
    int64_t dx[LS__MAX_INPUTS], addend[LS__MAX_INPUTS];
    bool begun[LS__MAX_PARAMS];  /* the gradient of a parameter is begun by an
                                    instruction after it */
    bool surveys;                /* it runs when all rows were looked at, */
    int64_t found[2];            /* and this is where what was found begins */
    double work;                 /* operations of a row, as ls__plan.work */
    void *made;                  /* the operator's decisions, in a struct of its
                                    own (ls__op_plan.made); NULL: none */
} ls__instr;

/* Weights in the form that a product reads, written once a step for all
 * workers. */
typedef struct ls__pack ls__pack;

/* Write columns first .. last of them, to what begins with the first column. */
typedef void ls__pack_fn(const ls__pack *q, const ls__backend *backend,
                         int64_t first, int64_t last, const float *weights,
                         float *to);

struct ls__pack {
    const ls_node *node;    /* they are its first parameter */
    bool backward;          /* read there only */
    int64_t k, n, row, col; /* the operand B (k,n) and its strides */
    int64_t whole;          /* columns that are not cut */
    int64_t floats;
    int64_t offset;         /* in the packed weights, one after the other */
    int64_t *at;            /* the asking operator's copy of the offset */
    ls__pack_fn *write;
    const void *of;         /* of the writer's own */
};

/* An operator's view of the plan while it plans itself, and its requests.  The
 * places of all instructions are known. */
typedef struct ls__bench {
    ls__arena *arena; /* the plan's */
    const ls__backend *backend;
    int64_t rows;     /* most of a chunk */
    bool backward;    /* gradients follow */
    bool lots;        /* bags may work on chunks in lots */
    ls__instr *instr; /* all of them */
    int count;
    const ls__param *param;
    const bool *left_out; /* [param] its gradient is not computed */
    ls__instr *maker;     /* of x[0] of the instruction that plans itself, where
                             nobody else reads that; NULL: no such */

    int64_t scratch; /* floats: the most that one asked for */
    int64_t stays;   /* floats that stay from run to run, so far */
    int packs;
    ls__pack *pack;  /* room for two for each instruction */
    int64_t packed;  /* floats of them */
} ls__bench;

/* Ask for memory that dies with each call. */
void ls__bench_scratch(ls__bench *b, int64_t floats);

/* Ask for memory that stays from run to run: its offset. */
int64_t ls__bench_stays(ls__bench *b, int64_t floats);

/* Ask for packed weights; *at will be their offset. */
void ls__bench_pack(ls__bench *b, ls__pack q, int64_t *at);

/* The rows of a shard that the operators of a plan want in a chunk. */
typedef struct ls__wish {
    int64_t rows;   /* the least that one wants */
    int64_t steps;  /* the least for recurrent layers, which counts before that;
                       0: there are none */
    int64_t images; /* numbers that convolutions make of a row, before poolings,
                       all together */
} ls__wish;

/* The number of a node's inputs, with those of what was fused into it. */
static inline int ls__inputs_of(const ls_node *n)
{
    int k = 0;

    while (k < LS__MAX_INPUTS && n->in[k])
        k++;
    return k;
}

#endif

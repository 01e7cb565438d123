/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan: what runs in which order, and where every value lies.
 *
 * One run of the plan takes `chunk_rows` rows of a shard (fewer at its end)
 * through forward and backward; a device runs it chunk by chunk, adding to its
 * gradient.  Memory so depends on the chunk, not on the batch, and the chunk,
 * fixed by the graph alone, is also where K is cut in weight gradients.
 *
 * The plan owns copies of all it needs: the graph may be freed.  Once it is
 * made nothing changes it, so any number of threads may run it at once, each
 * with a context of its own (exec.h). */
#ifndef LS_PLAN_PLAN_H
#define LS_PLAN_PLAN_H

#include "base/assert.h"
#include "base/range.h"
#include "graph/op.h"

/* The purpose of a plan.  TO_PREDICT: outputs alone, without a loss or
 * gradients, so that a value's memory is free as soon as the last operator has
 * read it, and nothing is kept for backward.  TO_INPUTS: as to train, but the
 * gradients are those of the graph's float inputs.  TO_RECORD: as to train,
 * with the same bytes, but plain: each node is an instruction, whose values and
 * gradients are written once, as floats, where nothing else lies before their
 * last reader is done. */
typedef enum ls__purpose {
    LS__TO_TRAIN, LS__TO_PREDICT, LS__TO_INPUTS, LS__TO_RECORD
} ls__purpose;

/* The goal of a forward run: the loss, or an output. */
typedef struct ls__goal {
    const char *name; /* of the output; NULL: the loss */
    int64_t size;     /* of an output: elements a row */
    int instr;        /* that makes it; -1: there is no loss */
    bool *runs;       /* [instr] needed for it */
    bool *reads;      /* [input] likewise */
} ls__goal;

/* A value to sum over the rows of each batch. */
typedef struct ls__metric {
    int64_t y;    /* offset */
    int64_t size; /* elements a row */
} ls__metric;

enum { LS__WORKING_SET = 12 };

/* The memory of a chunk that a part of a step reads and writes, in the order of
 * its instructions; what there is no room for is left out. */
typedef struct ls__working_set {
    int n;
    ls__range of[LS__WORKING_SET];
} ls__working_set;

/* Operators of a training step that look at all rows first, in rising order. */
typedef struct ls__surveys {
    int n;
    int *instr;    /* [n] their instructions */
    int64_t found; /* doubles that all of them find out */
    ls__working_set *uses; /* [2 n + 1] of each part */
    bool meet;     /* one of them is of all devices' rows */
} ls__surveys;

typedef struct ls__plan {
    ls__arena arena;
    ls__purpose purpose;
    int count;         /* instructions; the loss is the last */
    ls__instr *instr;
    int inputs, params;
    const ls_node **input;
    ls__param *param;
    bool *left_out;    /* [param] its gradient is not computed */
    int64_t *input_gradient; /* [input] offset; -1: none */
    struct {
        int n;
        ls__stream *of;
        ls__draw *draw; /* [n] zero until whoever made the plan sets them */
    } streams;
    ls__goal loss;
    int outputs;
    ls__goal *output;
    int metrics;
    ls__metric metric[LS_METRICS];
    struct {
        int n;
        ls__pack *of;
        int64_t floats;
    } packs;
    int64_t chunk_rows;
    ls__surveys surveys;
    bool loose;        /* nothing of a chunk goes on in the next but sums and,
                          step by step, what positions before it left */
    bool tied;         /* two operators share a parameter */
    struct {           /* operations, forward and backward, a byte moved being
                          one: to compare, not to measure */
        double row;    /* of a row */
        double cut;    /* those of operators whose rows can be cut */
        double split;  /* those whose columns can be shared out */
    } work;
    int64_t unit;      /* rows: a chunk is cut at multiples of it */
    struct {             /* of a worker */
        int64_t stays;   /* floats that stay in a context from run to run */
        int64_t scratch; /* offset of the scratch, at the end */
        int64_t floats;  /* all of it */
    } memory;
    ls__backend backend; /* a copy */
} ls__plan;

/* Lay out a graph, which needs a loss to train and an output to predict.  Fails
 * with the graph's first error.  Gradients that only frozen parameters
 * need are left out: frozen[param] of the graph, NULL: none is. */
int ls__plan_new(ls__plan **plan, const ls_graph *graph,
                 const ls__backend *backend, ls__purpose purpose,
                 const bool *frozen);
void ls__plan_free(ls__plan *plan);

/* A training step runs in parts, with a survey of all rows at the end of each
 * but the last: forward up to each operator that has one, in rising order, then
 * back down to each.  Gives the end of a part: *in is that operator, *back says
 * if it is on the way back; for the last part false, *in NULL. */
bool ls__plan_part_ends(const ls__plan *plan, int part, const ls__instr **in,
                        bool *back);

/* The instructions that a part runs: forward, then back from the last. */
void ls__plan_part(const ls__plan *plan, int part, ls__range *forward,
                   ls__range *back);

/* The number of chunks of n rows. */
static inline int64_t ls__plan_chunks(const ls__plan *p, int64_t n)
{
    LS__ASSERT(p->chunk_rows > 0 && n >= 0);
    return (n + p->chunk_rows - 1) / p->chunk_rows;
}

static inline int ls__plan_parts(const ls__plan *p)
{
    return 2 * p->surveys.n + 1;
}

/* Let a plan read the weights that another of the same backend has packed.
 * LS_ENOTSUP: it needs some that are not there. */
int ls__plan_share_packs(ls__plan *plan, const ls__plan *of);

/* The output of that name; NULL with a message: there is none. */
const ls__goal *ls__plan_output(const ls__plan *plan, const char *name);

#endif

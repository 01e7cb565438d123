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

#include "base/range.h"
#include "graph/op.h"

/* What a plan is laid out for.  TO_PREDICT: outputs alone, without a loss or
 * gradients, so that a value's memory is free as soon as the last operator has
 * read it, and nothing is kept for backward.  TO_INPUTS: as to train, but the
 * gradients are those of the graph's float inputs.  TO_RECORD: as to train,
 * with the same bytes, but plain: each node is an instruction, whose values and
 * gradients are written once, as floats, where nothing else lies before their
 * last reader is done. */
typedef enum ls__purpose {
    LS__TO_TRAIN, LS__TO_PREDICT, LS__TO_INPUTS, LS__TO_RECORD
} ls__purpose;

/* What a forward run is for: the loss, or an output. */
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
    int streams;
    ls__stream *stream;
    ls__draw *draw;    /* [stream] zero until whoever made the plan sets them */
    ls__goal loss;
    int outputs;
    ls__goal *output;
    int metrics;
    ls__metric metric[LS_METRICS];
    int packs;
    ls__pack *pack;
    int64_t pack_floats;
    int64_t chunk_rows;
    int surveys;       /* in a training step, of operators in rising order */
    int *survey;       /* [surveys] their instructions */
    int64_t found;     /* doubles that all of them find out */
    bool meets;        /* one of them is of all devices' rows */
    bool loose;        /* nothing of a chunk goes on in the next but sums and,
                          step by step, what positions before it left */
    bool tied;         /* two operators share a parameter */
    double work;       /* operations of a row, forward and backward, a byte
                          moved being one: to compare, not to measure */
    double cut;        /* those of operators whose rows can be cut */
    double split;      /* those of which columns can be shared out */
    int64_t unit;      /* a chunk is cut at multiples of so many rows */
    int64_t stays;     /* floats that stay in a context from run to run */
    int64_t scratch;   /* offset of the scratch, at the end of the memory */
    int64_t floats;    /* of a worker's memory */
    ls__backend backend; /* a copy */
} ls__plan;

/* Lay out a graph, which needs a loss to train and an output to predict.  Fails
 * with the graph's first error.  No gradient goes to what is only there for
 * parameters that are frozen: frozen[param] of the graph, NULL: none is. */
int ls__plan_new(ls__plan **plan, const ls_graph *graph,
                 const ls__backend *backend, ls__purpose purpose,
                 const bool *frozen);
void ls__plan_free(ls__plan *plan);

/* A training step runs in parts, with a survey of all rows at the end of each
 * but the last: forward up to each operator that has one, in rising order, then
 * back down to each.  Where part `part` ends: *in is that operator and *back
 * whether it was on the way back; in the last part false, *in NULL. */
bool ls__plan_part_ends(const ls__plan *plan, int part, const ls__instr **in,
                        bool *back);

/* The instructions that a part runs: forward, then back from the last. */
void ls__plan_part(const ls__plan *plan, int part, ls__range *forward,
                   ls__range *back);

/* Chunks of so many rows. */
static inline int64_t ls__plan_chunks(const ls__plan *p, int64_t n)
{
    return (n + p->chunk_rows - 1) / p->chunk_rows;
}

static inline int ls__plan_parts(const ls__plan *p)
{
    return 2 * p->surveys + 1;
}

/* Let a plan read the weights that another of the same backend has packed.
 * LS_ENOTSUP: it needs some that are not there. */
int ls__plan_share_packs(ls__plan *plan, const ls__plan *of);

/* The output of that name; NULL with a message: there is none. */
const ls__goal *ls__plan_output(const ls__plan *plan, const char *name);

#endif

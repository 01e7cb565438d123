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

#include "graph/op.h"

/* Where a value lies: in an input of the batch, or in a worker's memory. */
typedef struct ls__location {
    int input;      /* index, or -1 */
    int64_t offset; /* floats from the start of the worker's memory */
} ls__location;

/* One operator to run, forward at its place in the list, backward in the
 * reverse order. */
typedef struct ls__instr {
    const ls_node *node;
    int inputs;
    ls__location x[LS__MAX_INPUTS];
    int64_t y, stash, dy;             /* offsets; -1: none */
    int64_t dx[LS__MAX_INPUTS], addend[LS__MAX_INPUTS];
    int64_t cache;                    /* offset in the context's cache */
    int64_t slope_of_x;               /* offset; -1: none */
    bool dy_is_pre, through_slope;    /* see fold_slope */
    bool x_words, y_words;            /* see plan_words.c */
    bool begun[LS__MAX_PARAMS];       /* the gradient of a parameter is begun by
                                         an instruction after it */
    int64_t packed[2];                /* offsets in the packed weights */
    const struct ls__lot *lot;        /* of its chunks; NULL: none */
    int64_t lot_memory;               /* offset in the context's cache */
    bool marks; /* a bag, and only bags write the gradient of its table */
} ls__instr;

/* What a plan is laid out for.  TO_PREDICT: outputs alone, without a loss or
 * gradients, so that a value's memory is free as soon as the last operator has
 * read it, and nothing is kept for backward.  TO_INPUTS: as to train, but the
 * gradients are those of the graph's float inputs. */
typedef enum ls__purpose {
    LS__TO_TRAIN, LS__TO_PREDICT, LS__TO_INPUTS
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

/* Where the keys of a stream come from: call c of the model uses fold_in(key,
 * c), and where hashed, that folded with hash. */
typedef struct ls__draw {
    ls_key key;
    uint32_t hash;
    bool hashed;
} ls__draw;

/* Weights to pack at the start of each step. */
typedef struct ls__pack {
    int param;
    int64_t k, n, row, col; /* the operand B (k,n) and its strides */
    ls__conv_weights conv;  /* of a convolution; kh 0: dense */
    int64_t offset, floats; /* in the packed weights, one after the other */
    bool backward;          /* used there only */
} ls__pack;

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
    int64_t cache_floats; /* that stay in a context from run to run */
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

/* Let a plan read the weights that another of the same backend has packed.
 * LS_ENOTSUP: it needs some that are not there. */
int ls__plan_share_packs(ls__plan *plan, const ls__plan *of);

/* The output of that name; NULL with a message: there is none. */
const ls__goal *ls__plan_output(const ls__plan *plan, const char *name);

#endif

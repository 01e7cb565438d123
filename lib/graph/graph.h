/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph as the user builds it: nodes in the order they were made, the
 * parameters they own, and the first error, which sticks. */
#ifndef LS_GRAPH_GRAPH_H
#define LS_GRAPH_GRAPH_H

#include "base/error.h"
#include "base/names.h"
#include "base/memory.h"
#include "graph/standing.h"
#include "kernel/formula.h"
#include <lockstep/initial.h>
#include <lockstep/ops.h>
#include <lockstep/own.h>
#include "random/init.h"

typedef struct ls__op ls__op;

enum { LS__MAX_INPUTS = LS__TERM_INPUTS, LS__MAX_PARAMS = 4 };

_Static_assert(LS__MAX_INPUTS <= 32, "bits of ls__op.reads and others");

/* A list of sizes. */
typedef struct ls__extents {
    int rank;
    int64_t of[LS_MAX_RANK];
} ls__extents;

struct ls_node {
    ls_graph *graph;
    int id;                        /* index in graph->nodes */
    const ls__op *op;              /* NULL: an input of the graph */
    const char *name;              /* of the layer or input, "" for none */
    ls_node *in[LS__MAX_INPUTS];
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK];    /* of one row */
    int64_t size;                  /* elements of one row */
    int param[LS__MAX_PARAMS];     /* indices in graph->params */
    int params;
    int input;                     /* index in graph->inputs, or -1 */
    int64_t limit;                 /* inputs used as indices: below this */
    int stream;                    /* of random numbers, or -1 */
    void *of;                      /* its operator's attributes, in a struct of
                                      the operator's (graph/attribute.h); NULL:
                                      it has none */
    int64_t positions;             /* step by step: of a whole row, whose rows
                                      are its positions now; else 0 */
    int tie[LS__MAX_PARAMS];       /* param[k] is another node's too: its index
                                      + 1, negative for its transpose; or 0 */
    const char *called[LS__MAX_PARAMS]; /* what param[k] shall be called; NULL:
                                           as its operator says */
};

/* Is its first parameter another's, transposed? */
static inline bool ls__is_transposed(const ls_node *node)
{
    return node->tie[0] < 0;
}

/* A parameter as its operator declared it. */
typedef struct ls__param {
    const char *name; /* "blocks_0.Dense_0.kernel" */
    const char *scope; /* "blocks_0.Dense_0": what linen hashes */
    int count;        /* number within its scope, from 1: likewise */
    int request;      /* parameters and streams declared before it */
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t size;
    ls__init init;
    int64_t fan_in, fan_out;
    bool is_stored; /* statistics: no optimizer moves it */
    bool is_table; /* rows are read by their indices: ls_optimizer.lazy */
    ls_init chosen; /* by the program, in the place of init: ls_init_params */
} ls__param;

/* Random numbers that a layer draws anew in each call of the model. */
typedef struct ls__stream {
    const char *scope; /* the layer's name: what linen hashes */
    int count;         /* number within its scope, from 1: likewise */
    int request;       /* parameters and streams declared before it */
} ls__stream;

/* A node that ls_predict can read. */
typedef struct ls__output {
    const char *name;
    ls_node *node;
} ls__output;

/* A name's number was another before the builder at hand. */
typedef struct ls__change {
    const struct ls__change *before;
    ls__names *names;
    const char *text;
    int was;
} ls__change;

/* The graph's state when the builder at hand began (undo.c). */
typedef struct ls__undo {
    bool passes;  /* errors do: ls_graph_errors_pass */
    bool marked;  /* the rest is filled in */
    int depth;    /* of builders made of others */
    int nodes, params, streams, requests, open_ties;
    ls_node *in[LS__MAX_INPUTS];
    int64_t limit[LS__MAX_INPUTS];
    const ls__change *change; /* the last one */
} ls__undo;

struct ls_graph {
    ls__arena arena;
    ls_node **nodes;
    int node_count, node_capacity;
    ls__param **params; /* in the order of declaration */
    int param_count, param_capacity;
    ls__stream **streams; /* likewise */
    int stream_count, stream_capacity;
    ls__names param_names;   /* its index + 1 */
    struct {                 /* ls_tie: */
        ls__names names;     /* with which index + 1, negative for its
                                transpose */
        int open;            /* whose name no layer has declared yet */
    } ties;
    struct {                 /* ls_rename: */
        ls__names names;     /* which of `as`, + 1 */
        const char **as;
        int count, capacity;
    } renames;
    ls__names param_scopes;  /* a count of parameters in each scope */
    ls__names stream_scopes; /* and of streams */
    int requests; /* of keys, for parameters and streams: nnx counts them */
    ls_node **inputs;
    int input_count, input_capacity;
    ls__output **outputs;
    int output_count, output_capacity;
    int metrics;
    ls_node *metric[LS_METRICS]; /* ls_metric */
    ls_node *loss;
    int status; /* of the first error */
    char message[LS__MESSAGE]; /* of the last error that passed, too */
    ls__undo undo;
};

/* A copy that computes one output position by position (decoding): each of its
 * rows is a position of an old row, and a run's first row says which.
 * LS_ENOTSUP names the node that needs later positions, or all. */
int ls__graph_steps(ls_graph **steps, const ls_graph *graph,
                    const ls__output *output);

/* A new node of an operator.  in[] as many as the operator has; its shape is
 * the operator's business.  NULL when an input is NULL or the graph failed. */
ls_node *ls__node_new(const ls__op *op, const char *name, ls_node *a,
                      ls_node *b, ls_node *c);

/* A node of an operator without inputs, or with inputs to be set. */
ls_node *ls__node_source(ls_graph *graph, const ls__op *op, const char *name);

/* A node of an operator whose function takes no name: messages call it by its
 * first input's. */
ls_node *ls__node_unnamed(const ls__op *op, ls_node *a, ls_node *b);

/* Declare a parameter of a node as "<node name>.<name>" (or one of both alone
 * when the other is "").  Returns the node, or NULL when the graph failed. */
ls_node *ls__node_param(ls_node *node, const char *name, ls__init init,
                   int64_t fan_in, int64_t fan_out, int rank,
                   const int64_t *shape);

/* The same of a table (count,width) whose rows are read by their indices, with
 * fans as they are for its operator. */
ls_node *ls__node_table(ls_node *node, const char *name, ls__init init,
                        int64_t fan_in, int64_t fan_out, int64_t count,
                        int64_t width);

/* Append p to a growing list of pointers of the graph's.  LS_ENOMEM. */
int ls__graph_append(void ***list, int *count, int *capacity, void *p);

/* Declare a stream of random numbers: its number, or a status. */
int ls__graph_stream(ls_graph *graph, const char *scope);

/* Set a node's shape and size; LS_ESHAPE when it overflows. */
int ls__node_set_shape(ls_node *node, ls_dtype dtype, int rank,
                       const int64_t *shape);

/* LS__NEED in a builder that is given x: the error sticks to x's graph.  x may
 * be NULL, which is no error of this builder's. */
#define LS__NEED_NODE(x, argument) \
    do { \
        if ((x) && !(argument)) \
            return ls__graph_null((x)->graph, __func__, #argument); \
    } while (0)

/* "ls_dense: name is NULL" sticks, unless an error does; returns NULL. */
ls_node *ls__graph_null(ls_graph *graph, const char *function,
                        const char *argument);

/* Finish a node whose attributes are set: its operator checks them and finds
 * the shape, then declares parameters and streams.  Hands the node out, or
 * NULL. */
ls_node *ls__node_done(ls_node *node);

/* Set a node's attributes, to a copy of `of`, and finish it likewise. */
ls_node *ls__node_with(ls_node *node, const void *of);

#endif

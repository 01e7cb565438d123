/* SPDX-License-Identifier: BSD-3-Clause */
/* Low-rank adapters (LoRA) in a graph: four nodes behind a dense layer,
 *
 *     sum = layer + b(scale a(x)),   x what the layer reads
 *
 * They are ordinary nodes, in files too, and are known by their names. */
#ifndef LS_WEIGHTS_LORA_H
#define LS_WEIGHTS_LORA_H

#include <lockstep/graph.h>

typedef struct ls__adapter {
    const char *layer; /* its name; the graph's */
    int64_t in, out;   /* widths of input and output */
    int64_t rank;
    double scale;      /* alpha / rank */
    const char *w, *a, *b; /* the names of the kernels, of the layer and of the
                              two products; the graph's */
} ls__adapter;

/* The next adapter of a graph from node *at on, which is set behind it; begin
 * with 0.  False: there is none. */
bool ls__lora_next(const ls_graph *graph, int *at, ls__adapter *adapter);

/* The number of adapters in a graph. */
int ls__lora_count(const ls_graph *graph);

/* Add one of this rank and scale to the dense layer of this name.  Errors name
 * the file; those of building stick to the graph.  LS_ENOTFOUND, LS_EINVAL. */
int ls__lora_insert(ls_graph *graph, const char *path, const ls__adapter *as);

/* A copy of a graph without its adapters, to be written. */
int ls__lora_without(ls_graph **copy, const ls_graph *graph);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Low-rank adapters in a graph: four nodes behind a dense layer,
 *
 *     sum = layer + b(scale a(x)),   x what the layer reads
 *
 * They are ordinary nodes, in files too, and are known by their names. */
#ifndef LS_LORA_LORA_H
#define LS_LORA_LORA_H

#include "graph/graph.h"

typedef struct ls__lora {
    const ls_node *layer, *a, *scale, *b, *sum;
} ls__lora;

/* The next adapter of a graph from node *at on, which is set behind it; begin
 * with 0.  False: there is none. */
bool ls__lora_next(const ls_graph *graph, int *at, ls__lora *lora);

/* How many there are. */
int ls__lora_count(const ls_graph *graph);

/* The dense layer of that name, if its weights are its own; NULL. */
ls_node *ls__lora_layer(const ls_graph *graph, const char *name);

/* Is a node of one, or the layer of one? */
bool ls__lora_has(const ls_node *node);

/* Add one to a layer.  scale: alpha / rank.  Errors stick to the graph. */
int ls__lora_insert(ls_node *layer, int64_t rank, double scale);

/* A copy of a graph without its adapters, to be written. */
int ls__lora_without(ls_graph **copy, const ls_graph *graph);

#endif

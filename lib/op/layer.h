/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers that other layers are made of. */
#ifndef LS_OP_LAYER_H
#define LS_OP_LAYER_H

#include "graph/graph.h"

/* A dense layer whose weights are the matrix (width of x, n) under another
 * shape of the same size, `kernel`: Flax's DenseGeneral. */
ls_node *ls__dense(ls_node *x, int64_t n, const char *name, bool bias,
                   ls__extents kernel);

/* The same, called "<name>.<part>": a part of the layer `name`.
 * NULL where x is, or where the graph has failed. */
ls_node *ls__projection(ls_node *x, int64_t n, const char *name,
                        const char *part, bool bias, ls__extents kernel);

/* Declare "scale" and "bias", one each for the last axis: what norms learn. */
ls_node *ls__declare_scale_bias(ls_node *n);

/* What norms add to a variance where nothing else is said. */
#define LS__NORM_EPSILON 1e-6

/* Check epsilon and the input, and set the shape: its input's. */
int ls__norm_shape(ls_node *n, double epsilon);

/* The options of a norm, taken into *o; false: the graph has failed. */
bool ls__norm_options(ls_graph *graph, ls_norm_options *o,
                      const ls_norm_options *options);

/* The constants of rotary positions, in an arena: for each position the cosines
 * of a head's pairs, then their sines.  NULL: there is no memory. */
const float *ls__rotary_table(const ls_node *n, ls__arena *arena);

/* Attention of q (T,D) to k and v, D being cut into heads; k and v may have
 * fewer of the same width.  Its weights are dropped at that rate. */
ls_node *ls__attention(ls_node *q, ls_node *k, ls_node *v, int heads,
                       bool causal, double dropout, const char *name);

/* The options of an attention, taken into *o; false: the graph has failed. */
bool ls__attention_options(ls_graph *graph, ls_attention_options *o,
                           const ls_attention_options *options);

/* The options of a dense layer, taken into *o; false: the graph has failed. */
bool ls__dense_options(ls_graph *graph, ls_dense_options *o,
                       const ls_dense_options *options);

#endif

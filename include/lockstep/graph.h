/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: nodes, inputs, outputs, metrics and the loss. */
#ifndef LOCKSTEP_GRAPH_H
#define LOCKSTEP_GRAPH_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes are per row: the batch axis is not written.  A node of shape (T,D) is
 * an array (rows,T,D) during a step.  Parameters are created by the operators
 * that use them; their names are Flax's paths joined with dots.
 * They are drawn in the order of the calls (nnx keys), so calls that make
 * parameters belong in statements of their own: C does not say which argument
 * of ls_add(ls_dense(..), ls_dense(..)) comes first. */
typedef struct ls_graph ls_graph;
typedef struct ls_node ls_node;

/* Make an empty graph.  LS_ENOMEM. */
LS_API int ls_graph_new(ls_graph **graph);
/* Free the graph and all its nodes.  Trainers that were opened with it are not
 * affected. */
LS_API void ls_graph_free(ls_graph *graph);

/* Say whether errors of this graph pass (true) or the first one sticks (false,
 * as a graph begins).  It is for languages where a builder's NULL is an
 * exception, as lockstep.hpp and the Python module have it: an error was told
 * then.  Where errors pass, a builder that fails leaves the graph as it was
 * before the call, to the keys of the parameters that come after, and what is
 * called next is judged by itself; a builder that is given NULL repeats the
 * words of the last error.  Two still stick: that memory was short, and an
 * adapter that was half put in. */
LS_API void ls_graph_errors_pass(ls_graph *graph, bool pass);

/* Declare an array of every batch by the shape of one of its rows.  With rank
 * 0 a row is one number. */
LS_API ls_node *ls_input(ls_graph *graph, const char *name, ls_dtype dtype,
                         int rank, const int64_t *shape);

/* Stores the row shape of a node and returns its rank, 0 for one number. */
LS_API int ls_node_shape(const ls_node *node, int64_t shape[LS_MAX_RANK]);

/* Give a node (LS_F32, made by an operator) a name by which ls_predict reads
 * it.  This does not change a bit of the training. */
LS_API int ls_output(ls_graph *graph, ls_node *node, const char *name);

/* A graph or a gradient function has at most this many metrics. */
enum { LS_METRICS = 8 };

/* Watch the mean of a node (LS_F32, made by an operator) over each batch:
 * sum_i w_i sum_j y[i,j] / sum_i w_i n, rows i of weight w_i and n elements;
 * rows of weight 0 do not count.  Returns k = 0, 1, .., its place in
 * ls_result.metric, or LS_EINVAL.  This does not change
 * a bit of the training. */
LS_API int ls_metric(ls_graph *graph, ls_node *node);

/* Declare what training minimises, which is the weighted mean of this loss over
 * all its terms.  A graph has one loss, and a second one is LS_EINVAL: several
 * are weighted and added before ls_mean_loss (lockstep/arithmetic.h). */
LS_API int ls_loss(ls_graph *graph, ls_node *loss);

/* ------ Looking at a graph ------ */

/* The nodes of a graph in the order they were made, each after its inputs. */
LS_API int ls_graph_nodes(const ls_graph *graph);

/* Returns node i = 0, 1, ..; NULL past the last. */
LS_API const ls_node *ls_graph_node(const ls_graph *graph, int i);

/* The loss; NULL: there is none. */
LS_API const ls_node *ls_graph_loss(const ls_graph *graph);

/* Returns output i = 0, 1, .. and stores its name (the pointer may be NULL);
 * NULL past the last. */
LS_API const ls_node *ls_graph_output(const ls_graph *graph, int i,
                                      const char **name);

/* The name of a node's operator, "dense"; "input" for an input.  It lives as
 * long as the program. */
LS_API const char *ls_node_op(const ls_node *node);

/* The name it was given, and for operators that take none that of their first
 * input.  It lives until the graph is freed. */
LS_API const char *ls_node_name(const ls_node *node);

/* Returns input k = 0, 1, .. of a node; NULL past the last. */
LS_API const ls_node *ls_node_input(const ls_node *node, int k);

/* Stores name, type and shape of parameter k = 0, 1, .. of a node and returns
 * true; false past the last.  The name lives until the graph is freed. */
LS_API bool ls_node_param(const ls_node *node, int k, ls_array_spec *param);

#ifdef __cplusplus
}
#endif

#endif

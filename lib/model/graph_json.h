/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as JSON text, which docs/model-file.md describes:
 *
 *     {"version": 1, "nodes": [..], "outputs": [..], "metrics": [..],
 *      "loss": 7}
 *
 * A node says its operator, name, inputs (numbers of nodes before it),
 * attributes, and, for those who read without knowing the operators, its shape
 * and the names of its parameters. */
#ifndef LS_MODEL_GRAPH_JSON_H
#define LS_MODEL_GRAPH_JSON_H

#include <lockstep/graph.h>

#include <jansson.h>

enum { LS__GRAPH_VERSION = 1 };

/* The graph's key in a model file. */
#define LS__GRAPH_KEY "lockstep.graph"

/* *text is to be freed.  LS_ENOTSUP names an operator of the user's, whose
 * functions no file can hold; LS_EINVAL a name that is not UTF-8; LS_ENOMEM. */
int ls__graph_write(const ls_graph *graph, char **text);

/* The same before it is a text, of any graph: with the names of the user's
 * operators, the bytes of names that are not UTF-8, and attributes at their
 * defaults, which files leave out.
 * trained: only what the loss needs, without outputs and metrics.  NULL: no
 * memory. */
json_t *ls__graph_said(const ls_graph *graph, bool trained);

/* The JSON of files, of any graph: what a transcript commits to.  A new
 * attribute at its default does not change it. */
json_t *ls__graph_as_filed(const ls_graph *graph);

/* Build a graph from a text that is not trusted: every operator checks its
 * inputs and attributes as it does for a program that builds, and must come to
 * the shape and the parameters that the text says.  Messages begin
 * with `where`.  LS_EFORMAT; LS_ENOTSUP: an operator, an attribute or a version
 * that is not known here; what builders give; LS_ENOMEM. */
int ls__graph_read(ls_graph **graph, const char *text, const char *where);

/* The same of what its first output needs, behind x, which takes the place of
 * its only input; names begin with "scope.".  x's graph may have part of it
 * where it fails. */
int ls__graph_read_on(ls_node *x, const char *scope, const char *text,
                      const char *where, ls_node **output);

/* Have its parameters more elements than that? */
bool ls__graph_exceeds(const ls_graph *graph, int64_t elements);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as facts, node by node: what is another in two graphs. */
#ifndef LS_MODEL_GRAPH_FACTS_H
#define LS_MODEL_GRAPH_FACTS_H

#include "base/fact_list.h"
#include <lockstep/graph.h>

/* Add, for each node, its operator and name ("node 3"), and by names of their
 * own ("node 3 (leaky_relu "act"): slope") its attributes, inputs, parameters
 * and shape.  Only what the loss needs, without outputs and metrics:
 * `trained`. */
void ls__graph_facts(const ls_graph *graph, bool trained, ls__facts *facts);

#endif

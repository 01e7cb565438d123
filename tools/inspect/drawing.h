/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of a model file, as a table. */
#ifndef TOOLS_DRAWING_H
#define TOOLS_DRAWING_H

#include <lockstep.h>

/* A line for each node: its number, operator, name, shape of a row, and where
 * its inputs come from. */
void drawing_text(const ls_graph *graph);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the output to predict, and its needs. */
#ifndef TOOLS_PREDICT_CHOOSE_H
#define TOOLS_PREDICT_CHOOSE_H

#include <lockstep.h>

typedef struct choice {
    int output; /* its number */
    ls_array_spec in, out;
} choice;

/* The output of this name, or the first and a remark on the others (NULL), and
 * the only input that it needs; OPT_FAILED or OPT_WRONG after a message. */
int choose_output(choice *c, const ls_graph *graph,
                  const ls_predictor *predictor, const char *name,
                  const char *path);

#endif

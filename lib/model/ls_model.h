/* SPDX-License-Identifier: BSD-3-Clause */
/* A model: its plan, the names of its inputs and parameters, and the layout and
 * values of the parameters.  It knows nothing of training; a trainer has one,
 * and so may anything else that runs it.
 *
 * A run (plan/exec.h) needs three things.  The plan never changes once the
 * model is open.  The weights are the parameters, also packed for products:
 * read by all runs, written between them.  A context is the memory of one run
 * and belongs to the thread that runs. */
#ifndef LS_MODEL_LS_MODEL_H
#define LS_MODEL_LS_MODEL_H

#include "model/input.h"
#include "model/params.h"
#include "plan/exec.h"

typedef struct ls__model {
    ls__arena arena;
    ls_graph *graph;     /* a copy of what it was made of, or NULL, and .. */
    ls__plan *plan;      /* .. NULL: a function of the user's computes it */
    int inputs;
    ls__input *input;
    int metrics;         /* of ls_sums.metric that may be in use */
    ls__params params;
    float *value;        /* all parameters, in the layout of params */
    ls__weights weights; /* the same by their declared numbers, and packed */
} ls__model;

/* Options for making a model of a graph. */
typedef struct ls__model_options {
    ls__purpose purpose;
    const char *backend; /* borrowed for the call; NULL: the best here */
    ls_precision precision;
    const bool *frozen;  /* [param of the graph] likewise; NULL: none is */
} ls__model_options;

/* Lay out a graph, which may be freed afterwards.  The memory for parameters
 * is not touched: ls__seeds_sow or a file fills it.  Fails with the graph's
 * first error if it has one.  The model is closed either way. */
int ls__model_open(ls__model *m, const ls_graph *graph,
                   const ls__model_options *options);

/* Open a model that a function of the user's computes, as ls__model_open
 * does. */
int ls__model_open_own(ls__model *m, const ls_gradient *gradient);

/* Accepts a cleared model, and one that failed to open. */
void ls__model_close(ls__model *m);

/* The input of that name; NULL with LS_ENOTFOUND's message. */
const ls__input *ls__model_input(const ls__model *m, const char *name);

#endif

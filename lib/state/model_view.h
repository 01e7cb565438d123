/* SPDX-License-Identifier: BSD-3-Clause */
/* A model in memory as those see it who write it down: its graph, and where its
 * parameters are. */
#ifndef LS_STATE_MODEL_VIEW_H
#define LS_STATE_MODEL_VIEW_H

#include "model/params.h"
#include <lockstep/predictor.h>

typedef struct ls__model_view {
    const ls__params *layout;
    const float *value;         /* all parameters, in that layout */
    const ls_graph *graph;      /* NULL: a gradient function of the user's */
    const char *axes;           /* in files (weights/file_axes.h); or NULL */
    ls_predictor *predictor;    /* the owner until it is closed; or NULL */
    struct ls__snapshot *taken; /* the weights that it had */
} ls__model_view;

/* A trainer's parameters, as they are at any time. */
ls__model_view ls__view_of_trainer(const ls_trainer *t);

/* A predictor's, as they are now. */
ls__model_view ls__view_of_predictor(ls_predictor *p);

/* Accepts a cleared one. */
void ls__view_close(ls__model_view *v);

#endif

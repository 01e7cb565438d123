/* SPDX-License-Identifier: BSD-3-Clause */
/* A predictor with weights that the caller fills in. */
#ifndef LS_PREDICT_FILL_H
#define LS_PREDICT_FILL_H

#include "model/params.h"
#include <lockstep/predictor.h>

/* Write all parameters of a graph, in their layout; a status. */
typedef int ls__fill_fn(void *user, const ls_graph *graph,
                        const ls__params *layout, float *value);

/* Open a predictor on a graph, which is copied, with weights from fill. */
int ls__predictor_fill(ls_predictor **predictor, const ls_graph *graph,
                       ls__fill_fn *fill, void *user);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that norms share. */
#ifndef LS_OP_NORM_H
#define LS_OP_NORM_H

#include "graph/graph.h"

/* Declare "scale" and "bias", one each for the last axis: what they learn. */
ls_node *ls__declare_scale_bias(ls_node *n);

/* The default epsilon, added to a variance. */
#define LS__NORM_EPSILON 1e-6

/* Check epsilon and the input, and set the shape: its input's. */
int ls__norm_shape(ls_node *n, double epsilon);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients on several NUMA nodes: each node adds those of its own devices
 * before the tree is completed (mesh/node_sums.h), so that next to nothing
 * crosses the links; and their mean lies where it is made. */
#ifndef LS_TRAIN_NODES_H
#define LS_TRAIN_NODES_H

#include "mesh/node_sums.h"
#include "train/step.h"
#include "train/trainer.h"

typedef struct ls__nodes {
    ls__node_sums sums;
    float **sum; /* [part] the gradient of its first device */
    float *mean; /* each range touched first by who makes it */
} ls__nodes;

/* Set t->nodes where that pays and no hook needs the devices' own gradients in
 * the reduction or later; once there are these. */
int ls__nodes_open(ls_trainer *t, const ls__needs *needs);
void ls__nodes_close(ls_trainer *t);

/* Touch a worker's range of the mean. */
void ls__nodes_touch(const ls_trainer *t, int worker);

/* Each worker adds a range of its node's devices' gradients, unless a device
 * failed; and, in the place of ls__phase_reduce, completes the sums. */
bool ls__phase_node_sums(ls__step *s, int worker);
bool ls__phase_reduce_nodes(ls__step *s, int worker);

#endif

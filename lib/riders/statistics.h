/* SPDX-License-Identifier: BSD-3-Clause */
/* Running averages of what surveys find (graph/op.h): of the statistics by
 * which batch norms train.  Every device goes on with its own, from what is
 * stored, micro-batch after micro-batch of an update; when that is done, the
 * mean of all devices is stored, added in the tree's order. */
#ifndef LS_RIDERS_STATISTICS_H
#define LS_RIDERS_STATISTICS_H

#include "train/rider.h"

extern const ls__rider ls__statistics;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The average of the weights, which is kept with each parameter as its moments
 * are. */
#ifndef LS_RIDERS_AVERAGE_H
#define LS_RIDERS_AVERAGE_H

#include "train/rider.h"

extern const ls__rider ls__average;

#endif

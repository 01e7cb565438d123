/* SPDX-License-Identifier: BSD-3-Clause */
/* The exponential moving average (EMA) of the weights, kept with each parameter
 * as its moments are. */
#ifndef LS_HOOKS_AVERAGE_H
#define LS_HOOKS_AVERAGE_H

#include "train/hook.h"

extern const ls__hook ls__average;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters that are trained otherwise than the rest: a rule for each. */
#ifndef LS_RIDERS_WAYS_H
#define LS_RIDERS_WAYS_H

#include "train/rider.h"

extern const ls__rider ls__ways;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The riders there are, in the order in which a step calls them. */
#ifndef LS_TRAINER_ALL_RIDERS_H
#define LS_TRAINER_ALL_RIDERS_H

#include "train/rider.h"

extern const ls__rider *const ls__all_riders[]; /* up to NULL */

#endif

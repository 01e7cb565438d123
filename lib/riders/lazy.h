/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of tables that stand still in an update because their gradient is zero:
 * ls_optimizer.lazy. */
#ifndef LS_RIDERS_LAZY_H
#define LS_RIDERS_LAZY_H

#include "train/rider.h"

extern const ls__rider ls__lazy;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters that are trained otherwise than the rest: a rule for each. */
#ifndef LS_HOOKS_WAYS_H
#define LS_HOOKS_WAYS_H

#include "train/hook.h"

extern const ls__hook ls__ways;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks there are, in the order in which a step calls them. */
#ifndef LS_TRAINER_ALL_HOOKS_H
#define LS_TRAINER_ALL_HOOKS_H

#include "train/hook.h"

extern const ls__hook *const ls__all_hooks[]; /* up to NULL */

#endif

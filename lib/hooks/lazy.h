/* SPDX-License-Identifier: BSD-3-Clause */
/* Lazy (sparse) updates, ls_optimizer.lazy: rows of tables with a gradient of
 * zero are left as they are. */
#ifndef LS_HOOKS_LAZY_H
#define LS_HOOKS_LAZY_H

#include "train/hook.h"

extern const ls__hook ls__lazy;

#endif

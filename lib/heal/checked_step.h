/* SPDX-License-Identifier: BSD-3-Clause */
/* ls_trainer_options.check: in drawn steps all that a step computes is computed
 * a second time by other workers and compared.  A hook, which gives a drawn
 * step another table of phases. */
#ifndef LS_HEAL_CHECKED_STEP_H
#define LS_HEAL_CHECKED_STEP_H

#include "train/hook.h"

extern const ls__hook ls__check;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of a trainer end with the same status. */
#ifndef LS_TOGETHER_SPREAD_H
#define LS_TOGETHER_SPREAD_H

#include <lockstep/trainer.h>

/* What failed on one rank fails on all: returns the status of the lowest rank
 * that failed, with its message, or 0.  Without ranks: the status itself. */
int ls__spread_agree(const ls_trainer *t, int status);

#endif

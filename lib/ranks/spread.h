/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of a trainer end with the same status. */
#ifndef LS_RANKS_SPREAD_H
#define LS_RANKS_SPREAD_H

#include <lockstep/trainer.h>

/* Fails on all ranks if one failed: returns the status of the lowest such rank,
 * with its message, or 0.  Without ranks: the status itself. */
int ls__spread_agree(const ls_trainer *t, int status);

#endif

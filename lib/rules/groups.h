/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameter groups, trained otherwise than the rest, as the options say. */
#ifndef LS_RULES_GROUPS_H
#define LS_RULES_GROUPS_H

#include "base/memory.h"
#include <lockstep/trainer.h>

/* LS_EINVAL for a group that makes no sense. */
int ls__groups_check(const ls_trainer_options *o);

/* Is a parameter of that name and rank in a group; is it frozen? */
bool ls__group_has(const ls_group *g, const char *name, int rank);
bool ls__groups_freeze(const ls_trainer_options *o, const char *name, int rank);

/* Copy what the options lend. */
int ls__groups_keep(ls_trainer_options *o, ls__arena *arena);

/* The rate of a parameter, as a factor of the trainer's, and its optimizer, by
 * all groups that it is in. */
float ls__groups_rate(const ls_trainer_options *o, const char *name, int rank,
                      ls_optimizer *of);

#endif

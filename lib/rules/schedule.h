/* SPDX-License-Identifier: BSD-3-Clause */
/* The learning rate of each update, as optax's schedules have it. */
#ifndef LS_RULES_SCHEDULE_H
#define LS_RULES_SCHEDULE_H

#include <lockstep/optim.h>
#include "rules/choice.h"

/* Its name and options; NULL for a number that is no kind. */
const ls__choice *ls__schedule_choice(ls_schedule_kind kind);

/* Has it boundaries besides? */
bool ls__schedule_has_boundaries(ls_schedule_kind kind);

/* LS_EINVAL for a value that makes no sense, naming it. */
int ls__schedule_check(const ls_schedule *s);

/* The same of a schedule of factors for a trainer's `name`: no boundaries. */
int ls__share_check(const ls_schedule *s, const char *name);

/* The rate of the update that follows `done` of them; s was checked.  Runs in
 * the mode of base/fpmode.h. */
float ls__schedule_lr(const ls_schedule *s, double peak, int64_t done);

#endif

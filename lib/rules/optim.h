/* SPDX-License-Identifier: BSD-3-Clause */
/* Optimizers as a table of rows: names, moments, options, kernels. */
#ifndef LS_RULES_OPTIM_H
#define LS_RULES_OPTIM_H

#include "kernel/kernel.h"
#include <lockstep/optim.h>
#include "rules/choice.h"

/* Its name and its options besides the learning rate; NULL for a number that is
 * no kind. */
const ls__choice *ls__optim_choice(ls_optimizer_kind kind);

/* The number of moments that the rule keeps (0..3), and the name of each. */
int ls__optim_moments(ls_optimizer_kind kind);
const char *ls__optim_moment_name(ls_optimizer_kind kind, int i);

/* Is lr 0 or more, and finite in the float that a step makes of it? */
static inline bool ls__is_rate(double lr)
{
    return lr >= 0 && (float)lr < __builtin_inff();
}

/* LS_EINVAL for a value that makes no sense, naming it. */
int ls__optim_check(const ls_optimizer *o);

/* Update number n = 1, 2, ... with learning rate lr; o is borrowed as long as
 * the rule is used. */
ls__rule ls__optim_rule(const ls_optimizer *o, float lr, int64_t n);

/* The moments before the first update. */
float ls__optim_start(const ls_optimizer *o);

/* Update n parameters; moments as many as the rule keeps.  With l2 g becomes
 * g + l2 p. */
void ls__optim_update(ls_optimizer_kind kind, const ls__rule *rule, int64_t n,
                      float *g, float *p, float *const moment[3],
                      int64_t offset);

#endif

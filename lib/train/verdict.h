/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices' reports (step.h), judged and put into words.  Every worker may
 * judge for itself: the same reports, the same verdict. */
#ifndef LS_TRAIN_VERDICT_H
#define LS_TRAIN_VERDICT_H

#include "train/step.h"

/* Judge after the gradients: does the step go on? */
ls__verdict ls__verdict_judge(const ls__step *s);

/* The factor of the tree's sum of gradients. */
float ls__verdict_factor(const ls__step *s);

/* Judge after they are reduced: the norm, NaN where nobody asked for it, and
 * whether it or an element of the gradient is not finite. */
float ls__verdict_norm(const ls__step *s);
bool ls__verdict_bad(const ls__step *s, float norm);

/* Judge after the pass; sets the norm where an update has not. */
ls__verdict ls__verdict_of(ls__step *s);

/* Then: loss, metrics and what the step was; the rest is left at 0 or NaN. */
void ls__verdict_result(const ls__step *s, ls_result *result);

/* Then: the status of the verdict.  A failure's names what went wrong: the
 * model runs the batch once more, row by row, to find the row at fault. */
int ls__verdict_fail(ls__step *s);

/* The failure of a user's function, that of the gradient or of an operator, on
 * the first device that reports one; 0: none does. */
int ls__verdict_fail_user(const ls__step *s);

#endif

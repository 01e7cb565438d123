/* The devices' reports on a step (trainer.h), judged and put into words.  Every
 * worker may judge for itself: the same reports, the same verdict. */
#ifndef LS_TRAIN_VERDICT_H
#define LS_TRAIN_VERDICT_H

#include "train/trainer.h"

typedef enum ls__verdict { LS__GOES_ON, LS__NO_WEIGHT, LS__FAILED } ls__verdict;

ls__verdict ls__verdict_judge(const ls_trainer *t);

/* What the tree's sum of gradients is multiplied by. */
float ls__verdict_factor(const ls_trainer *t);

/* After REDUCE: did a worker find an element that is not finite? */
bool ls__verdict_bad(const ls_trainer *t);

/* Loss, metrics and what the step was; the rest is left at 0 or NaN. */
void ls__verdict_result(const ls_trainer *t, ls__verdict verdict,
                        ls_result *result);

/* Name what went wrong.  They run the model once more, row by row, to find the
 * row at fault.  The step of verdict LS__FAILED ... */
int ls__verdict_fail(ls_trainer *t);
/* ... one whose gradient, or the norm of it, is not finite ... */
int ls__verdict_fail_gradient(ls_trainer *t);
/* ... and a user's function, that of the gradient or of an operator, that
 * failed on a device. */
int ls__verdict_fail_user(const ls_trainer *t, int device);

#endif

/* Of which floats there are gradients.  Of a frozen parameter none is computed:
 * the room for it stays zeros that nobody touches, and so takes no memory; and
 * it is not reduced. */
#ifndef LS_TRAIN_TRAINED_H
#define LS_TRAIN_TRAINED_H

#include "train/trainer.h"

/* Once the parameters are laid out, and it is known who watches. */
int ls__trained_open(ls_trainer *t);

/* Go from one run of such floats to the next within a range: *run is the last
 * one, and before the first {within.first, within.first}.  False: there is no
 * other.  A run begins and ends with a block of a reduction, or with the range.
 */
bool ls__trained_next(const ls_trainer *t, ls__range within, ls__range *run);

/* How many floats have gradients, other floats of their blocks included. */
int64_t ls__trained_floats(const ls_trainer *t);

/* Zeros for all parameters or those of this process, of which only what has
 * gradients will be written.  NULL with a message: there is no memory. */
float *ls__trained_block(const ls_trainer *t, int64_t floats, const char *what);

/* Zero a gradient, and so place its pages; or add one to it. */
void ls__trained_zero(const ls_trainer *t, float *gradient);
void ls__trained_add(const ls_trainer *t, const float *more, float *gradient);

#endif

/* Rows of tables that stand still in an update because their gradient is zero:
 * ls_optimizer.lazy. */
#ifndef LS_TRAIN_LAZY_H
#define LS_TRAIN_LAZY_H

#include "train/trainer.h"

typedef struct ls__lazy ls__lazy;

/* Once the parameters are laid out; t->lazy stays NULL where no row may stand
 * still. */
int ls__lazy_open(ls_trainer *t);

/* Look at a range of the reduced gradient, no more than a block: which rows
 * have any that is not zero.  `user` is the step.  Different blocks may be
 * looked at at once. */
void ls__lazy_look(void *user, ls__range block);

/* The same of a range that is known to be zeros: none moves. */
void ls__lazy_rest(const ls__step *s, ls__range block);

/* The next stretch of a range of a slot, within a block, whose rows move;
 * run->last is where to look on, the range's first to begin with.  False: there
 * is none. */
bool ls__lazy_next(const ls_trainer *t, int slot, ls__range range,
                   ls__range *run);

#endif

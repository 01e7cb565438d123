/* Which blocks of the devices' gradients hold anything: from one training step
 * to the next, so that what no row of a batch touched is neither cleared nor
 * reduced nor looked at again. */
#ifndef LS_TRAIN_MARKED_H
#define LS_TRAIN_MARKED_H

#include "train/trainer.h"

typedef struct ls__marked ls__marked;

/* Once the parameters are laid out, and the gradients made; t->marked stays
 * NULL where no operator leaves anything out, or something else might write
 * gradients in between. */
int ls__marked_open(ls_trainer *t);

/* Before a pass and after it.  Marks hold from one training step to the next if
 * nothing else ran in between; where they do not, all is marked. */
void ls__marked_begin(ls__step *s);
void ls__marked_end(ls__step *s);

/* The marks of a device's gradient in this step, NULL: there are none. */
const ls__marks *ls__marked_of(const ls__step *s, int device);

/* Before a block is reduced: is it zeros on all devices?  Then what is noted of
 * it is noted here; otherwise its sum is marked.  `user` is the step. */
bool ls__marked_skips(void *user, ls__range block);

#endif

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

/* Before a block is reduced: is it zeros on all devices, or does its sum wait
 * for the update?  The sum waits if it is certain to be finite and nothing
 * needs it before; the devices' gradients are then read once.  What is noted
 * of zeros is noted here, and other blocks are marked.  `user` is the step. */
bool ls__marked_skips(void *user, ls__range block);

/* The step's gradient from r.first on, as far as r goes, which lies in one
 * block: where it stands, or in `room` if it was skipped. */
float *ls__marked_gradient(const ls__step *s, ls__range r, float *room);

#endif

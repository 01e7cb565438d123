/* LS_CHECK_DIVERGENCE: what a gradient function can get wrong in shared memory,
 * found by calling it more often than a step needs.  For debugging: a step with
 * it takes several times as long, and parameters twice their memory more. */
#ifndef LS_TRAIN_WATCH_H
#define LS_TRAIN_WATCH_H

#include "train/trainer.h"

/* Floats before and after each device's gradient that nobody may write: no
 * other memory stands there when a function goes past the ends. */
enum { LS__GUARD = 64 };

/* What is compared with; one device at a time. */
struct ls__watch {
    float *value;          /* the parameters before the call */
    float *grad;           /* the device's first gradient */
    uint8_t (*digest)[32]; /* [device] of the gradient when called alone */
};

/* Make t->watch if the option or the environment asks for it; before the
 * gradients are. */
int ls__watch_open(ls_trainer *t);
void ls__watch_close(struct ls__watch *watch);

/* The guard before and after each gradient, in floats; 0 without a watch. */
static inline size_t ls__watch_guard(const struct ls__watch *watch)
{
    return watch ? LS__GUARD : 0;
}

/* Before a step, on the caller: call the function twice for one device alone.
 * LS_EUSER names the device and the array it wrote to but should not have, or
 * did not write, or wrote otherwise the second time; parameters are as they
 * were.  A failure of the function itself is left to the step. */
int ls__watch_device(ls_trainer *t, int device, const ls_shard *shard);

/* Within a step, on the device's worker: its gradient is the one it gave
 * alone. */
bool ls__watch_confirm(const ls_trainer *t, int device);

#endif

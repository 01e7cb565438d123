/* SPDX-License-Identifier: BSD-3-Clause */
/* Trained and frozen parameters, and so the floats that have gradients: the one
 * answer that plan, reduction, update and memory go by.  A frozen parameter's
 * gradient is not reduced; its room stays zeros that nobody touches, and so
 * takes no memory. */
#ifndef LS_TRAIN_TRAINED_H
#define LS_TRAIN_TRAINED_H

#include "base/ranges.h"
#include "model/params.h"

/* Room for gradients, and where each parameter's begins in it. */
typedef struct ls__gradients {
    float **device; /* [device here] by the device's worker; when reduced,
                       device[0] by ranges, but for blocks whose sum waits
                       (hook.h) */
    float **param;  /* [device here * params.count + declared] */
    float **later;  /* [worker; device here where devices meet on the way] of
                       the second micro-batch and later ones; NULL when there is
                       but one */
    float **later_param; /* [the same * params.count + declared] */
    size_t guard;   /* floats before and after each device's */
} ls__gradients;

typedef struct ls__trained {
    int64_t floats;   /* of the layout */
    bool *slot;       /* [slot] is it trained? */
    bool *clears;     /* [slot] it is not, but its gradient is computed */
    ls__ranges runs;  /* reduced floats: whole blocks */
} ls__trained;

/* Tell what is trained: neither what is frozen, nor what the plan computes no
 * gradient of, [declared] both, NULL: none. */
int ls__trained_open(ls__trained *t, ls__arena *arena, const ls__params *params,
                     const bool *frozen, const bool *left_out);

/* All floats have gradients that are compared, those of frozen parameters
 * too. */
void ls__trained_all(ls__trained *t);

/* Zeros for all parameters or those of this process; only floats with gradients
 * will be written.  NULL with a message: there is no memory. */
float *ls__trained_block(const ls__trained *t, int64_t floats,
                         const char *what);

/* Zero a gradient, and so place its pages; or add one to it. */
void ls__trained_zero(const ls__trained *t, float *gradient);
void ls__trained_add(const ls__trained *t, const float *more, float *gradient);

/* Zero gradients, grads[declared], that were computed for what is frozen. */
void ls__trained_clear(const ls__trained *t, const ls__params *params,
                       float *const *grads);

#endif

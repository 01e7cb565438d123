/* SPDX-License-Identifier: BSD-3-Clause */
/* Makers of what is no operator's: each makes the element once more, or ends by
 * unknown(). */
#ifndef REFEREE_STEP_H
#define REFEREE_STEP_H

#include "find.h"
#include "numbers.h"

/* Options of updates: a double as a float; 1 - x. */
static inline f32 setting(f64 x) { return f_from(x); }
static inline f32 complement(f64 x) { return f_from(d_sub(D(1.0), x)); }

/* The double that stands there, the high word first; a word of one. */
static inline f64 real_at(place x) { return (f64)word(x) << 32 | word(x + 1); }
static inline f32 word_of(f64 x, int64_t half)
{
    return (f32)(x >> (half ? 0 : 32));
}

/* Operands of an update; moments are changed, and the parameter returned. */
typedef struct update {
    f32 g, lr, p, m[3];
    f32 r1, r2; /* 1 / (1 - b^n) */
    f64 b1, b2, eps, decay, momentum;
    f32 weight_decay; /* times its schedule's share */
} update;

f32 update_by(const char *kind, update *u);

f32 update_makes(void);               /* update.c: what follows a step */
f32 mean_makes(void);    /* mean.c: sums of devices, their mean, its norm */

/* Does a pattern of fnmatch(3) match a name?  `*` is any text, `?` a character,
 * `[a-z]` and `[!a-z]` one of some, `\` the next as it is; behind a "!", or in
 * "!(..)", it matches what the rest does not.  -1: it has more than that
 * (pattern.c). */
int pattern_fits(const char *pattern, const char *name);

/* The loss and the weight of all, as a transcript has them; false: the record
 * does not have all devices. */
struct record;
bool loss_of_step(struct record *r, f32 *loss, f64 *weight);
f32 rate_makes(void);    /* rate.c: learning rates, shares of schedules */
f32 start_makes(void);   /* start.c: first values */
f32 batch_makes(void);   /* batch.c: rows of a device, of the batch */

/* Of operators.c and others. */
f32 operator_makes(void);
f32 sums_make(void);
bool stored_makes(const said *slot, f32 *x);

#endif

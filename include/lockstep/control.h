/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions about a run by a number that is watched, such as the loss of each
 * evaluation: when to end it, and when to go on with a lower learning rate.
 *
 *     ls_early_stop stop = {.patience = 5};
 *     ls_plateau plateau = ls_plateau_defaults();
 *
 *     for (bool end = false; !end; ) {
 *         ...                                         train, evaluate
 *         ls_trainer_set_lr(t, lr * ls_plateau_take(&plateau, r.loss));
 *         end = ls_early_stop_take(&stop, r.loss);
 *         if (stop.since == 0)
 *             ls_trainer_save(t, "best.safetensors");
 *     }
 *
 * Both are plain values without memory of their own: keep a copy of them with a
 * checkpoint, and a run resumes as if nothing had been between.  NaN is never
 * better than another value. */
#ifndef LOCKSTEP_CONTROL_H
#define LOCKSTEP_CONTROL_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ Early stopping ------ */

/* The rule for ending a run.  All members begin as 0 unless they are set. */
typedef struct ls_early_stop {
    int64_t patience; /* The run ends after this many values in a row that
                         are not better; 0: never. */
    double min_delta; /* A value is better by more than this. */
    bool rising;      /* The larger value is better, as of an accuracy; or else
                         the smaller, as of a loss. */
    /* State, which ls_early_stop_take writes: */
    int64_t values;   /* The number of values. */
    int64_t since;    /* The number of values after the best one. */
    double best;      /* The best value; NaN: no value was a number. */
} ls_early_stop;

/* Takes the next value and returns whether it is time to end.  since is 0
 * afterwards where this value is the best so far: then is the moment to keep
 * the weights.  NULL: false. */
LS_API bool ls_early_stop_take(ls_early_stop *stop, double value);

/* ------ A lower learning rate on a plateau ------ */

/* optax.contrib.reduce_on_plateau's rule. */
typedef struct ls_plateau {
    double factor;     /* The rate is multiplied by this on a plateau. */
    int64_t patience;  /* A plateau is this many values in a row that are not
                          better; 0: there is none. */
    double rtol, atol; /* A value is better below (1 - rtol) best - atol, or if
                          rising above (1 + rtol) best + atol. */
    int64_t cooldown;  /* Values after a plateau that are not counted. */
    double min_scale;  /* scale becomes no smaller than this. */
    bool rising;       /* The larger value is better. */
    /* State, which ls_plateau_take writes: */
    int64_t values;    /* The number of values. */
    int64_t since;     /* The number of values in a row that were not better. */
    int64_t rest;      /* The number of values that the cooldown still has. */
    double best;       /* The best value. */
    double scale;      /* The rate is multiplied by this. */
} ls_plateau;

/* Returns one with optax's defaults: factor 0.1, patience 10, rtol 1e-4 and
 * scale 1. */
LS_API ls_plateau ls_plateau_defaults(void);

/* Takes the next value and returns what the learning rate is to be multiplied
 * by from now on.  NULL: 1. */
LS_API double ls_plateau_take(ls_plateau *plateau, double value);

#ifdef __cplusplus
}
#endif

#endif

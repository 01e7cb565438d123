/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of steps (checked_step.c): the parts of a step that are computed again
 * (parts.c), the rounds in which that is done, and what is told of it. */
#ifndef LS_HEAL_HEAL_H
#define LS_HEAL_HEAL_H

#include "heal/votes.h"
#include "reduce/reduce.h"
#include "train/hook.h"
#include "train/trainer.h"
#include <lockstep/random.h>

#include <stdatomic.h>

enum {
    LS__PACKS, LS__SHARDS,
    LS__PARTIALS, /* of ranks: what each sums of its own devices */
    LS__SUMS, LS__CHANGES, LS__PART_KINDS
 };

/* A block of the layout that is checked in this step, and its values before:
 * copies of what the reduction writes over (the first device's gradient, or all
 * partial sums of ranks; all devices' where means are of shards), then of the
 * mean in their place, the parameters and the moments. */
typedef struct ls__kept_block {
    int64_t block;  /* -1: none */
    int64_t at;     /* number of floats owned before it */
    atomic_int owner; /* who updated it, where several did one of them; -1:
                         nobody did; relaxed: barriers order it */
    float *gradient, *value, *moment[LS__MOMENTS];
} ls__kept_block;

/* A worker's knowledge of a part, for itself. */
typedef struct ls__healer {
    _Alignas(64) int round[LS__PART_KINDS];
} ls__healer;

typedef struct ls__heal {
    ls_pool *pool;
    const ls__model *model;
    ls__context **context; /* [worker]; NULL without a plan */
    ls__context **own;     /* [worker] those that no device has */
    struct ls__ranks *ranks; /* NULL: this process is alone */
    ls__owned owned;
    int workers, moments;
    int over[LS__PART_KINDS]; /* arrays that are written over */
    ls__span devices;
    bool all;              /* every block, in every step */
    ls_key key;
    double rate;
    ls__pass pass;         /* of a step that is checked */

    ls__jury jury;
    ls__healer *healer;    /* [worker] */
    ls__ballot *ballot[LS__PART_KINDS]; /* [part] */
    int *slot;             /* [block] of `kept`, or -1 */
    int kept_count;
    ls__kept_block *kept;
    float *room;           /* of the copies */
    int partial_count;
    ls__kept_block *partial; /* of LS__PARTIALS, likewise */
    float *partial_room;

    int tied; /* the status of a part that nobody could decide, or 0 */
    ls_health told;
    char text[2 * LS_TEXT]; /* of the last fault */
} ls__heal;

/* Returns a trainer's; NULL: it has no check. */
ls__heal *ls__heal_of(const ls_trainer *t);

/* The number of parts of a kind in a step, and who computed each first; -1:
 * nobody. */
int ls__part_count(const ls__heal *h, int kind);
int ls__part_owner(const ls__heal *h, const ls__step *s, int kind, int part);

/* Compute a part again, into the memory it is in. */
void ls__part_again(const ls__heal *h, ls__step *s, int kind, int part,
                    int worker);
uint64_t ls__part_digest(const ls__heal *h, const ls__step *s, int kind,
                         int part);

/* Computes a part that no worker could decide, on a thread beside them if it
 * can be had: on the caller, when the rounds of a kind are over. */
void ls__witness(ls__heal *h, ls__step *s, int kind, int part);

/* The part's name in a message. */
void ls__part_name(const ls__heal *h, int kind, int part, char text[LS_TEXT]);

/* Copy what a reduction is about to write over, of a kept block. */
void ls__part_keep_sum(const ls__heal *h, const ls__step *s, int kind,
                       int part);

/* Copy what an update is about to change, where its block is checked. */
void ls__part_keep(const ls__heal *h, const ls__step *s, const ls__patch *p,
                   int worker);

/* The pass of a drawn step: what every step does, and after each part of it the
 * rounds in which others compute that again (rounds.c). */
ls__pass ls__heal_pass(bool ranks);

/* Count after a drawn step, on the caller, and move who was wrong (told.c). */
void ls__told_step(ls__heal *h, const ls__step *s);

/* Nobody knows who is right: the status of the step. */
int ls__told_tie(const ls__heal *h, const ls__step *s, int kind, int part);

/* ls_trainer_options.check: in drawn steps all that a step computes is computed
 * a second time by other workers and compared.  A hook, which gives a drawn
 * step another table of phases. */
extern const ls__hook ls__check;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of ls_trainer_options as rows: name, offset, who must have the
 * same, and written form.  Ranks compare, and checkpoints keep, by walks over
 * these rows; a new member is a row, or test_equal.c fails. */
#ifndef LS_RULES_TRAINER_ROWS_H
#define LS_RULES_TRAINER_ROWS_H

#include "base/fact_list.h"
#include <lockstep/trainer.h>

/* The scope in which a member must be the same. */
typedef enum ls__whose {
    LS__OF_RUN,   /* all ranks, and a run that goes on */
    LS__OF_RANKS, /* all ranks: no bit depends on it, but a refusal does */
    LS__OF_EACH   /* nobody: no bit depends on it, or another fact tells */
} ls__whose;

typedef struct ls__member {
    const char *name;
    size_t at, bytes; /* in ls_trainer_options */
    ls__whose whose;
    /* Add what it is to the facts; NULL: another member's row does. */
    void (*put)(ls__facts *f, const struct ls__member *m,
                const ls_trainer_options *o, ls__whose to);
    const char *const *words; /* of an enum */
} ls__member;

/* All of them, ended by one without a name. */
extern const ls__member ls__trainer_members[];

/* Add what must be the same to the facts.  LS__OF_RUN: as checkpoints have
 * always had it, without what was added later and is 0; LS__OF_RANKS: all. */
void ls__trainer_rows_put(ls__facts *f, const ls_trainer_options *o,
                          ls__whose to);

#endif

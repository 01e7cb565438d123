/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices by name, an optimizer or a schedule, and their options: numbers in
 * the struct that holds the choice.  A row says all that is known of an option;
 * checks, defaults, what must be equal when a run goes on and the tools'
 * options follow from it. */
#ifndef LS_RULES_CHOICE_H
#define LS_RULES_CHOICE_H

#include <lockstep/optim.h>

/* QUIET: a REAL that checkpoints leave out if 0, as older ones lack the option;
 * FLAG: the same of 0 or 1, a bool. */
typedef enum ls__number { LS__REAL, LS__WHOLE, LS__QUIET, LS__FLAG } ls__number;

typedef struct ls__option {
    const char *name;    /* of the member, in messages and in checkpoints */
    size_t at;           /* offset of the member */
    ls__number type;     /* int64_t, bool (FLAG) or double */
    double least, below; /* least <= x < below */
    const char *range;   /* the same in words: "a finite number from 0 up" */
    const char *about;   /* a line of help */
} ls__option;

/* The most options of one choice. */
enum { LS__OPTIONS = 6 };

typedef struct ls__choice {
    const char *what; /* "optimizer" */
    const char *name; /* "adam" */
    struct {
        const ls__option *is; /* NULL: the list ends here */
        double start;         /* the default; NaN: there is none */
    } option[LS__OPTIONS];
} ls__choice;

/* Option i of a choice; NULL past the last. */
const ls__option *ls__choice_option(const ls__choice *c, int i);

double ls__option_get(const ls__option *o, const void *of);

/* Set options of a choice to their defaults; `of` is the struct that holds
 * them. */
void ls__choice_start(const ls__choice *c, void *of);

/* LS_EINVAL for a value out of its range, naming the option. */
int ls__choice_check(const ls__choice *c, const void *of);

/* Set an option by its name.  LS_ENOTFOUND; LS_EINVAL: out of its range. */
int ls__choice_set(const ls__choice *c, void *of, const char *name,
                   double value);

/* Option i as programs see it, in a struct of theirs; false past the last, or
 * where there is no choice. */
bool ls__choice_tell(const ls__choice *c, int i, ls_option *option,
                     size_t size);

#endif

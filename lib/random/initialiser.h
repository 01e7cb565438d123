/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisers that a program chooses (lockstep/initial.h). */
#ifndef LS_RANDOM_INITIALISER_H
#define LS_RANDOM_INITIALISER_H

#include <lockstep/initial.h>

/* LS_EINVAL, naming what makes no sense. */
int ls__initial_check(const ls_init *init);

/* Does it use a unit's inputs and outputs (fans), so two axes? */
bool ls__initial_has_fans(const ls_init *init);

/* A unit's inputs and outputs by a parameter's shape; 0 where it asks for
 * none. */
void ls__initial_fans(const ls_init *init, int rank, const int64_t *shape,
                      double *in, double *out);

/* Fill out, row major, with a parameter's first values: ls__init_values, of
 * LS_INIT_OWN too.  LS_ENOMEM; LS_EUSER; LS_ENONFINITE. */
int ls__initial_fill(const ls_init *init, ls_key key, double fan,
                     const char *name, int rank, const int64_t *shape,
                     float *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisers: those of the layers, and the values that any makes. */
#ifndef LS_RANDOM_INIT_H
#define LS_RANDOM_INIT_H

#include <lockstep/initial.h>

typedef enum ls__init {
    LS__INIT_ZEROS,
    LS__INIT_ONES,
    LS__INIT_SINUSOID,       /* a (T,D) table of positions; no key */
    LS__INIT_NORMAL,         /* normal * sqrt(1 / fan_in); embeddings (V,D)
                                pass fan_in = D */
    LS__INIT_LECUN_NORMAL,   /* truncated normal, variance 1 / fan_in */
    LS__INIT_ORTHOGONAL,     /* all other axes and the last one are a matrix
                                with orthonormal rows or columns, whichever are
                                fewer */
    LS__INITS
} ls__init;

/* The initialiser that it is, LS_INIT_LAYER being the table of positions. */
const ls_init *ls__init_of(ls__init kind);

/* The fan that an initialiser's variance goes by, from a unit's inputs and
 * outputs (a convolution's include its window). */
double ls__init_fan(const ls_init *init, double in, double out);

/* Fill out, row major, with the starting values of an array of that shape: any
 * kind but LS_INIT_OWN, LS_INIT_LAYER being the table of positions.  Kinds
 * without a use for key or fan ignore them.  LS_ENOMEM: for orthogonal. */
int ls__init_values(const ls_init *init, ls_key key, double fan, int rank,
                    const int64_t *shape, float *out);

#endif

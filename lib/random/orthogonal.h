/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of orthonormal rows or columns. */
#ifndef LS_RANDOM_ORTHOGONAL_H
#define LS_RANDOM_ORTHOGONAL_H

#include <lockstep/random.h>

/* jax.nn.initializers.orthogonal: scale times Q of A = Q R, A a normal matrix
 * as high as the larger extent and as wide as the smaller, R with a positive
 * diagonal; its transpose where rows are fewer.  (rows,columns), row major.
 * LS_ENOMEM. */
int ls__fill_orthogonal(ls_key key, int64_t rows, int64_t columns, float scale,
                        float *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* One call: a data-parallel step without opening anything. */
#ifndef LOCKSTEP_ONE_CALL_H
#define LOCKSTEP_ONE_CALL_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One data-parallel step of linear regression, y = x w + b, on a mesh and pool
 * of its own.  w (d_in,d_out) and b start as nnx.Linear(d_in, d_out) of Flax
 * does from the seed.  Each device takes rows / devices rows of x (rows,d_in)
 * and y (rows,d_out); its loss is the mean of (x w + b - y)^2 over them.  The
 * gradients are averaged over the devices and applied by sgd with rate lr.
 * *mean_loss is the mean of the devices' losses before the update.  LS_ESHAPE:
 * the rows do not divide by the devices. */
LS_API int ls_data_parallel_step(int64_t seed, const float *x, const float *y,
                                 int64_t rows, int64_t d_in, int64_t d_out,
                                 int devices, double lr, float *mean_loss);

#ifdef __cplusplus
}
#endif

#endif

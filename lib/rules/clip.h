/* SPDX-License-Identifier: BSD-3-Clause */
/* Clipping by global norm; the norm's bits depend on the gradient alone.
 *
 * The flat array of all parameters (params.h; the padding is zeros) is cut into
 * blocks of 4096.  The worker that reduced a block (reduce/reduce.h) takes its
 * sum of squares in 16 lanes; after the barrier every worker that needs the
 * norm adds the block sums in order.  No bit depends on a worker's range,
 * because ranges are whole blocks. */
#ifndef LS_RULES_CLIP_H
#define LS_RULES_CLIP_H

#include <stdint.h>

/* LS_EINVAL for a limit, of the "norm" or of each "value", that is not 0 or
 * from 2^-126 up to infinity. */
int ls__clip_check(const char *what, double most);

/* sqrt(square[0] + square[1] + ..) */
float ls__clip_norm(int64_t blocks, const float *square);

/* g = (g (1/norm)) most where norm >= most. */
void ls__clip(float norm, float most, int64_t n, float *g);

/* g = min(max(g, -most), most) for a `most` above 0. */
void ls__clip_value(float most, int64_t n, float *g);

#endif

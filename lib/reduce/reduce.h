/* The reduction: one gradient from the devices' private ones.
 *
 * The tree of base/tree.h is the order of the additions; the schedule is by
 * ranges.  Each worker takes a range of the elements and sums all devices for
 * it, so every element is read once and written once, every worker is busy
 * from beginning to end, and the ranges, which do depend on the number of
 * workers, cannot touch a bit. */
#ifndef LS_REDUCE_REDUCE_H
#define LS_REDUCE_REDUCE_H

#include "pool/pool.h"
#include "base/tree.h"

/* out[i] = scale * (buffers[0][i] + buffers[1][i] + .. in tree order) for
 * first <= i < last.  out may be one of the buffers. */
void ls__reduce_range(float *const *buffers, int devices, int64_t first,
                      int64_t last, float scale, float *out);

/* The same for all n elements into buffers[0], on all workers of the pool.
 * REDUCE: range w is written by worker w. */
void ls__reduce(ls_pool *pool, float *const *buffers, int devices, int64_t n,
                float scale);

#endif

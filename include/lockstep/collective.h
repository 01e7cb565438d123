/* SPDX-License-Identifier: BSD-3-Clause */
/* Data parallelism by hand: arrays cut into a shard for each device, a function
 * run on every device, and collectives between them. */
#ifndef LOCKSTEP_COLLECTIVE_H
#define LOCKSTEP_COLLECTIVE_H

#include <lockstep/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ Shardings: which device holds which shard ------ */

/* Batches are cut along one named axis of the mesh, the data axis; devices that
 * differ only along other axes hold the same shard.  A plain value. */
typedef struct ls_sharding {
    char axis[32]; /* the data axis */
    int shards;    /* its size */
    int stride;    /* devices from one to the next along it */
    int devices;   /* of the mesh */
} ls_sharding;

/* Cut along data_axis (NULL: "data").  LS_ENOTFOUND, when the mesh has no such
 * axis, names those it has. */
LS_API int ls_sharding_data_parallel(ls_sharding *sharding,
                                     const ls_mesh *mesh,
                                     const char *data_axis);

/* The shard that a device holds: device / stride % shards; -1 beyond the
 * mesh.  Devices are numbered with the mesh's last axis running fastest. */
LS_API int ls_sharding_shard(const ls_sharding *sharding, int device);

/* ====== Sets of arrays: shards ====== */

/* A set of arrays, cut. */
typedef struct ls_shards ls_shards;

/* Cut arrays of equally many rows, of any rank and type, along the data axis:
 * device d gets rows s R .. s R + R of each, s being its shard and R =
 * ceil(rows / shards).  They are views, not copies (but for shards with
 * padding): the data is borrowed until ls_shards_free.  LS_ESHAPE names an
 * array without rows, with other rows than the first, or with rows that do not
 * divide. */
LS_API int ls_shards_cut(ls_shards **shards, const ls_sharding *sharding,
                         int n_arrays, const ls_array *arrays,
                         ls_uneven uneven);
/* Free the set; the arrays that were cut stay as they are. */
LS_API void ls_shards_free(ls_shards *shards);

/* Returns R, the rows of every shard. */
LS_API int64_t ls_shards_rows(const ls_shards *shards);

/* A device's shard of an array: the array with R rows, and its data at the
 * first of them.  LS_ENOTFOUND: no such name. */
LS_API int ls_shards_get(const ls_shards *shards, const char *name, int device,
                         ls_array *view);

/* Returns a device's R weights: 1 for rows of the batch, 0 for padding.  NULL
 * without LS_UNEVEN_PAD. */
LS_API const float *ls_shards_mask(const ls_shards *shards, int device);

/* ====== A function on every device ====== */

/* in[i] and out[o] point at this device's part of input i and output o; the
 * outputs' parts are the device's own to write.  A negative return is a
 * failure. */
typedef int ls_pmap_fn(void *user, int device, const void *const *in,
                       void *const *out);

/* Call fn once for each device of the mesh, on the worker that runs it, at the
 * same time as other devices.  The leading axis of every array must divide by
 * the P devices (LS_ESHAPE names the array): device d is given the parts
 * d n/P to d n/P + n/P of an axis of length n, that is x[d] when n is P.
 * Outputs are written in place, so that they come out stacked in one array.
 * Every device is run even if one fails: LS_EUSER names the first.  To exchange
 * data call a collective afterwards. */
LS_API int ls_pmap(ls_pool *pool, ls_pmap_fn *fn, void *user, int n_inputs,
                   const ls_array *inputs, int n_outputs,
                   const ls_array *outputs);

/* ====== Collectives ====== */

/* An array on each device of the mesh: where it is read and where the result
 * goes.  A device's own in and out may be the same memory where a comment says
 * so; buffers of different devices, and of different arrays, do not overlap. */
typedef struct ls_buffers {
    const char *name;
    ls_dtype dtype;
    int64_t n;        /* elements of each in */
    void *const *in;  /* [device], each aligned to its elements */
    void *const *out; /* [device]; NULL, where allowed: in place */
} ls_buffers;

/* The result of a reduction over P devices: their sum, or that times 1 / P. */
typedef enum ls_reduction { LS_REDUCE_MEAN = 1, LS_REDUCE_SUM } ls_reduction;

/* Four collectives over sets of arrays, each done by all workers at once, by
 * ranges.  A collective runs separately within each group of devices that
 * differ only along `axis` of the mesh.  NULL: one group of all devices.  P is
 * the number of devices in a group, k the place of one in it.  Sums are added
 * in the order of the tree, s = 1, 2, 4, ...: x[k] += x[k+s] for every k that
 * is a multiple of 2s, and the mean then multiplies once by 1 / P: results do
 * not depend on the workers.  On a failure nothing was written.  LS_EINVAL: no
 * such kind, a sum of other types than LS_F32 and LS_F64, a buffer that is
 * NULL, misaligned, or overlaps another way than allowed; LS_ESHAPE: sizes that
 * do not divide; LS_ENOTFOUND: no such axis. */

/* out[k][i] = mean or sum over j of in[j][i].  out may be in. */
LS_API int ls_all_reduce(ls_pool *pool, const char *axis, ls_reduction kind,
                         int n_arrays, const ls_buffers *arrays);

/* out[k][i] = mean or sum over j of in[j][k n/P + i], i < n/P.  out[k] may be
 * in[k] + k n/P. */
LS_API int ls_reduce_scatter(ls_pool *pool, const char *axis, ls_reduction kind,
                             int n_arrays, const ls_buffers *arrays);

/* out[k][j n + i] = in[j][i]: all of in, one after the other, n P elements.
 * in[k] may be out[k] + k n. */
LS_API int ls_all_gather(ls_pool *pool, const char *axis, int n_arrays,
                         const ls_buffers *arrays);

/* out[k][i] = in[root][i].  out may be in. */
LS_API int ls_broadcast(ls_pool *pool, const char *axis, int root, int n_arrays,
                        const ls_buffers *arrays);

#ifdef __cplusplus
}
#endif

#endif

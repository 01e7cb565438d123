/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives as public calls: an array on each device, combined along one
 * axis of the mesh or over all devices.
 *
 * Devices that differ only along the axis form a group, and every group works
 * for itself.  In shared memory nothing has to travel in rounds: each worker
 * takes one range of each array and does it for the whole group, block by
 * block, so that what is summed once is copied out of the first-level cache.
 * Sums have the order of base/tree.h; ranges cannot touch a bit. */
#include "base/assert.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/range.h"
#include "base/tree.h"
#include "parallel/overlap.h"
#include "pool/call.h"
#include "reduce/sum.h"
#include "loader/named_array.h"
#include <lockstep/collective.h>

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, UNIT = 1024 }; /* elements: at once; borders of ranges */

typedef struct call call;

/* One range of one array of one group, on one worker. */
typedef struct part {
    const call *c;
    const ls_buffers *a;
    int base;      /* the group's first device */
    float **table; /* the worker's own, [group size] */
} part;

typedef struct op {
    const char *name;
    bool sums;        /* over LS_F32 or LS_F64, of a kind */
    bool in_place;    /* out may be NULL, and may be in */
    bool cuts;        /* n divides by the group */
    bool joins;       /* out is as long as all of the group's in */
    int out_at, in_at; /* device k's out, in: so many times k pieces into the
                          other, when both share memory */
    /* Do up to n elements of the result from `first` on; how many were. */
    int64_t (*block)(const part *p, int64_t first, int64_t n);
} op;

struct call {
    const op *op;
    ls_sharding group; /* shards: devices of a group, stride apart */
    ls_reduction kind; /* of ops that sum */
    double scale;
    int root, workers;
    int arrays;
    const ls_buffers *array;
    float **table; /* [worker * group size] */
};

/* ------ where things are ------ */

static int device_of(const part *p, int k)
{
    LS__ASSERT(k >= 0 && k < p->c->group.shards &&
               p->base + k * p->c->group.stride < p->c->group.devices);
    return p->base + k * p->c->group.stride;
}

static void *const *outs(const ls_buffers *a)
{
    return a->out ? a->out : a->in;
}

static char *in(const part *p, int k, int64_t element)
{
    return (char *)p->a->in[device_of(p, k)] +
           element * ls__dtype_size(p->a->dtype);
}

static char *out(const part *p, int k, int64_t element)
{
    return (char *)outs(p->a)[device_of(p, k)] +
           element * ls__dtype_size(p->a->dtype);
}

static void copy(const part *p, char *to, const char *from, int64_t n)
{
    if (to != from)
        memcpy(to, from, (size_t)(n * ls__dtype_size(p->a->dtype)));
}

/* ------ sums ------ */

static void sum_f32(const part *p, int64_t first, int64_t n, float *sum)
{
    for (int k = 0; k < p->c->group.shards; k++)
        p->table[k] = (float *)in(p, k, first);
    ls__sum(p->table, p->c->group.shards, n, (float)p->c->scale, sum);
}

static double tree_f64(const part *p, int64_t i)
{
    double stack[LS__TREE_STACK] = {0};
    int top = 0;

    for (int k = 0; k < p->c->group.shards; k++) {
        stack[top++] = *(const double *)in(p, k, i);
        for (int m = ls__tree_merges(k); m > 0; m--, top--)
            stack[top - 2] += stack[top - 1];
        LS__ASSERT(top < LS__TREE_STACK);
    }
    for (; top > 1; top--)
        stack[top - 2] += stack[top - 1];
    return stack[0];
}

/* n elements of the sum, from `first` on, to where `to` points. */
static void sum(const part *p, int64_t first, int64_t n, char *to)
{
    if (p->a->dtype == LS_F32)
        sum_f32(p, first, n, (float *)to);
    else
        for (int64_t i = 0; i < n; i++)
            ((double *)to)[i] = tree_f64(p, first + i) * p->c->scale;
}

/* ------ the four ------ */

static int64_t all_reduce(const part *p, int64_t first, int64_t n)
{
    sum(p, first, n, out(p, 0, first));
    for (int k = 1; k < p->c->group.shards; k++)
        copy(p, out(p, k, first), out(p, 0, first), n);
    return n;
}

static int64_t reduce_scatter(const part *p, int64_t first, int64_t n)
{
    int64_t piece = p->a->n / p->c->group.shards, k = first / piece;

    n = ls__least(n, (k + 1) * piece - first);
    sum(p, first, n, out(p, (int)k, first - k * piece));
    return n;
}

static int64_t all_gather(const part *p, int64_t first, int64_t n)
{
    int64_t k = first / p->a->n;

    n = ls__least(n, (k + 1) * p->a->n - first);
    for (int j = 0; j < p->c->group.shards; j++)
        copy(p, out(p, j, first), in(p, (int)k, first - k * p->a->n), n);
    return n;
}

static int64_t broadcast(const part *p, int64_t first, int64_t n)
{
    for (int j = 0; j < p->c->group.shards; j++)
        copy(p, out(p, j, first), in(p, p->c->root, first), n);
    return n;
}

static const op op_all_reduce = {
    .name = "all-reduce", .sums = true, .in_place = true, .block = all_reduce,
};
static const op op_reduce_scatter = {
    .name = "reduce-scatter", .sums = true, .cuts = true, .out_at = 1,
    .block = reduce_scatter,
};
static const op op_all_gather = {
    .name = "all-gather", .joins = true, .in_at = 1, .block = all_gather,
};
static const op op_broadcast = {
    .name = "broadcast", .in_place = true, .block = broadcast,
};

/* ------ on the workers ------ */

/* The elements of a group's result. */
static int64_t length(const call *c, const ls_buffers *a)
{
    return c->op->joins ? a->n * c->group.shards : a->n;
}

static void run_group(const part *p, int worker)
{
    ls__range r = ls__range_part((ls__range){0, length(p->c, p->a)},
                                 p->c->workers, worker, UNIT);

    while (r.first < r.last)
        r.first +=
            p->c->op->block(p, r.first, ls__least(r.last - r.first, BLOCK));
}

static void run(void *user, int worker)
{
    const call *c = user;
    const ls_sharding *g = &c->group;
    part p = {.c = c, .table = c->table + worker * g->shards};

    for (int a = 0; a < c->arrays; a++)
        for (int i = 0; i < g->devices / g->shards; i++) {
            p.a = &c->array[a];
            p.base = i / g->stride * g->stride * g->shards + i % g->stride;
            run_group(&p, worker);
        }
}

/* ------ checks ------ */

static int check_type(const call *c, const ls_buffers *a)
{
    int size = ls__dtype_size(a->dtype);
    int64_t bytes;

    if (!size || (c->op->sums && a->dtype != LS_F32 && a->dtype != LS_F64))
        return ls__fail(LS_EINVAL, "%s \"%s\": %s%s", c->op->name, a->name,
                        ls__dtype_name(a->dtype),
                        c->op->sums ? " is not summed, LS_F32 and LS_F64 are"
                                    : " is not known");
    if (a->n < 0 ||
        __builtin_mul_overflow(a->n, size * (int64_t)c->group.shards, &bytes))
        return ls__fail(LS_ESHAPE, "%s \"%s\": %lld elements on each of %d "
                        "devices", c->op->name, a->name, (long long)a->n,
                        c->group.shards);
    if (c->op->cuts && a->n % c->group.shards)
        return ls__fail(LS_ESHAPE, "%s \"%s\": %lld elements do not divide by "
                        "%d devices", c->op->name, a->name, (long long)a->n,
                        c->group.shards);
    return 0;
}

static int check_pointer(const call *c, const ls_buffers *a, int device,
                         const void *p)
{
    int size = ls__dtype_size(a->dtype);

    if (p && (uintptr_t)p % (uintptr_t)size == 0)
        return 0;
    return ls__fail(LS_EINVAL, "%s \"%s\": the buffer of device %d is %s",
                    c->op->name, a->name, device,
                    p ? "not aligned to its elements" : "NULL");
}

/* The bytes that device d reads of array number a, and those it writes. */
static void pieces_of(const call *c, int number, int d, ls__byte_range two[2])
{
    const ls_buffers *a = &c->array[number];
    int64_t size = ls__dtype_size(a->dtype);
    int64_t n_in = a->n * size, n_out = length(c, a) * size;
    uintptr_t from = (uintptr_t)a->in[d], to = (uintptr_t)outs(a)[d];

    if (c->op->cuts)
        n_out /= c->group.shards;
    two[0] = (ls__byte_range){from, from + (uintptr_t)n_in, number, d};
    two[1] = (ls__byte_range){to, to + (uintptr_t)n_out, number, d};
}

/* A device's in and out may share memory only where each element is read
 * before it is written: whole, or as the device's own piece.  Then the one
 * lies within the other. */
static bool may_share(const call *c, const ls__byte_range two[2])
{
    uintptr_t k = (uintptr_t)ls_sharding_shard(&c->group, two[0].device);
    uintptr_t n_in = two[0].last - two[0].first;
    uintptr_t n_out = two[1].last - two[1].first;

    return two[0].first + (uintptr_t)c->op->out_at * k * n_out ==
           two[1].first + (uintptr_t)c->op->in_at * k * n_in;
}

/* Add a device's memory to the list: the larger piece where both share it. */
static int add_pieces(const call *c, int number, int d, ls__byte_range *list)
{
    ls__byte_range two[2];

    pieces_of(c, number, d, two);
    if (may_share(c, two)) {
        *list = c->op->joins ? two[1] : two[0];
        return 1;
    }
    memcpy(list, two, sizeof two);
    return 2;
}

static int overlap(const call *c, const ls__byte_range *a,
                   const ls__byte_range *b)
{
    const char *name = c->array[a->array].name;
    const char *other = c->array[b->array].name;

    if (a->array != b->array)
        return ls__fail(LS_EINVAL, "%s: \"%s\" of device %d and \"%s\" of "
                        "device %d overlap", c->op->name, name, a->device,
                        other, b->device);
    if (a->device != b->device)
        return ls__fail(LS_EINVAL, "%s \"%s\": the buffers of devices %d and "
                        "%d overlap", c->op->name, name,
                        a->device < b->device ? a->device : b->device,
                        a->device < b->device ? b->device : a->device);
    return ls__fail(LS_EINVAL, "%s \"%s\": in and out of device %d overlap",
                    c->op->name, name, a->device);
}

/* All buffers of all arrays and devices at once. */
static int check_overlap(const call *c)
{
    size_t most = 2 * (size_t)c->arrays * (size_t)c->group.devices;
    ls__byte_range *list = ls__new(most, sizeof *list, c->op->name);
    int n = 0, at, status = 0;

    if (!list)
        return LS_ENOMEM;
    for (int a = 0; a < c->arrays; a++)
        for (int d = 0; d < c->group.devices && c->array[a].n; d++)
            n += add_pieces(c, a, d, list + n);
    LS__ASSERT((size_t)n <= most);
    at = ls__pieces_sort(list, n);
    if (at >= 0)
        status = overlap(c, &list[at], &list[at + 1]);
    free(list);
    return status;
}

static int check_array(const call *c, const ls_buffers *a)
{
    int status;

    if (!a->name || !a->in || !(a->out || c->op->in_place))
        return ls__fail(LS_EINVAL, "%s \"%s\": %s is NULL", c->op->name,
                        a->name ? a->name : "",
                        !a->name ? "the name" : !a->in ? "in" : "out");
    if ((status = check_type(c, a)) < 0 || a->n == 0)
        return status;
    for (int d = 0; d < c->group.devices; d++)
        if ((status = check_pointer(c, a, d, a->in[d])) < 0 ||
            (status = check_pointer(c, a, d, outs(a)[d])) < 0)
            return status;
    return 0;
}

static int check_kind(const call *c)
{
    if (!c->op->sums || c->kind == LS_REDUCE_MEAN || c->kind == LS_REDUCE_SUM)
        return 0;
    return ls__fail(LS_EINVAL, "%s: kind %d is unknown; there are "
                    "LS_REDUCE_MEAN (%d) and LS_REDUCE_SUM (%d)", c->op->name,
                    (int)c->kind, (int)LS_REDUCE_MEAN, (int)LS_REDUCE_SUM);
}

/* The devices that work together: those along the axis, or all. */
static int group_of(call *c, const ls_pool *pool, const char *axis)
{
    int devices = ls_pool_devices(pool);

    if (axis)
        return ls_sharding_data_parallel(&c->group, ls__pool_mesh(pool), axis);
    c->group = (ls_sharding){.shards = devices, .stride = 1,
                             .devices = devices};
    return 0;
}

static int check_arrays(const call *c)
{
    if (c->arrays < 0)
        return ls__fail(LS_EINVAL, "%s: %d arrays", c->op->name, c->arrays);
    return 0;
}

static int start(call *c, ls_pool *pool, const char *axis)
{
    int status = check_kind(c);

    if (status == 0)
        status = check_arrays(c);
    if (status == 0)
        status = group_of(c, pool, axis);
    for (int a = 0; a < c->arrays && status == 0; a++)
        status = check_array(c, &c->array[a]);
    if (status == 0)
        status = check_overlap(c);
    if (status < 0)
        return status;
    if (c->root < 0 || c->root >= c->group.shards)
        return ls__fail(LS_EINVAL, "%s: root %d is not one of %d devices",
                        c->op->name, c->root, c->group.shards);
    c->scale = c->kind == LS_REDUCE_MEAN ? 1.0 / c->group.shards : 1.0;
    c->workers = ls_pool_workers(pool);
    c->table = ls__new((size_t)c->workers * (size_t)c->group.shards,
                       sizeof *c->table, c->op->name);
    if (!c->table)
        return LS_ENOMEM;
    status = ls__pool_call(pool, c->op->name, run, c);
    free(c->table);
    return status;
}

/* ------ the public functions ------ */

int ls_all_reduce(ls_pool *pool, const char *axis, ls_reduction kind,
                  int n_arrays, const ls_buffers *arrays)
{
    LS__NEED(pool);
    LS__NEED_AS(arrays || n_arrays <= 0, "arrays", LS_EINVAL);

    call c = {.op = &op_all_reduce, .kind = kind, .arrays = n_arrays,
              .array = arrays};

    return start(&c, pool, axis);
}

int ls_reduce_scatter(ls_pool *pool, const char *axis, ls_reduction kind,
                      int n_arrays, const ls_buffers *arrays)
{
    LS__NEED(pool);
    LS__NEED_AS(arrays || n_arrays <= 0, "arrays", LS_EINVAL);

    call c = {.op = &op_reduce_scatter, .kind = kind, .arrays = n_arrays,
              .array = arrays};

    return start(&c, pool, axis);
}

int ls_all_gather(ls_pool *pool, const char *axis, int n_arrays,
                  const ls_buffers *arrays)
{
    LS__NEED(pool);
    LS__NEED_AS(arrays || n_arrays <= 0, "arrays", LS_EINVAL);

    call c = {.op = &op_all_gather, .arrays = n_arrays, .array = arrays};

    return start(&c, pool, axis);
}

int ls_broadcast(ls_pool *pool, const char *axis, int root, int n_arrays,
                 const ls_buffers *arrays)
{
    LS__NEED(pool);
    LS__NEED_AS(arrays || n_arrays <= 0, "arrays", LS_EINVAL);

    call c = {.op = &op_broadcast, .root = root, .arrays = n_arrays,
              .array = arrays};

    return start(&c, pool, axis);
}

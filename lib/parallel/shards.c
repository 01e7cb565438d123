/* SPDX-License-Identifier: BSD-3-Clause */
/* Sharding of arrays along the data axis: views of equal numbers of contiguous
 * rows.  Nothing is copied but, where rows are padded, those of the shards that
 * the data does not fill: they lie in the array's tail, with zeros after them.
 */
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "loader/named_array.h"
#include <lockstep/collective.h>

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    ls_array array; /* its name is the arena's, its data borrowed */
    int64_t row_bytes;
    char *tail; /* shards from `full` on; NULL: all are filled */
} entry;

struct ls_shards {
    ls__arena arena;
    ls_sharding cut;
    int arrays;
    entry *entry;
    int64_t all;  /* rows of the batch */
    int64_t rows; /* of a shard */
    int64_t full; /* shards that the batch fills */
    float *mask;  /* [shards * rows], NULL: not padded */
};

void ls_shards_free(ls_shards *s)
{
    if (!s)
        return;
    for (int i = 0; s->entry && i < s->arrays; i++)
        ls__block_free(s->entry[i].tail);
    ls__block_free(s->mask);
    ls__arena_free(&s->arena);
    free(s);
}

/* ------ making ------ */

static const entry *find(const ls_shards *s, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(s->entry[i].array.name, name))
            return &s->entry[i];
    return NULL;
}

static int add_array(ls_shards *s, int i, const ls_array *array)
{
    entry *e = &s->entry[i];
    int64_t rows = ls__array_rows(array, &e->row_bytes);

    if (rows < 0)
        return (int)rows;
    if (i && rows != s->all)
        return ls__fail(LS_ESHAPE, "array \"%s\" has %lld rows, \"%s\" has "
                        "%lld", array->name, (long long)rows,
                        s->entry[0].array.name, (long long)s->all);
    if (find(s, i, array->name))
        return ls__fail(LS_EINVAL, "array \"%s\" stands there twice",
                        array->name);
    e->array = *array;
    e->array.name = ls__arena_text(&s->arena, array->name);
    s->all = rows;
    return e->array.name ? 0 : LS_ENOMEM;
}

/* The rows of every shard, decided by the first array: the others agree. */
static int cut_rows(ls_shards *s, ls_uneven uneven)
{
    int shards = s->cut.shards;

    if (s->all % shards && uneven != LS_UNEVEN_PAD)
        return ls__fail(LS_ESHAPE, "array \"%s\": %lld rows do not divide by "
                        "the %d devices along \"%s\"", s->entry[0].array.name,
                        (long long)s->all, shards, s->cut.axis);
    s->rows = s->all / shards + (s->all % shards != 0);
    s->full = s->all / s->rows;
    LS__ASSERT(s->full <= shards && s->rows * shards >= s->all);
    return 0;
}

static int copy_tail(const ls_shards *s, entry *e)
{
    int64_t done = s->full * s->rows;
    size_t bytes;

    if (s->full == s->cut.shards)
        return 0;
    if (!ls__mul((size_t)((s->cut.shards - s->full) * s->rows),
                 (size_t)e->row_bytes, &bytes))
        return ls__no_memory(e->array.name, SIZE_MAX);
    if (!(e->tail = ls__block_zero(bytes, e->array.name)))
        return LS_ENOMEM;
    memcpy(e->tail, (const char *)e->array.data + done * e->row_bytes,
           (size_t)((s->all - done) * e->row_bytes));
    return 0;
}

static int make_mask(ls_shards *s)
{
    size_t n = (size_t)(s->rows * s->cut.shards);

    if (!(s->mask = ls__block_zero(n * sizeof *s->mask, "mask")))
        return LS_ENOMEM;
    for (int64_t i = 0; i < s->all; i++)
        s->mask[i] = 1;
    return 0;
}

static int make(ls_shards *s, const ls_array *array, ls_uneven uneven)
{
    int status = 0;

    s->entry = ls__arena_new(&s->arena, (size_t)s->arrays, sizeof *s->entry);
    if (!s->entry)
        return LS_ENOMEM;
    for (int i = 0; i < s->arrays && status == 0; i++)
        status = add_array(s, i, &array[i]);
    if (status == 0)
        status = cut_rows(s, uneven);
    for (int i = 0; i < s->arrays && status == 0; i++)
        status = copy_tail(s, &s->entry[i]);
    return status < 0 || uneven != LS_UNEVEN_PAD ? status : make_mask(s);
}

int ls_shards_cut(ls_shards **shards, const ls_sharding *sharding,
                  int n_arrays, const ls_array *arrays, ls_uneven uneven)
{
    LS__NEED(shards);
    LS__NEED(sharding);
    LS__NEED_AS(arrays || n_arrays <= 0, "arrays", LS_EINVAL);

    ls_shards *s;
    int status;

    if (n_arrays < 1 || sharding->shards < 1 || sharding->stride < 1)
        return ls__fail(LS_EINVAL, "%d arrays over %d devices: there is "
                        "nothing to cut", n_arrays, sharding->shards);
    if (!(s = ls__new(1, sizeof *s, "shards")))
        return LS_ENOMEM;
    s->cut = *sharding;
    s->arrays = n_arrays;
    status = make(s, arrays, uneven);
    if (status < 0)
        ls_shards_free(s);
    else
        *shards = s;
    return status;
}

/* ------ looking ------ */

int64_t ls_shards_rows(const ls_shards *s)
{
    LS__NEED_AS(s, "shards", 0);
    return s->rows;
}

static int check_device(const ls_shards *s, int device, int *shard)
{
    *shard = ls_sharding_shard(&s->cut, device);
    if (*shard < 0)
        return ls__fail(LS_EINVAL, "device %d is not one of the mesh's %d",
                        device, s->cut.devices);
    return 0;
}

int ls_shards_get(const ls_shards *s, const char *name, int device,
                  ls_array *view)
{
    LS__NEED_AS(s, "shards", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(view);

    const entry *e = find(s, s->arrays, name);
    int shard, status = check_device(s, device, &shard);
    int64_t at;

    if (status < 0)
        return status;
    if (!e)
        return ls__fail(LS_ENOTFOUND, "no array is named \"%s\"; the first is "
                        "\"%s\"", name, s->entry[0].array.name);
    at = (shard < s->full ? shard : shard - s->full) * s->rows * e->row_bytes;
    *view = e->array;
    view->shape[0] = s->rows;
    view->data = (shard < s->full ? (char *)e->array.data : e->tail) + at;
    return 0;
}

const float *ls_shards_mask(const ls_shards *s, int device)
{
    LS__NEED_AS(s, "shards", NULL);

    int shard = ls_sharding_shard(&s->cut, device);

    return s->mask && shard >= 0 ? s->mask + shard * s->rows : NULL;
}

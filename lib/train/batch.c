/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches: borrowed arrays, checked when they are set, cut into shards of
 * ceil(rows / shards) rows: where rows do not divide, the last ones have less
 * or none.  That is a batch filled up with rows of weight 0, to the bit, but
 * nobody computes these. */
#include "base/assert.h"
#include "base/least.h"
#include "train/batch.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ------ whose trainer may be gone ------ */

/* Shared by a trainer and its batches; the last one frees it. */
typedef struct ls__life {
    atomic_int users;
    atomic_bool over;
} ls__life;

int ls__life_begin(ls_trainer *t)
{
    if (!(t->life = ls__new(1, sizeof *t->life, "trainer")))
        return LS_ENOMEM;
    atomic_init(&t->life->users, 1);
    atomic_init(&t->life->over, false);
    return 0;
}

static void drop(ls__life *life)
{
    if (atomic_fetch_sub(&life->users, 1) == 1)
        free(life);
}

void ls__life_end(ls_trainer *t)
{
    if (!t->life)
        return;
    atomic_store(&t->life->over, true);
    drop(t->life);
}

static int check_life(const ls_batch *b)
{
    return atomic_load(&b->life->over)
               ? ls__fail(LS_EINVAL, "the batch's trainer is closed")
               : 0;
}

/* ------ opening and setting ------ */

int ls_batch_open(ls_batch **batch, const ls_trainer *t)
{
    LS__NEED(batch);
    LS__NEED_AS(t, "trainer", LS_EINVAL);

    ls_batch *b = ls__new(1, sizeof *b, "batch");
    size_t n = (size_t)t->model.inputs;

    if (!b)
        return LS_ENOMEM;
    b->trainer = t;
    b->inputs = t->model.inputs;
    b->ways = t->row_ways;
    b->life = t->life;
    atomic_fetch_add(&b->life->users, 1);
    b->rows = ls__new(n, sizeof *b->rows, "batch");
    b->shard_data = ls__new(n * (size_t)ls__trainer_shards(t),
                            sizeof *b->shard_data, "batch");
    if (!b->rows || !b->shard_data ||
        (b->ways && b->ways->open(b) < 0)) {
        ls_batch_close(b);
        return LS_ENOMEM;
    }
    *batch = b;
    return 0;
}

void ls_batch_close(ls_batch *b)
{
    if (!b)
        return;
    if (b->ways)
        b->ways->close(b);
    free(b->rows);
    free(b->shard_data);
    drop(b->life);
    free(b);
}

static int check_rows(const ls_trainer *t, const char *what, int64_t rows)
{
    if (rows < 1)
        return ls__fail(LS_EINVAL, "%s: a batch of %lld rows is empty", what,
                        (long long)rows);
    if (!t->options.even_rows || rows % ls__trainer_shards(t) == 0)
        return 0;
    if (t->micro == 1)
        return ls__fail(LS_ESHAPE, "%s: %lld row%s not divide by %d devices",
                        what, (long long)rows, rows == 1 ? " does" : "s do",
                        t->devices.of);
    return ls__fail(LS_ESHAPE, "%s: %lld row%s not divide by %d device%s x "
                    "%d micro-batches", what, (long long)rows,
                    rows == 1 ? " does" : "s do", t->devices.of,
                    ls__s(t->devices.of), t->micro);
}

void ls__batch_place(ls_batch *b, int64_t input, int64_t shard,
                     const void *data)
{
    LS__ASSERT(input >= 0 && input <= b->inputs && shard >= 0 &&
               shard < ls__trainer_shards(b->trainer));
    if (input < b->inputs)
        b->shard_data[shard * b->inputs + input] = data;
    else
        b->cut[shard].weights = data;
}

/* Rows of a shard, of `all` rows in a batch. */
static int64_t shard_rows(const ls_trainer *t, int64_t all)
{
    int64_t shards = ls__trainer_shards(t);

    return all / shards + (all % shards != 0);
}

/* Points each shard at its rows of an input. */
static void cut(ls_batch *b, int64_t i, const char *data, int64_t rows)
{
    const ls_trainer *t = b->trainer;
    int64_t each = shard_rows(t, rows);
    int64_t bytes = 4 * t->model.input[i].size; /* both dtypes have four */

    for (int64_t s = 0, n = ls__trainer_shards(t); s < n; s++)
        b->shard_data[s * t->model.inputs + i] =
            data + bytes * ls__least(s * each, rows);
}

/* Whatever is wrong with this rank's local rows, the others hear of it; a rank
 * that has none may have no memory for them either. */
static int set_own(ls_batch *b, const ls__input *in, const char *name,
                   ls_dtype dtype, int64_t n, const void *data, int64_t rows)
{
    int64_t i = in ? in - b->trainer->model.input : 0;
    int status = LS_ENOTFOUND;

    if (in)
        status = rows < 0 ? check_rows(b->trainer, name, rows)
                          : ls__input_check(in, dtype, n, rows ? data : "",
                                            rows);
    return b->ways->set(b, i, name, rows ? data : "",
                        status < 0 ? status : rows, in ? 4 * in->size : 0,
                        &b->rows[i]);
}

static int set(ls_batch *b, const char *name, ls_dtype dtype, int64_t n,
               const void *data, int64_t rows)
{
    const ls_trainer *t = b->trainer;
    const ls__input *in;
    int64_t i;
    int status = check_life(b);

    if (status < 0)
        return status;
    in = ls__model_input(&t->model, name);
    if (b->ways)
        return set_own(b, in, name, dtype, n, data, rows);
    if (!in)
        return LS_ENOTFOUND;
    i = in - t->model.input;
    if ((status = check_rows(t, name, rows)) < 0 ||
        (status = ls__input_check(in, dtype, n, data, rows)) < 0)
        return status;
    b->rows[i] = rows;
    cut(b, i, data, rows);
    return 0;
}

int ls_batch_set(ls_batch *b, const char *name, ls_dtype dtype,
                 const void *data, int64_t rows)
{
    LS__NEED_AS(b, "batch", LS_EINVAL);
    LS__NEED_AS(name, "input", LS_EINVAL);
    if (!b->ways)
        LS__NEED(data);
    return set(b, name, dtype, INT64_MAX, data, rows);
}

int ls_batch_set_view(ls_batch *b, const char *name, ls_dtype dtype, int64_t n,
                      const void *data, int64_t rows)
{
    LS__NEED_AS(b, "batch", LS_EINVAL);
    LS__NEED_AS(name, "input", LS_EINVAL);
    if (!b->ways)
        LS__NEED(data);
    return set(b, name, dtype, n, data, rows);
}

static int check_weights(const float *weights, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (!(weights[i] >= 0 && weights[i] - weights[i] == 0))
            return ls__fail(LS_ERANGE, "weights: row %lld has %g; a weight is "
                            "finite and not negative", (long long)i,
                            (double)weights[i]);
    return 0;
}

/* Set weights of the rank's local rows: all ranks give weights, or none. */
static int set_own_weights(ls_batch *b, const float *weights, int64_t rows)
{
    const ls_trainer *t = b->trainer;
    int status = 0;

    if (weights)
        status = rows < 0 ? check_rows(t, "weights", rows)
                          : check_weights(weights, rows);
    for (int64_t s = 0; s < ls__trainer_shards(t); s++)
        b->cut[s].weights = NULL;
    b->weights = NULL;
    b->weight_rows = 0;
    if (!weights)
        return 0;
    status = b->ways->set(b, b->inputs, "weights", weights,
                              status < 0 ? status : rows, 4, &b->weight_rows);
    if (status == 0)
        b->weights = weights;
    return status;
}

int ls_batch_set_weights(ls_batch *b, const float *weights, int64_t rows)
{
    LS__NEED_AS(b, "batch", LS_EINVAL);

    int status = check_life(b);

    if (status == 0 && b->own)
        return set_own_weights(b, weights, rows);
    if (status == 0 && weights)
        status = check_rows(b->trainer, "weights", rows);
    if (status == 0 && weights)
        status = check_weights(weights, rows);
    if (status < 0)
        return status;
    b->weights = weights;
    b->weight_rows = weights ? rows : 0;
    return 0;
}

/* The first input that matters; the number of inputs when none does. */
static int first_read(const ls_trainer *t, const bool *reads)
{
    int i = 0;

    while (i < t->model.inputs && reads && !reads[i])
        i++;
    return i;
}

/* Rows of the batch, or a status where an input that matters is not set or has
 * other rows; reads[input]: which do, NULL: all. */
static int64_t rows_read(const ls_batch *b, const bool *reads)
{
    const ls_trainer *t = b->trainer;
    int first = first_read(t, reads);
    int64_t rows = first < t->model.inputs ? b->rows[first] : b->weight_rows;

    for (int i = first; i < t->model.inputs; i++) {
        if (reads && !reads[i])
            continue;
        if (!b->rows[i])
            return ls__fail(LS_EINVAL, "input \"%s\" of the batch is not set",
                            t->model.input[i].name);
        if (b->rows[i] != rows)
            return ls__fail(LS_ESHAPE, "input \"%s\" has %lld row%s, \"%s\" "
                            "has %lld", t->model.input[first].name,
                            (long long)rows,
                            ls__s(rows), t->model.input[i].name,
                            (long long)b->rows[i]);
    }
    if (b->weights && b->weight_rows != rows)
        return ls__fail(LS_ESHAPE, "the batch has %lld row%s, its weights %lld",
                        (long long)rows, ls__s(rows),
                        (long long)b->weight_rows);
    return rows;
}

int ls__step_set_rows(ls__step *s, const bool *reads)
{
    int64_t all;

    if (!s->batch || s->batch->life != s->trainer->life)
        return ls__fail(LS_EINVAL, "the batch belongs to another trainer");
    if ((all = rows_read(s->batch, reads)) < 0)
        return (int)all;
    s->all = all;
    s->rows = s->batch->cut ? s->batch->most : shard_rows(s->trainer, all);
    return 0;
}

ls_shard ls__step_shard(const ls__step *s, int device, int micro)
{
    const ls_trainer *t = s->trainer;
    const ls_batch *b = s->batch;
    int of_all = t->devices.first + device;
    int64_t i = (int64_t)micro * t->devices.of + of_all;
    int64_t first = ls__least(i * s->rows, s->all);
    ls__shard_rows mine = {first, ls__least(s->rows, s->all - first),
                           b->weights ? b->weights + first : NULL};

    LS__ASSERT(micro >= 0 && micro < t->micro && device >= 0 &&
               device < t->devices.count);
    if (b->cut)
        mine = b->cut[i];
    LS__ASSERT(mine.rows >= 0 && mine.rows <= s->rows &&
               mine.first + mine.rows <= s->all);
    return (ls_shard){.first = mine.first,
                      .rows = mine.rows,
                      .train = s->pass->train,
                      .drop = s->drop,
                      .call = t->step * s->calls + s->before + micro,
                      .row = of_all * s->rows,
                      .data = b->shard_data + i * t->model.inputs,
                      .weights = mine.weights};
}

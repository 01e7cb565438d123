/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches from a source.
 *
 * A batch is a function of the step alone: of the epoch's order (a permutation
 * by the epoch's key) and the place in it.  Two slots hold batches.  One is the
 * caller's, borrowed by the ls_batch it filled last; the other is the thread's,
 * which makes the next step's batch there.  When another step is asked for, the
 * caller makes it itself once the thread is done, so that whoever makes a batch
 * has index, order and epoch to himself, and its bytes never depend on when. */
#define _POSIX_C_SOURCE 200809L
#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/sized.h"
#include "loader/loader_ranks.h"
#include "loader/placing.h"
#include "loader/prefetch.h"
#include "random/permutation.h"
#include "state/over_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* step is that of the batch in it; where all epochs are alike, of the first
 * epoch. */
typedef struct slot {
    int64_t step; /* -1: none, or the source failed */
    int64_t rows, total; /* without and with padding */
    int status;          /* of the source */
    char message[LS__MESSAGE]; /* and its own words, or "" */
    bool weigh;          /* weights count */
    void **out;          /* [arrays], then the weights */
} slot;

struct ls_loader {
    const ls_trainer *trainer; /* whose batches it fills; the thread does not
                                  look at it, for it may be closed first */
    ls__span here;   /* the trainer's devices, */
    int micro;       /* its micro-batches, */
    bool local_rows;   /* and whether ranks have rows of their own */
    ls__arena arena;
    ls_source source;
    int arrays; /* the source's */
    ls_loader_options options;
    int64_t shards;  /* of a batch */
    int64_t batch;   /* rows of a full one */
    int64_t batches; /* of an epoch */
    const char **input; /* [arrays] names */
    int64_t *index;  /* [rows of the largest batch] */
    void **part;     /* [arrays + 1] where some of its rows go */
    int32_t *order;  /* [rows] of the epoch; NULL: as they stand */
    void *scratch;   /* to draw it */
    int64_t epoch;   /* the order's; -1: none */
    slot slot[2];
    int mine;        /* the caller's slot; the thread's is the other */
    bool threaded;
    ls__prefetch thread;
    double seconds;
};

static int64_t round_up(int64_t n, int64_t unit)
{
    LS__ASSERT(n >= 0 && unit > 0);
    return (n + unit - 1) / unit * unit;
}

/* ------ Making a batch ------ */

static void set_order(ls_loader *l, int64_t epoch)
{
    if (!l->order || epoch == l->epoch)
        return;
    l->epoch = -1; /* until it is whole: a fork may come between */
    ls__permutation(ls_key_fold_in(l->options.key, (uint32_t)epoch),
                    l->source.rows, l->order, l->scratch);
    l->epoch = epoch;
}

/* Does a step have other rows in each epoch? */
static bool epochs_differ(const ls_loader *l)
{
    return l->order || l->source.by_epoch;
}

/* Padding repeats the batch's first row. */
static void set_index(ls_loader *l, int64_t first, const slot *s)
{
    int64_t epoch = s->step / l->batches;
    int64_t before = l->source.by_epoch ? epoch * l->source.rows : 0;

    for (int64_t i = 0; i < s->total; i++) {
        int64_t at = first + (i < s->rows ? i : 0);

        l->index[i] = before + (l->order ? l->order[at] : at);
    }
}

static void set_weights(const ls_loader *l, const slot *s)
{
    float *w = s->out[l->arrays];

    for (int64_t i = 0; i < s->total && s->weigh; i++)
        if (i >= s->rows)
            w[i] = 0;
        else if (!l->source.weighted)
            w[i] = 1;
}

static int64_t row_size(const ls_loader *l, int a)
{
    const ls_array_spec *spec = &l->source.arrays[a];

    return a < l->arrays ? ls__count(spec->rank, spec->shape) : 1;
}

/* Rows first .. first+n-1 of the batch. */
static int fill_rows(const ls_loader *l, const slot *s, int64_t first,
                     int64_t n)
{
    for (int a = 0; a <= l->arrays; a++)
        l->part[a] = (float *)s->out[a] + first * row_size(l, a);
    return l->source.fill(l->source.user, n, l->index + first, l->part);
}

/* All rows or, of several ranks that read the same, those of the devices that
 * run here, micro-batch by micro-batch: nobody looks at the others. */
static int fill_own(const ls_loader *l, const slot *s)
{
    ls__span here = l->here;
    int64_t each = round_up(s->total, l->shards) / l->shards;
    int status = 0;

    if (ls__span_is_all(here) || l->local_rows)
        return fill_rows(l, s, 0, s->total);
    for (int m = 0; m < l->micro && status >= 0; m++) {
        int64_t at = ((int64_t)m * here.of + here.first) * each;
        int64_t n = ls__least(here.count * each, s->total - at);

        if (n > 0)
            status = fill_rows(l, s, at, n);
    }
    return status;
}

/* Fill a slot with the batch of its step. */
static void make(ls_loader *l, slot *s)
{
    int64_t first = s->step % l->batches * l->batch;
    int64_t left = l->source.rows - first;

    s->rows = left < l->batch ? left : l->batch;
    s->total = l->options.uneven == LS_UNEVEN_PAD
                   ? round_up(s->rows, l->shards)
                   : s->rows;
    LS__ASSERT(s->rows > 0 && s->total <= round_up(l->batch, l->shards));
    s->weigh = l->source.weighted || s->total > s->rows;
    set_order(l, s->step / l->batches);
    set_index(l, first, s);
    ls__fail(0, "%s", "");
    s->status = fill_own(l, s);
    if (s->status < 0)
        snprintf(s->message, sizeof s->message, "%s", ls_errmsg());
    set_weights(l, s);
}

static void make_next(void *user)
{
    ls_loader *l = user;

    make(l, &l->slot[!l->mine]);
}

/* ------ A step's batch ------ */

/* Steps repeat where epochs are alike. */
static int64_t plain_step(const ls_loader *l, int64_t step)
{
    return epochs_differ(l) ? step : step % l->batches;
}

/* Make the caller's slot that of a step. */
static slot *take(ls_loader *l, int64_t step)
{
    ls__fpmode mode;

    if (l->slot[l->mine].step == step)
        return &l->slot[l->mine];
    if (l->threaded)
        ls__prefetch_wait(&l->thread);
    l->mine = !l->mine;
    if (l->slot[l->mine].step == step)
        return &l->slot[l->mine];
    mode = ls__fpmode_set();
    l->slot[l->mine].step = step;
    make(l, &l->slot[l->mine]);
    ls__fpmode_restore(mode);
    return &l->slot[l->mine];
}

/* Have the thread make a step's batch, unless it lies there or in the slot that
 * is the caller's. */
static void foresee(ls_loader *l, int64_t step)
{
    slot *next = &l->slot[!l->mine];

    if (!l->threaded || l->thread.busy || next->step == step ||
        l->slot[l->mine].step == step)
        return;
    next->step = step;
    ls__prefetch_ask(&l->thread);
}

static int set_batch(const ls_loader *l, const slot *s, ls_batch *batch)
{
    int status = 0;

    for (int a = 0; a < l->arrays && status == 0; a++)
        status = ls_batch_set(batch, l->input[a], l->source.arrays[a].dtype,
                              s->out[a], s->total);
    return status < 0 ? status
                      : ls_batch_set_weights(
                            batch, s->weigh ? s->out[l->arrays] : NULL,
                            s->total);
}

/* Asked again, it is made again. */
static int source_failed(const ls_loader *l, int64_t step, slot *s)
{
    s->step = -1;
    return ls__fail(LS_EUSER, "step %lld: the data source failed with status "
                    "%d on rows %lld on of epoch %lld%s%s", (long long)step,
                    s->status, (long long)(step % l->batches * l->batch),
                    (long long)(step / l->batches), *s->message ? ": " : "",
                    s->message);
}

static int fill(ls_loader *l, int64_t step, ls_batch *batch, int64_t *rows)
{
    slot *s = take(l, plain_step(l, step));
    int status = s->status;

    if (status < 0 && l->local_rows) /* the others hear of it, where they set */
        (void)ls_batch_set(batch, l->input[0], l->source.arrays[0].dtype, NULL,
                           s->total);
    if (status < 0)
        return source_failed(l, step, s);
    status = set_batch(l, s, batch);
    if (status == 0 && rows)
        *rows = s->rows;
    foresee(l, plain_step(l, step + 1));
    return status;
}

int ls_loader_fill(ls_loader *l, int64_t step, ls_batch *batch, int64_t *rows)
{
    LS__NEED_AS(l, "loader", LS_EINVAL);
    LS__NEED(batch);

    double start = ls__seconds();
    int status;

    if (step < 0 || step == INT64_MAX)
        return ls__fail(LS_EINVAL, "step %lld of a loader", (long long)step);
    if (!ls__state_has_batch(l->trainer, batch))
        return ls__fail(LS_EINVAL, "the batch belongs to another trainer than "
                        "the loader");
    status = fill(l, step, batch, rows);
    l->seconds += ls__seconds() - start;
    return status;
}

int64_t ls_loader_batches(const ls_loader *l)
{
    LS__NEED_AS(l, "loader", 0);
    return l->batches;
}

double ls_loader_seconds(const ls_loader *l)
{
    LS__NEED_AS(l, "loader", 0);
    return l->seconds;
}

/* ------ Opening ------ */

LS__DEFAULTS(ls_loader_options, ls_loader_defaults_bytes)

static int check_array(ls_loader *l, const ls_trainer *t, int a)
{
    const ls_array_spec *spec = &l->source.arrays[a];
    int inputs;
    const ls__input *all = ls__state_inputs(t, &inputs), *in = all;
    char have[LS__SHAPE_TEXT], want[LS__SHAPE_TEXT];

    while (in < all + inputs && strcmp(in->name, spec->name))
        in++;
    if (in == all + inputs)
        return ls__fail(LS_ENOTFOUND, "no input is named \"%s\" as the "
                        "source's array; the first is \"%s\"", spec->name,
                        inputs ? all->name : "");
    ls__shape_text(have, spec->rank, spec->shape);
    ls__shape_text(want, in->rank, in->shape);
    if (ls__count(spec->rank, spec->shape) != in->size)
        return ls__fail(LS_ESHAPE, "input \"%s\" takes rows of %s; the source "
                        "has %s", in->name, want, have);
    if (spec->dtype != in->dtype)
        return ls__fail(LS_EINVAL, "input \"%s\" takes %s, which the source's "
                        "array is not", in->name,
                        in->dtype == LS_F32 ? "LS_F32" : "LS_I32");
    for (int b = 0; b < a; b++)
        if (l->input[b] == in->name)
            return ls__fail(LS_EINVAL, "two arrays of the source are named "
                            "\"%s\"", spec->name);
    l->input[a] = in->name;
    return 0;
}

static int check_arrays(ls_loader *l, const ls_trainer *t)
{
    int status = 0;

    if (l->source.rows < 1 || l->arrays < 1 || !l->source.fill)
        return ls__fail(LS_EINVAL, "the source is empty: rows %lld, arrays %d",
                        (long long)l->source.rows, l->source.n_arrays);
    l->input = ls__arena_new(&l->arena, (size_t)l->arrays,
                             sizeof *l->input);
    if (!l->input)
        return LS_ENOMEM;
    for (int a = 0; a < l->arrays && status == 0; a++)
        status = check_array(l, t, a);
    return status;
}

/* Batches that the options, the rows and the shards allow. */
static int plan(ls_loader *l, const ls_trainer *t)
{
    bool pad = l->options.uneven == LS_UNEVEN_PAD;
    int64_t rows = l->source.rows;
    int64_t batch = l->options.batch ? l->options.batch : rows;

    /* Rows of a rank's own are cut by the batch, whatever their number is. */
    l->shards = l->local_rows ? 1 : (int64_t)l->micro * l->here.of;
    if (batch < 1 || (batch > rows && !pad))
        return ls__fail(LS_ESHAPE, "a batch of %lld row%s, of the %lld that "
                        "there %s", (long long)batch, ls__s(batch),
                        (long long)rows, rows == 1 ? "is" : "are");
    if (batch % l->shards && !pad &&
        (l->options.uneven == LS_UNEVEN_ERROR ||
         ls__state_of(t).options->even_rows))
        return ls__fail(LS_ESHAPE, "a batch of %lld row%s does not divide by "
                        "%d device%s x %d micro-batch%s", (long long)batch,
                        ls__s(batch), l->here.of, ls__s(l->here.of), l->micro,
                        l->micro == 1 ? "" : "es");
    l->batch = batch < rows ? batch : rows;
    l->batches = pad ? round_up(rows, l->batch) / l->batch : rows / l->batch;
    return 0;
}

static int make_slot(ls_loader *l, const ls_trainer *t, slot *s)
{
    size_t rows = (size_t)round_up(l->batch, l->shards), n;

    s->step = -1;
    s->out = ls__arena_new(&l->arena, (size_t)l->arrays + 1,
                           sizeof *s->out);
    for (int a = 0; s->out && a <= l->arrays; a++) {
        if (!ls__mul(rows, (size_t)row_size(l, a) * sizeof(float), &n))
            return ls__no_memory("batch", SIZE_MAX);
        if (!(s->out[a] = ls__block(n, "batch")))
            return LS_ENOMEM;
        if (!ls__span_is_all(l->here))
            memset(s->out[a], 0, n); /* other ranks' rows are sound, too */
        else if (!l->local_rows)
            ls__placing_touch(t, s->out[a], n, l->shards);
    }
    return s->out ? 0 : LS_ENOMEM;
}

static int make_order(ls_loader *l)
{
    int64_t rows = l->source.rows;

    l->epoch = -1;
    if (!l->options.shuffle)
        return 0;
    if (rows > INT32_MAX)
        return ls__fail(LS_ENOTSUP, "an order for %lld rows; there may be "
                        "2147483647 at most", (long long)rows);
    l->order = ls__block((size_t)rows * sizeof *l->order, "order of rows");
    l->scratch = ls__block(ls__permutation_scratch(rows), "order of rows");
    return l->order && l->scratch ? 0 : LS_ENOMEM;
}

static int make_room(ls_loader *l, const ls_trainer *t)
{
    int status = make_order(l);

    for (int i = 0; i < 2 && status == 0; i++)
        status = make_slot(l, t, &l->slot[i]);
    if (status < 0)
        return status;
    l->index = ls__new((size_t)round_up(l->batch, l->shards),
                       sizeof *l->index, "rows of a batch");
    l->part = ls__arena_new(&l->arena, (size_t)l->arrays + 1, sizeof *l->part);
    return l->index && l->part ? 0 : LS_ENOMEM;
}

/* Ranks that read other rows would train what nobody asked for. */
static int compare(const ls_loader *l)
{
    ls__rows r = {&l->source, &l->options, l->batch, l->batches, l->index,
                  l->slot[0].out};

    return ls__loader_compare(l->trainer, &r);
}

/* Starts the prefetching thread; a single batch for ever needs none. */
static int start(ls_loader *l, const ls_trainer *t)
{
    int status;

    if (l->options.no_thread || (l->batches == 1 && !epochs_differ(l)))
        return 0;
    status = ls__prefetch_open(&l->thread, t, make_next, l);
    l->threaded = status == 0;
    return status;
}

int ls_loader_open(ls_loader **loader, const ls_trainer *trainer,
                   ls_source *source, const ls_loader_options *options)
{
    LS__NEED(loader);
    LS__NEED(trainer);
    LS__NEED(source);

    const ls__state is = ls__state_of(trainer);
    ls_loader *l = ls__new(1, sizeof *l, "loader");
    int status;

    if (!l)
        return ls__spread_agree(trainer, LS_ENOMEM);
    l->trainer = trainer;
    l->here = is.here;
    l->micro = is.micro;
    l->local_rows = is.local_rows;
    l->source = *source;
    l->arrays = source->n_arrays;
    l->options = ls_loader_defaults();
    status = ls__sized_take("loader", &l->options, sizeof l->options,
                            options);
    if (status == 0)
        status = check_arrays(l, trainer);
    if (status == 0)
        status = plan(l, trainer);
    if (status == 0)
        status = make_room(l, trainer);
    status = ls__spread_agree(trainer, status);
    if (ls__spread_is(trainer) && status == 0)
        status = compare(l);
    if (status == 0)
        status = ls__spread_agree(trainer, start(l, trainer));
    if (status < 0) {
        l->source = (ls_source){0};
        ls_loader_close(l);
        return status;
    }
    *source = (ls_source){0};
    *loader = l;
    return 0;
}

void ls_source_close(ls_source *source)
{
    if (!source)
        return;
    if (source->close)
        source->close(source->user);
    *source = (ls_source){0};
}

void ls_loader_close(ls_loader *l)
{
    if (!l)
        return;
    if (l->threaded)
        ls__prefetch_close(&l->thread);
    for (int i = 0; i < 2; i++)
        for (int a = 0; l->slot[i].out && a <= l->arrays; a++)
            ls__block_free(l->slot[i].out[a]);
    ls_source_close(&l->source);
    ls__block_free(l->order);
    ls__block_free(l->scratch);
    free(l->index);
    ls__arena_free(&l->arena);
    free(l);
}

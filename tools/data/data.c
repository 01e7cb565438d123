/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes batches of rows: the plan, the loaders, and what a step is given. */
#include "data/data.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* All rows there are, or as many of them as divide, where any do. */
static void fit_batch(data *d)
{
    int64_t most = d->pad ? d->rows : d->rows / d->shards * d->shards;

    if (most < 1)
        most = d->rows;
    d->usual = d->batch;
    d->batch = most;
}

/* d->batch, once it is known to fit. */
static int settle_batch(data *d, const data_cut *cut)
{
    bool endless = text_is(&d->text) || d->noise.size;

    d->batch = cut->batch ? cut->batch : d->rows;
    if (!endless && d->batch > d->rows && cut->fits)
        fit_batch(d);
    if (!endless && d->batch > d->rows && d->pad)
        d->batch = d->rows;
    if (!endless && d->batch > d->rows)
        return opt_fail(OPT_WRONG, "a batch of %lld rows is more than the %lld "
                        "row%s there %s", (long long)d->batch,
                        (long long)d->rows, opt_s(d->rows),
                        d->rows == 1 ? "is" : "are");
    return OPT_GO;
}

int data_plan(data *d, const data_cut *cut)
{
    int status;

    d->pad = cut->pad;
    d->shards = (int64_t)cut->devices * cut->micro;
    status = settle_batch(d, cut);
    if (status != OPT_GO)
        return status;
    if (d->noise.size)
        return noise_plan(&d->noise, d->batch, d->shards);
    if (text_is(&d->text)) {
        text_plan(&d->text, d->batch, (int)d->shards);
        return OPT_GO;
    }
    d->batches = (d->pad ? round_up(d->rows, d->batch) : d->rows) / d->batch;
    return d->inputs ? data_collect(d) : OPT_GO;
}

/* Windows of a text; those to evaluate on are read when it is their turn. */
static int open_text(data *d, const ls_trainer *trainer)
{
    ls_source train = text_source(&d->text), held = text_eval_source(&d->text);
    ls_loader_options o = {.size = sizeof o, .batch = d->batch};
    int status;

    o.uneven = d->pad ? LS_UNEVEN_PAD : LS_UNEVEN_CUT;
    o.no_thread = d->no_thread;
    status = ls_loader_open(&d->loader, trainer, &train, &o);
    o.batch = d->text.rows;
    o.no_thread = true;
    if (status == 0 && held.rows)
        status = ls_loader_open(&d->held, trainer, &held, &o);
    return opt_check(status);
}

/* The graph wants the two arrays of mixed images also where it evaluates, and
 * nothing is mixed. */
static int name_mixed(data *d)
{
    ls_augment_options *o = &d->augment, held = ls_augment_defaults();

    if (!(o->mixup > 0))
        return OPT_GO;
    held.other = o->other = "other";
    held.share = o->share = "share";
    return d->evaluation.rows
               ? opt_check(ls_source_augment(&d->evaluation, &held)) : OPT_GO;
}

static int augment(data *d)
{
    ls_augment_options *o = &d->augment;
    int status = name_mixed(d);

    o->channels = d->normal.channels;
    o->mean = d->normal.mean;
    o->std = d->normal.std;
    return status == OPT_GO ? opt_check_usage(ls_source_augment(&d->source, o))
                            : status;
}

int data_open(data *d, const ls_trainer *trainer, const ls_key *order)
{
    ls_loader_options o = {.size = sizeof o, .batch = d->batch,
                           .shuffle = order != NULL};
    int status = 0;

    if (text_is(&d->text))
        return open_text(d, trainer);
    if (!d->source.fill)
        return OPT_GO;
    if (d->augments)
        status = augment(d);
    if (status != OPT_GO)
        return status;
    d->shuffles = order != NULL;
    if (order)
        o.key = d->order = *order;
    o.uneven = d->pad ? LS_UNEVEN_PAD : LS_UNEVEN_CUT;
    if (d->mask.data)
        status = ls_source_weigh(&d->source, d->mask.data, d->rows);
    if (!d->source.by_epoch)
        d->plain = d->source;
    if (status == 0)
        status = ls_loader_open(&d->loader, trainer, &d->source, &o);
    o.shuffle = false;
    o.uneven = LS_UNEVEN_PAD;
    if (status == 0 && d->evaluation.rows)
        status = ls_loader_open(&d->held, trainer, &d->evaluation, &o);
    return opt_check(status);
}

int data_fill(data *d, int64_t step, ls_batch *batch, int64_t *rows)
{
    if (d->loader)
        return opt_check(ls_loader_fill(d->loader, step, batch, rows));
    *rows = d->batch;
    return noise_fill(&d->noise, step, batch);
}

/* LS_F32 and LS_I32 are all that a source gives. */
size_t data_row_bytes(const ls_array_spec *a)
{
    size_t n = 4;

    for (int i = 0; i < a->rank; i++)
        n *= (size_t)a->shape[i];
    return n;
}

int data_read(const ls_source *s, int64_t first, int64_t n, void *const *out)
{
    int64_t index[DATA_CHUNK];

    for (int64_t i = 0; i < n; i++)
        index[i] = first + i;
    return s->fill(s->user, n, index, out);
}

bool data_holds_rows(const data *d)
{
    return d->evaluation.rows || (d->held && !text_is(&d->text));
}

int64_t data_eval_batches(const data *d)
{
    if (text_is(&d->text))
        return text_eval_batches(&d->text);
    return d->held ? ls_loader_batches(d->held) : 0;
}

int data_eval_fill(data *d, int64_t i, ls_batch *batch)
{
    return opt_check(ls_loader_fill(d->held, i, batch, NULL));
}

void data_free(data *d)
{
    ls_loader_close(d->loader);
    ls_loader_close(d->held);
    ls_source_close(&d->source);
    ls_source_close(&d->evaluation);
    ls_source_close(&d->again);
    free(d->labels);
    for (int i = 0; i < d->inputs; i++)
        ls_array_free(&d->input[i].all);
    for (int i = 0; i < DATA_INPUTS; i++) {
        ls_array_free(&d->held_out[i]);
        ls_array_free(&d->fold[i]);
    }
    for (int i = 0; i < DATA_SERIES; i++)
        ls_array_free(&d->series[i]);
    ls_array_free(&d->mask);
    ls_table_data_close(d->table);
    free(d->images);
    normal_free(&d->normal);
    text_free(&d->text);
    noise_free(&d->noise);
    *d = (data){0};
}

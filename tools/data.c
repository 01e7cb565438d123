/* From rows to batches: the plan, the loaders, and what a step is given. */
#include "data.h"
#include "opt.h"

#include <stdio.h>

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int not_divisible(int64_t batch, int devices, int micro)
{
    char text[64] = "";

    if (micro > 1)
        snprintf(text, sizeof text, " x %d micro-batches", micro);
    return opt_fail(OPT_FAILED,
                    "a batch of %lld rows does not divide by %d devices%s; "
                    "--uneven pad would fill it up with rows of weight 0",
                    (long long)batch, devices, text);
}

int data_plan(data *d, int64_t batch, int devices, int micro, bool pad)
{
    bool endless = d->text.bytes != NULL || d->noise.size;

    d->pad = pad;
    d->shards = (int64_t)devices * micro;
    d->batch = batch ? batch : d->rows;
    if (pad && !endless && d->batch > d->rows)
        d->batch = d->rows;
    if (d->batch > d->rows && !endless)
        return opt_fail(OPT_FAILED,
                        "a batch of %lld rows is more than the "
                        "%lld rows there are",
                        (long long)d->batch, (long long)d->rows);
    if (!pad && d->batch % d->shards)
        return not_divisible(d->batch, devices, micro);
    if (d->noise.size)
        return noise_plan(&d->noise, d->batch, d->shards);
    if (d->text.bytes)
        return text_plan(&d->text, d->batch, (int)d->shards);
    d->batches =
        pad ? round_up(d->rows, d->batch) / d->batch : d->rows / d->batch;
    return d->inputs ? data_collect(d) : OPT_GO;
}

int data_open(data *d, const ls_trainer *trainer, const ls_key *order)
{
    ls_loader_options o = {.batch = d->batch, .shuffle = order != NULL};
    int status = 0;

    if (!d->source.fill)
        return OPT_GO;
    if (order)
        o.key = *order;
    o.uneven = d->pad ? LS_UNEVEN_PAD : LS_UNEVEN_ERROR;
    if (d->mask.data)
        status = ls_source_weigh(&d->source, d->mask.data, d->rows);
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
    if (d->noise.size)
        return noise_fill(&d->noise, step, batch);
    return text_fill(&d->text, step, batch);
}

bool data_holds_rows(const data *d)
{
    return d->evaluation.rows || d->held;
}

int64_t data_eval_batches(const data *d)
{
    if (d->text.bytes)
        return text_eval_batches(&d->text);
    return d->held ? ls_loader_batches(d->held) : 0;
}

int data_eval_fill(data *d, int64_t i, ls_batch *batch)
{
    if (d->text.bytes)
        return text_eval_fill(&d->text, i, batch);
    return opt_check(ls_loader_fill(d->held, i, batch, NULL));
}

void data_free(data *d)
{
    ls_loader_close(d->loader);
    ls_loader_close(d->held);
    ls_source_close(&d->source);
    ls_source_close(&d->evaluation);
    for (int i = 0; i < d->inputs; i++)
        ls_array_free(&d->input[i].all);
    ls_array_free(&d->mask);
    text_free(&d->text);
    noise_free(&d->noise);
    *d = (data){0};
}

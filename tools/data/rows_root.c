/* SPDX-License-Identifier: BSD-3-Clause */
/* The root of the rows that a run trains on.
 * Rows that are others in each epoch, and noise, have none. */
#include "data/data.h"
#include "opt/opt.h"

/* The rows, which for a text are its tokens, one a row. */
static ls_source rows_of(const data *d, ls_array_spec *spec)
{
    return text_is(&d->text) ? text_tokens(&d->text, spec) : d->plain;
}

int data_root(const data *d, char root[65])
{
    ls_array_spec spec;
    ls_source rows = rows_of(d, &spec);

    *root = 0;
    return rows.fill ? opt_check(ls_source_root(&rows, root)) : OPT_GO;
}

void data_record(const data *d, ls_source *rows, ls_array_spec *spec,
                 ls_record_options *o)
{
    bool text = text_is(&d->text);

    *rows = rows_of(d, spec);
    if (!rows->fill)
        return;
    o->source = rows;
    o->batch = d->batch;
    o->window = text ? d->text.window : 0;
    o->epoch = text ? 0 : ls_loader_batches(d->loader);
    o->shuffle = !text && d->shuffles;
    o->key = text ? d->text.key : d->order;
}

const char *data_unjudged(const data *d)
{
    return text_is(&d->text) || d->plain.fill ? NULL
           : d->augments                      ? "they are augmented"
                                              : "they are noise";
}

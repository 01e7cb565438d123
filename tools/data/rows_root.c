/* SPDX-License-Identifier: BSD-3-Clause */
/* The root of the rows that a run trains on, and evidence of a word of a batch.
 * Rows that are others in each epoch, and noise, have none. */
#include "data/data.h"
#include "opt/opt.h"

#include <string.h>

/* The rows, which for a text are its bytes, one a row. */
static ls_source rows_of(const data *d, ls_array_spec *spec)
{
    return text_is(&d->text) ? text_bytes(&d->text, spec) : d->plain;
}

int data_root(const data *d, char root[65])
{
    ls_array_spec spec;
    ls_source rows = rows_of(d, &spec);

    *root = 0;
    return rows.fill ? opt_check(ls_source_root(&rows, root)) : OPT_GO;
}

const char *data_unjudged(const data *d)
{
    return text_is(&d->text) || d->plain.fill ? NULL
           : d->augments                      ? "they are augmented"
                                              : "they are noise";
}

int data_evidence(const data *d, const char *name, ls_row_claim *claim,
                  const char *path)
{
    bool text = text_is(&d->text);
    ls_array_spec spec;
    ls_source rows = rows_of(d, &spec);

    claim->array = strcmp(name, "weights of rows") ? -1 : rows.n_arrays;
    for (int a = 0; a < rows.n_arrays; a++)
        if (strcmp(rows.arrays[a].name, name) == 0)
            claim->array = a;
    if (claim->array < 0)
        return opt_fail(OPT_WRONG, "--prove: the data has no array \"%s\"",
                        name);
    claim->batch = d->batch;
    claim->window = text ? d->text.window : 0;
    claim->batches = text ? 0 : ls_loader_batches(d->loader);
    claim->shuffle = !text && d->shuffles;
    claim->key = text ? d->text.key : d->order;
    return opt_check(ls_source_evidence(&rows, claim, path));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at the rows of every rank before they are trained on.  All of them are
 * never read for it: a rank reads what its devices need. */
#include "loader/loader_ranks.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/sha.h"
#include "ranks/agree.h"
#include "state/over_ranks.h"
#include "ranks/local_rows.h"

#include <stdio.h>
#include <string.h>

enum { LOOKS = 64 /* rows */ };

static void put_arrays(ls__facts *f, const ls_source *s)
{
    ls__facts_put(f, "the number of arrays of the data", "%d%s", s->n_arrays,
                  s->weighted ? " with weights" : "");
    for (int a = 0; a < s->n_arrays; a++) {
        const ls_array_spec *spec = &s->arrays[a];
        char text[LS__SHAPE_TEXT];

        ls__shape_text(text, spec->rank, spec->shape);
        ls__facts_put(f, "an array of the data", "\"%s\" %s", spec->name, text);
    }
}

static void put_cut(ls__facts *f, const ls__rows *r)
{
    const ls_loader_options *o = r->options;

    ls__facts_put(f, "the number of rows of the data", "%lld",
                  (long long)r->source->rows);
    ls__facts_put(f, "the number of rows of a batch", "%lld",
                  (long long)r->batch);
    ls__facts_put(f, "what is done about rows that do not divide", "%d",
                  (int)o->uneven);
    if (o->shuffle)
        ls__facts_put(f, "the order of rows", "that of key %08x %08x",
                      o->key.word[0], o->key.word[1]);
    else
        ls__facts_put(f, "the order of rows", "as they stand");
}

static void hash_rows(const ls__rows *r, int64_t n, char hex[65])
{
    const ls_source *s = r->source;
    ls__sha256 sha;

    ls__sha256_init(&sha);
    for (int a = 0; a < s->n_arrays; a++)
        ls__sha256_update(&sha, r->out[a],
                          (size_t)(n * ls__count(s->arrays[a].rank,
                                                 s->arrays[a].shape)) * 4);
    if (s->weighted)
        ls__sha256_update(&sha, r->out[s->n_arrays], (size_t)n * 4);
    ls__sha256_hex(&sha, hex);
}

/* The first row, the last one, and some between. */
static int put_rows(ls__facts *f, const ls__rows *r)
{
    int64_t rows = r->source->rows, n = r->batch < LOOKS ? r->batch : LOOKS;
    char name[48], hex[65];
    int status;

    for (int64_t i = 0; i < n; i++)
        r->index[i] = n > 1 ? i * ((rows - 1) / (n - 1)) : 0;
    LS__ASSERT(n >= 1 && r->index[n - 1] < rows);
    r->index[n - 1] = rows - 1;
    ls__fail(0, "%s", "");
    status = r->source->fill(r->source->user, n, r->index, r->out);
    if (status < 0)
        return ls__fail(LS_EUSER, "the data source failed with status %d on "
                        "rows of all of the data%s%s", status,
                        *ls_errmsg() ? ": " : "", ls_errmsg());
    hash_rows(r, n, hex);
    snprintf(name, sizeof name, "the hash of %d rows of the data",
             (int)n);
    ls__facts_put(f, name, "%.16s", hex);
    return 0;
}

/* Compares loaders of ranks that have local rows. */
static int compare_own(const ls_trainer *t, const ls__rows *r)
{
    ls__facts f = {.count = 0};
    int status;

    put_arrays(&f, r->source);
    status = ls__agree(ls__state_of(t).link, &f);
    ls__facts_free(&f);
    return status < 0 ? status : ls__local_rows_batches(t, r->batches);
}

/* The rows count only where all is as long on all ranks. */
int ls__loader_compare(const ls_trainer *t, const ls__rows *r)
{
    const ls__state is = ls__state_of(t);
    ls__facts f = {.count = 0}, of_rows = {.count = 0};
    int status;

    if (is.local_rows)
        return compare_own(t, r);
    put_cut(&f, r);
    put_arrays(&f, r->source);
    if ((status = ls__agree(is.link, &f)) == 0 &&
        (status = ls__spread_agree(t, put_rows(&of_rows, r))) == 0)
        status = ls__agree(is.link, &of_rows);
    ls__facts_free(&f);
    ls__facts_free(&of_rows);
    return status;
}

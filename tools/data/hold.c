/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that are held back, and weights that make classes even. */
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chooses them as scikit-learn's train_test_split does. */
bool *data_choose(int64_t rows, double share, int64_t seed)
{
    int64_t n = (int64_t)ceil(share * (double)rows);
    int64_t *order = malloc((size_t)rows * sizeof *order);
    bool *held = calloc((size_t)rows, sizeof *held);
    ls_numpy rs;

    if (order && held && n < rows) {
        ls_numpy_seed(&rs, (uint32_t)seed);
        ls_numpy_permutation(&rs, rows, order);
        for (int64_t i = 0; i < n; i++)
            held[order[i]] = true;
        free(order);
        return held;
    }
    if (order && held)
        opt_fail(OPT_WRONG, "--valid: of %lld row%s that leaves none to train "
                 "on", (long long)rows, opt_s(rows));
    else
        opt_no_memory("the rows");
    free(order);
    free(held);
    return NULL;
}

int64_t data_count(const bool *marked, int64_t rows)
{
    int64_t n = 0;

    for (int64_t i = 0; marked && i < rows; i++)
        n += marked[i];
    return n;
}

static size_t row_bytes(const ls_array *t)
{
    size_t bytes = 4;

    for (int i = 1; i < t->rank; i++)
        bytes *= (size_t)t->shape[i];
    return bytes;
}

int data_part(ls_array *t, const bool *held, ls_array *to)
{
    int64_t n = data_count(held, t->shape[0]);
    size_t bytes = row_bytes(t);
    char *from = t->data, *next = t->data, *out = malloc((size_t)n * bytes + 1);

    if (!out)
        return opt_no_memory("the rows");
    *to = *t;
    to->data = out;
    to->shape[0] = n;
    for (int64_t i = 0; i < t->shape[0]; i++, from += bytes) {
        char **at = held[i] ? &out : &next;

        memmove(*at, from, bytes);
        *at += bytes;
    }
    t->shape[0] -= n;
    return OPT_GO;
}

int data_held_source(const data *d, ls_source *source)
{
    ls_array array[DATA_INPUTS] = {0};

    if (d->series[0].data)
        return data_series_held(d, source);
    for (int i = 0; i < d->inputs; i++) {
        array[i] = d->held_out[i];
        array[i].name = d->input[i].name;
    }
    return d->held_out[0].data
               ? opt_check(ls_source_arrays(source, d->inputs, array))
               : OPT_GO;
}

int data_part_rows(data *d, const bool *held, ls_array to[DATA_INPUTS])
{
    int64_t n = data_count(held, d->rows);
    int status = OPT_GO;

    for (int i = 0; i < d->inputs && status == OPT_GO; i++)
        status = data_part(&d->input[i].all, held, &to[i]);
    if (status == OPT_GO)
        d->rows -= n;
    return status;
}

int data_hold_rows(data *d, const bool *held)
{
    int status = data_part_rows(d, held, d->held_out);

    return status == OPT_GO ? data_held_source(d, &d->evaluation) : status;
}

static const int32_t *labels_of(const data *d)
{
    return d->labels ? d->labels : d->input[1].all.data;
}

/* Add up the rows of each class, those of all, and how many classes there are.
 * A label below 0 is none. */
static int count_labels(const data *d, int64_t classes, double *count,
                        double *rows, double *there)
{
    const int32_t *y = labels_of(d);

    for (int64_t i = 0; i < d->rows; i++) {
        if (y[i] >= classes)
            return opt_fail(OPT_WRONG, "--class-weights: row %lld has the "
                            "label %ld, but there are %lld classes",
                            (long long)i, (long)y[i], (long long)classes);
        if (y[i] < 0)
            continue;
        *there += count[y[i]]++ == 0;
        ++*rows;
    }
    return OPT_GO;
}

int data_balance(data *d, int64_t classes)
{
    const int32_t *y = labels_of(d);
    double *count = calloc((size_t)classes, sizeof *count);
    double rows = 0, there = 0;
    float *w = malloc((size_t)d->rows * sizeof *w);
    const float *given = d->mask.data;
    int status = count && w ? count_labels(d, classes, count, &rows, &there)
                            : opt_no_memory("the rows");

    for (int64_t i = 0; status == OPT_GO && i < d->rows; i++)
        w[i] = (float)((y[i] < 0 ? 1 : rows / (there * count[y[i]])) *
                       (double)(given ? given[i] : 1));
    free(count);
    if (status != OPT_GO) {
        free(w);
        return status;
    }
    ls_array_free(&d->mask);
    d->mask = (ls_array){.dtype = LS_F32, .rank = 1, .data = w};
    d->mask.shape[0] = d->rows;
    return OPT_GO;
}

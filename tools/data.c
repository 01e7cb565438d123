/* Data sources, and the cutting of batches.  A batch is a view of the rows it
 * takes; only a padded one is copied. */
#include "data.h"
#include "opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(const char *what)
{
    return opt_fail(OPT_FAILED, "%s: out of memory", what);
}

/* ------ Sources ------ */

static int check_new(const data *d, const ls_tensor *t, const char *from)
{
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return opt_fail(OPT_FAILED, "%s: the data set is empty", from);
    if (d->inputs > 0 && t->shape[0] != d->rows)
        return opt_fail(OPT_FAILED, "%s: %lld rows, but %s has %lld", from,
                        (long long)t->shape[0], d->input[0].name,
                        (long long)d->rows);
    return OPT_GO;
}

/* Take over t as the next input. */
static int add(data *d, const char *name, ls_tensor t, const char *from)
{
    int status = check_new(d, &t, from);

    if (status == OPT_GO) {
        d->rows = t.shape[0];
        d->input[d->inputs++] = (data_input){.name = name, .all = t};
    } else {
        ls_tensor_free(&t);
    }
    return status;
}

int data_load(data *d, const char *name, const char *path, ls_dtype as,
              int rank)
{
    ls_tensor t;

    if (ls_npy_load(&t, path, as) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    if (t.rank != rank) {
        opt_fail(OPT_FAILED, "%s: %d axes, but %s needs %d, rows first", path,
                 t.rank, name, rank);
        ls_tensor_free(&t);
        return OPT_FAILED;
    }
    return add(d, name, t, path);
}

/* An empty (rows,width); both are below 2^31. */
static int new_matrix(ls_tensor *t, ls_dtype dtype, int64_t rows, int64_t width)
{
    *t = (ls_tensor){.dtype = dtype, .rank = 2, .shape = {rows, width}};
    t->data = calloc((size_t)(rows * width), sizeof(float));
    return t->data ? OPT_GO : no_memory("generated data");
}

int data_randn(data *d, const char *name, ls_numpy *rs, int64_t rows,
               int64_t width)
{
    enum { CHUNK = 1024 };
    double chunk[CHUNK];
    ls_tensor t;
    int status = new_matrix(&t, LS_F32, rows, width);

    if (status != OPT_GO)
        return status;
    for (int64_t i = 0; i < rows * width; i += CHUNK) {
        int64_t n = rows * width - i < CHUNK ? rows * width - i : CHUNK;

        ls_numpy_randn(rs, n, chunk);
        for (int64_t j = 0; j < n; j++)
            ((float *)t.data)[i + j] = (float)chunk[j];
    }
    return add(d, name, t, "generated data");
}

int data_randint(data *d, const char *name, ls_numpy *rs, int64_t rows,
                 int64_t width, int64_t high)
{
    ls_tensor t;
    int status = new_matrix(&t, LS_I32, rows, width);

    if (status != OPT_GO)
        return status;
    ls_numpy_randint32(rs, 0, (int32_t)high, rows * width, t.data);
    return add(d, name, t, "generated data");
}

/* ------ Batches ------ */

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static size_t row_bytes(const ls_tensor *t)
{
    size_t bytes = sizeof(float); /* of both types */

    for (int i = 1; i < t->rank; i++)
        bytes *= (size_t)t->shape[i];
    return bytes;
}

int64_t data_max_rows(const data *d)
{
    return d->weights ? round_up(d->batch, d->shards) : d->batch;
}

static int make_padding(data *d)
{
    int64_t rows = round_up(d->batch, d->shards);

    d->weights = calloc((size_t)rows, sizeof *d->weights);
    if (!d->weights)
        return no_memory("padded batch");
    for (int i = 0; i < d->inputs; i++) {
        data_input *in = &d->input[i];

        in->padded = calloc((size_t)rows, row_bytes(&in->all));
        if (!in->padded)
            return no_memory("padded batch");
    }
    return OPT_GO;
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
    d->shards = (int64_t)devices * micro;
    d->batch = batch ? batch : d->rows;
    if (pad && d->batch > d->rows)
        d->batch = d->rows;
    if (d->batch > d->rows)
        return opt_fail(OPT_FAILED,
                        "a batch of %lld rows is more than the "
                        "%lld rows there are",
                        (long long)d->batch, (long long)d->rows);
    if (!pad && d->batch % d->shards)
        return not_divisible(d->batch, devices, micro);
    d->batches =
        pad ? round_up(d->rows, d->batch) / d->batch : d->rows / d->batch;
    return pad ? make_padding(d) : OPT_GO;
}

/* Copy n rows and repeat the first of them up to total. */
static void pad_rows(const data_input *in, const char *from, int64_t n,
                     int64_t total)
{
    size_t bytes = row_bytes(&in->all);
    char *to = in->padded;

    memcpy(to, from, (size_t)n * bytes);
    for (int64_t i = n; i < total; i++)
        memcpy(to + (size_t)i * bytes, from, bytes);
}

/* Rows first .. first+n of an input, as total rows. */
static int set_input(const data_input *in, int64_t first, int64_t n,
                     int64_t total, ls_batch *batch)
{
    const char *from = in->all.data;

    from += (size_t)first * row_bytes(&in->all);
    if (total > n) {
        pad_rows(in, from, n, total);
        from = in->padded;
    }
    return opt_check(ls_batch_set(batch, in->name, in->all.dtype, from, total));
}

static int set_weights(const data *d, int64_t n, int64_t total, ls_batch *batch)
{
    for (int64_t i = 0; total > n && i < total; i++)
        d->weights[i] = i < n ? 1 : 0;
    return opt_check(
        ls_batch_set_weights(batch, total > n ? d->weights : NULL, total));
}

int data_fill(const data *d, int64_t step, ls_batch *batch, int64_t *rows)
{
    int64_t first = step % d->batches * d->batch;
    int64_t n = d->rows - first < d->batch ? d->rows - first : d->batch;
    int64_t total = d->weights ? round_up(n, d->shards) : n;
    int status = OPT_GO;

    for (int i = 0; i < d->inputs && status == OPT_GO; i++)
        status = set_input(&d->input[i], first, n, total, batch);
    if (status == OPT_GO)
        status = set_weights(d, n, total, batch);
    *rows = n;
    return status;
}

void data_free(data *d)
{
    for (int i = 0; i < d->inputs; i++) {
        ls_tensor_free(&d->input[i].all);
        free(d->input[i].padded);
    }
    free(d->weights);
    *d = (data){0};
}

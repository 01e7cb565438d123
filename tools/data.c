/* Data sources, and the cutting of batches.  A batch is a view of the rows it
 * takes; only a padded or shuffled one is copied. */
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

/* Numbers of rs.randn as floats, in chunks: the doubles are the stream. */
static void fill_randn(ls_numpy *rs, int64_t n, float *out)
{
    enum { CHUNK = 1024 };
    double chunk[CHUNK];

    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t part = n - i < CHUNK ? n - i : CHUNK;

        ls_numpy_randn(rs, part, chunk);
        for (int64_t j = 0; j < part; j++)
            out[i + j] = (float)chunk[j];
    }
}

int data_randn(data *d, const char *name, ls_numpy *rs, int64_t rows,
               int64_t width)
{
    ls_tensor t;
    int status = new_matrix(&t, LS_F32, rows, width);

    if (status != OPT_GO)
        return status;
    fill_randn(rs, rows * width, t.data);
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

/* x = centre[label] + 3 noise, which stands in x. */
static void spread(ls_tensor *x, const int32_t *label, const float *centre)
{
    int64_t width = x->shape[1];
    float *row = x->data;

    for (int64_t i = 0; i < x->shape[0]; i++, row += width)
        for (int64_t j = 0; j < width; j++)
            row[j] = centre[label[i] * width + j] + 3 * row[j];
}

int data_classes(data *d, const char *x, const char *labels, ls_numpy *rs,
                 int64_t rows, int64_t width, int64_t classes)
{
    ls_tensor centre = {0}, tx = {0}, ty = {0};
    int status = new_matrix(&centre, LS_F32, classes, width);

    if (status == OPT_GO)
        status = new_matrix(&tx, LS_F32, rows, width);
    if (status == OPT_GO)
        status = new_matrix(&ty, LS_I32, rows, 1);
    if (status == OPT_GO) {
        ty.rank = 1;
        fill_randn(rs, classes * width, centre.data);
        ls_numpy_randint32(rs, 0, (int32_t)classes, rows, ty.data);
        fill_randn(rs, rows * width, tx.data);
        spread(&tx, ty.data, centre.data);
        status = add(d, x, tx, "generated data");
        tx = (ls_tensor){0};
    }
    if (status == OPT_GO) {
        status = add(d, labels, ty, "generated data");
        ty = (ls_tensor){0};
    }
    ls_tensor_free(&centre);
    ls_tensor_free(&tx);
    ls_tensor_free(&ty);
    return status;
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
    if (d->noise.size)
        return d->noise.total;
    return d->weights ? round_up(d->batch, d->shards) : d->batch;
}

/* Room for one batch of each input; once. */
static int make_room(data *d)
{
    int64_t rows = round_up(d->batch, d->shards);

    for (int i = 0; i < d->inputs; i++) {
        data_input *in = &d->input[i];

        if (!in->room)
            in->room = calloc((size_t)rows, row_bytes(&in->all));
        if (!in->room)
            return no_memory("room for a batch");
    }
    return OPT_GO;
}

static int make_padding(data *d)
{
    int64_t rows = round_up(d->batch, d->shards);

    d->weights = calloc((size_t)rows, sizeof *d->weights);
    return d->weights ? make_room(d) : no_memory("padded batch");
}

int data_shuffle(data *d, ls_key key)
{
    d->key = key;
    d->epoch = -1;
    d->order = calloc((size_t)d->rows, sizeof *d->order);
    return d->order ? make_room(d) : no_memory("order of rows");
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
    return pad ? make_padding(d) : OPT_GO;
}

/* Copy rows first .. first+n in the epoch's order, and repeat the first of
 * them up to total. */
static void copy_rows(const data *d, const data_input *in, int64_t first,
                      int64_t n, int64_t total)
{
    size_t bytes = row_bytes(&in->all);
    const char *from = in->all.data;
    char *to = in->room;

    for (int64_t i = 0; i < total; i++) {
        int64_t at = first + (i < n ? i : 0);
        int64_t row = d->order ? d->order[at] : at;

        memcpy(to + (size_t)i * bytes, from + (size_t)row * bytes, bytes);
    }
}

/* Rows first .. first+n of an input, as total rows. */
static int set_input(const data *d, const data_input *in, int64_t first,
                     int64_t n, int64_t total, ls_batch *batch)
{
    const char *from = in->all.data;

    from += (size_t)first * row_bytes(&in->all);
    if (total > n || d->order) {
        copy_rows(d, in, first, n, total);
        from = in->room;
    }
    return opt_check(ls_batch_set(batch, in->name, in->all.dtype, from, total));
}

/* The order of an epoch, where it is not the one there is. */
static int set_order(data *d, int64_t epoch)
{
    if (!d->order || epoch == d->epoch)
        return OPT_GO;
    d->epoch = epoch;
    return opt_check(ls_random_permutation(
        ls_key_fold_in(d->key, (uint32_t)epoch), d->rows, d->order));
}

static int set_weights(const data *d, int64_t n, int64_t total, ls_batch *batch)
{
    for (int64_t i = 0; total > n && i < total; i++)
        d->weights[i] = i < n ? 1 : 0;
    return opt_check(
        ls_batch_set_weights(batch, total > n ? d->weights : NULL, total));
}

static int fill_rows(data *d, int64_t step, ls_batch *batch, int64_t *rows)
{
    int64_t first = step % d->batches * d->batch;
    int64_t n = d->rows - first < d->batch ? d->rows - first : d->batch;
    int64_t total = d->weights ? round_up(n, d->shards) : n;
    int status = set_order(d, step / d->batches);

    for (int i = 0; i < d->inputs && status == OPT_GO; i++)
        status = set_input(d, &d->input[i], first, n, total, batch);
    if (status == OPT_GO)
        status = set_weights(d, n, total, batch);
    *rows = n;
    return status;
}

int data_fill(data *d, int64_t step, ls_batch *batch, int64_t *rows)
{
    *rows = d->batch;
    if (d->noise.size)
        return noise_fill(&d->noise, step, batch);
    if (!d->text.bytes)
        return fill_rows(d, step, batch, rows);
    return text_fill(&d->text, step, batch);
}

void data_free(data *d)
{
    for (int i = 0; i < d->inputs; i++) {
        ls_tensor_free(&d->input[i].all);
        free(d->input[i].room);
    }
    free(d->weights);
    free(d->order);
    text_free(&d->text);
    noise_free(&d->noise);
    *d = (data){0};
}

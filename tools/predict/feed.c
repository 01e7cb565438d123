/* See feed.h. */
#include "predict/feed.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the values of a row, and for the inputs of some. */
static int make_room(feed *f)
{
    const coding *c = f->coding;
    size_t columns = (size_t)c->columns + 1;
    size_t rows = c->window ? (size_t)c->window : 1;
    size_t bytes = rows * (size_t)coding_seen(c) * sizeof *f->x;

    f->map = malloc(columns * sizeof *f->map);
    f->raw = malloc(columns * sizeof *f->raw);
    f->x = calloc(FEED_ROWS, bytes);
    f->last = malloc(bytes);
    return f->map && f->raw && f->x && f->last
               ? OPT_GO
               : opt_fail(OPT_FAILED, "no memory for the input");
}

int feed_table(feed *f, const char *path, const coding *c)
{
    int status;

    *f = (feed){.path = path, .coding = c};
    status = opt_check(ls_table_open(&f->table, path));
    if (status == OPT_GO)
        status = make_room(f);
    return status == OPT_GO ? coding_map(c, f->table, path, c->window > 0,
                                         f->map)
                            : status;
}

/* ------ Arrays ------ */

static void shape_text(int rank, const int64_t *shape, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "(");

    for (int i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "," : "",
                              (long long)shape[i]);
    if (n < size)
        snprintf(text + n, size - n, ")");
}

static int check_shape(feed *f, int rank, const int64_t *want)
{
    const ls_array *x = &f->array;
    size_t bytes = (size_t)rank * sizeof *want;
    char is[128], should[128];

    f->size = 1;
    for (int i = 0; i < rank; i++)
        f->size *= want[i];
    f->rows = x->rank > rank ? x->shape[0] : 1;
    if ((x->rank == rank + 1 && !memcmp(x->shape + 1, want, bytes)) ||
        (x->rank == rank && !memcmp(x->shape, want, bytes)))
        return OPT_GO;
    shape_text(x->rank, x->shape, is, sizeof is);
    shape_text(rank, want, should, sizeof should);
    return opt_fail(OPT_WRONG, "%s: its shape is %s; the model takes rows of "
                    "%s", f->path, is, should);
}

/* An array has no words. */
static int check_numbers(const feed *f)
{
    if (f->coding->window)
        return opt_fail(OPT_WRONG, "%s: the model takes a table, a series",
                        f->path);
    for (int i = 0; i < f->coding->columns; i++)
        if (f->coding->column[i].words.count)
            return opt_fail(OPT_WRONG, "%s: column \"%s\" is of text: the "
                            "model takes a table", f->path,
                            f->coding->column[i].name);
    return OPT_GO;
}

int feed_array(feed *f, const char *path, const ls_array_spec *in,
               const coding *c)
{
    int64_t columns = c ? c->columns : 0;
    int status;

    *f = (feed){.path = path, .coding = c};
    status = c ? check_numbers(f) : OPT_GO;
    if (status == OPT_GO)
        status = opt_check(ls_npy_load(&f->array, path, in->dtype));
    if (status == OPT_GO)
        status = c ? check_shape(f, 1, &columns)
                   : check_shape(f, in->rank, in->shape);
    return status == OPT_GO && c ? make_room(f) : status;
}

/* ------ Images ------ */

/* The model sees (H,W,C), .. */
static int check_pixels(const feed *f, const int64_t *is, const int64_t *want)
{
    int64_t alone[4] = {1, want[0], want[1], want[2]};
    char shape[128], should[128], one[128];

    if (!memcmp(is, want, 3 * sizeof *is))
        return OPT_GO;
    shape_text(3, is, shape, sizeof shape);
    shape_text(3, want, should, sizeof should);
    shape_text(4, alone, one, sizeof one);
    return opt_fail(OPT_WRONG, "%s: images of %s; the model takes %s, and in a "
                    ".npy one alone is %s", f->path, shape, should, one);
}

/* .. or all their numbers in a row. */
static int check_count(const feed *f, const int64_t *is, int64_t want)
{
    char shape[128];

    if (f->size == want)
        return OPT_GO;
    shape_text(3, is, shape, sizeof shape);
    return opt_fail(OPT_WRONG, "%s: images of %s; the model takes those of "
                    "%lld numbers", f->path, shape, (long long)want);
}

static int check_images(feed *f, const ls_array_spec *in)
{
    const int64_t *is = f->images.array[0].shape;
    int64_t want = 1;

    f->size = is[0] * is[1] * is[2];
    for (int i = 0; i < in->rank; i++)
        want *= in->shape[i];
    if (in->dtype != LS_F32)
        return opt_fail(OPT_FAILED, "%s: images; the model takes integers",
                        f->path);
    return in->rank == 3 ? check_pixels(f, is, in->shape)
                         : check_count(f, is, want);
}

int feed_images(feed *f, const char *path, const ls_array_spec *in,
                const normal *n)
{
    ls_images_options o = ls_images_defaults();
    int status;

    *f = (feed){.path = path};
    o.test = o.unlabelled = true;
    o.channels = n->channels;
    o.mean = n->mean;
    o.std = n->std;
    status = opt_check_usage(ls_source_images(&f->images, path, &o));
    if (status == OPT_GO)
        status = check_images(f, in);
    if (status != OPT_GO)
        return status;
    f->rows = f->images.rows;
    f->x = calloc(FEED_ROWS, (size_t)f->size * sizeof *f->x);
    return f->x ? OPT_GO : opt_fail(OPT_FAILED, "no memory for the input");
}

/* ------ Rows ------ */

/* Inputs are finite, as they are in training, or a prediction would be a NaN
 * that nobody asked about. */
static int check_finite(const feed *f, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n * f->size; i++)
        if (!isfinite(x[i]))
            return opt_fail(OPT_FAILED, "%s: row %lld: a number is not finite",
                            f->path, (long long)(f->next + i / f->size));
    return OPT_GO;
}

/* The inputs of a row, finite too.  row: of an array. */
static int code_row(const feed *f, float *x, int64_t row)
{
    coding_inputs(f->coding, f->raw, x);
    for (int64_t i = 0; i < coding_seen(f->coding); i++)
        if (!isfinite(x[i]))
            return opt_fail(OPT_FAILED, "%s: %s %lld: a value is too far from "
                            "those that the model was trained on", f->path,
                            f->table ? "line" : "row",
                            (long long)(f->table ? ls_table_line(f->table)
                                                 : row));
    return OPT_GO;
}

/* The rows of a series move up by one. */
static int add_last(feed *f)
{
    int64_t width = coding_seen(f->coding), rows = f->coding->window;

    memmove(f->last, f->last + width,
            (size_t)((rows - 1) * width) * sizeof *f->last);
    f->seen++;
    return code_row(f, f->last + (rows - 1) * width, 0);
}

/* A row of the table that was read, as row *n of the inputs, if there are
 * enough for a window. */
static int take_row(feed *f, int64_t *n)
{
    const coding *c = f->coding;
    int64_t size = c->window * coding_seen(c);
    int status = c->window ? add_last(f)
                           : code_row(f, f->x + *n * c->width, 0);

    if (status != OPT_GO || f->seen < c->window)
        return status;
    if (c->window)
        memcpy(f->x + *n * size, f->last, (size_t)size * sizeof *f->x);
    ++*n;
    return OPT_GO;
}

/* The end of the table. */
static int check_end(const feed *f)
{
    int64_t window = f->coding->window;

    return f->seen < window
               ? opt_fail(OPT_FAILED, "%s: %lld row%s; the model sees windows "
                          "of %lld", f->path, (long long)f->seen,
                          opt_s(f->seen), (long long)window)
               : OPT_GO;
}

static int next_of_table(feed *f, int64_t *n)
{
    int next = 0, status = OPT_GO;

    for (*n = 0; status == OPT_GO && *n < FEED_ROWS &&
                 (next = ls_table_next(f->table)) > 0;) {
        status = coding_read(f->coding, f->table, f->path, f->map,
                             f->coding->window > 0, f->raw);
        if (status == OPT_GO)
            status = take_row(f, n);
    }
    if (status == OPT_GO && next == 0)
        return check_end(f);
    return next < 0 ? opt_check(next) : status;
}

/* A NaN is a missing value. */
static int check_missing(const feed *f, int64_t row)
{
    for (int k = 0; k < f->coding->columns; k++)
        if (isnan(f->raw[k]) && !f->coding->impute)
            return opt_fail(OPT_FAILED, "%s: row %lld, column \"%s\": the "
                            "value is missing; a model trained with --missing "
                            "mean puts the mean in its place", f->path,
                            (long long)row, f->coding->column[k].name);
    return OPT_GO;
}

static int code_rows(feed *f, const float *from, int64_t n)
{
    int status = OPT_GO;

    for (int64_t i = 0; status == OPT_GO && i < n; i++) {
        for (int k = 0; k < f->coding->columns; k++)
            f->raw[k] = (double)*from++;
        status = check_missing(f, f->next + i);
        if (status == OPT_GO)
            status = code_row(f, f->x + i * f->coding->width, f->next + i);
    }
    return status;
}

static int read_images(feed *f, int64_t n)
{
    int64_t index[FEED_ROWS];
    void *out[] = {f->x};
    int status;

    for (int64_t i = 0; i < n; i++)
        index[i] = f->next + i;
    status = opt_check(f->images.fill(f->images.user, n, index, out));
    return status == OPT_GO ? check_finite(f, f->x, n) : status;
}

static int give_array(const feed *f, const void **x, int64_t n)
{
    *x = (const char *)f->array.data + 4 * f->next * f->size;
    return f->array.dtype == LS_F32 ? check_finite(f, *x, n) : OPT_GO;
}

int feed_next(feed *f, const void **x, int64_t *n)
{
    int64_t left = f->rows - f->next;
    int status = OPT_GO;

    *x = f->x;
    if (f->table)
        return next_of_table(f, n);
    *n = left < FEED_ROWS ? left : FEED_ROWS;
    if (f->images.fill)
        status = read_images(f, *n);
    else if (f->coding)
        status = code_rows(
            f, (const float *)f->array.data + f->next * f->size, *n);
    else
        status = give_array(f, x, *n);
    f->next += *n;
    return status;
}

void feed_close(feed *f)
{
    ls_table_close(f->table);
    ls_source_close(&f->images);
    ls_array_free(&f->array);
    free(f->map);
    free(f->raw);
    free(f->x);
    free(f->last);
    *f = (feed){0};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in memory as the rows to train on: .npy files, and whatever else was
 * made into an array. */
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_new(const data *d, const ls_array *t, const char *from)
{
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return opt_fail(OPT_FAILED, "%s: the data set is empty", from);
    if (d->inputs > 0 && t->shape[0] != d->rows)
        return opt_fail(OPT_FAILED, "%s: %lld row%s, but %s has %lld", from,
                        (long long)t->shape[0], opt_s(t->shape[0]),
                        d->input[0].name,
                        (long long)d->rows);
    return OPT_GO;
}

int data_add(data *d, const char *name, ls_array t, const char *from)
{
    int status = check_new(d, &t, from);

    if (status == OPT_GO) {
        d->rows = t.shape[0];
        d->input[d->inputs++] = (data_input){.name = name, .all = t};
    } else {
        ls_array_free(&t);
    }
    return status;
}

/* A list of floats, as NumPy has a single target, is one column: (N,1). */
static void make_column(ls_array *t, int rank)
{
    if (t->dtype == LS_F32 && t->rank == 1 && rank == 2)
        t->shape[t->rank++] = 1;
}

/* Where a file's name ends, at the ':' of "data.npz:x" and of "net.onnx:n=3";
 * NULL: it is the path's end. */
static const char *end_of_file(const char *path)
{
    static const char *const ends[] = {".npz:", ".onnx:", NULL};
    const char *at = NULL;

    for (int i = 0; ends[i] && !at; i++)
        if ((at = strstr(path, ends[i])))
            at += strlen(ends[i]) - 1;
    return at;
}

/* "data.npz:x" is the array x of data.npz, "data.npz" the only one it has: the
 * file's name, or NULL for a path that names no such file. */
static char *split(const char *path, const char **array)
{
    const char *end = end_of_file(path);

    *array = end ? end + 1 : NULL;
    return end ? strndup(path, (size_t)(end - path))
           : opt_ends_as(path, ".npz") ? strdup(path) : NULL;
}

char *data_file(const char *path)
{
    const char *array;
    char *file = split(path, &array);

    return file ? file : strdup(path);
}

const char *data_behind(const char *path)
{
    const char *end = end_of_file(path);

    return end ? end : "";
}

/* Load the array that the path names, or that of an input, or the only one. */
static int load_array(ls_array *t, const char *path, const char *input,
                      ls_dtype as)
{
    const char *array;
    char *file = split(path, &array);
    int status = file ? ls_npz_load(t, file, array ? array : input, as)
                      : ls_npy_load(t, path, as);

    free(file);
    return status;
}

int data_shape(const char *path, int64_t shape[LS_MAX_RANK])
{
    const char *array;
    char *file = split(path, &array);
    int status = file ? ls_npz_shape(file, array, shape)
                      : ls_npy_shape(path, shape);

    free(file);
    return status;
}

const char *data_shape_text(char text[DATA_SHAPE], int rank,
                            const int64_t *shape)
{
    snprintf(text, DATA_SHAPE, "(");
    for (int i = 0; i < rank; i++)
        opt_append(text, DATA_SHAPE, i ? "," : "", "%lld",
                   (long long)shape[i]);
    opt_append(text, DATA_SHAPE, "", ")");
    return text;
}

/* The first of its numbers that is none. */
static void tell_infinite(const ls_array *t, const char *path)
{
    const float *x = t->data;
    int64_t n = t->shape[0], i = 0;

    for (int k = 1; k < t->rank; k++)
        n *= t->shape[k];
    if (t->dtype != LS_F32)
        return;
    while (i < n && isfinite(x[i]))
        i++;
    if (i < n)
        opt_note("%s: row %lld has %g among its numbers, and a loss of it is "
                 "none; numpy.nan_to_num makes numbers of such", path,
                 (long long)(i / (n / t->shape[0])), opt_shown((double)x[i]));
}

static int load(ls_array *t, const char *name, const char *path, ls_dtype as,
                int rank, bool by_name)
{
    if (load_array(t, path, by_name ? name : NULL, as) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    make_column(t, rank);
    tell_infinite(t, path);
    if (t->rank == rank)
        return OPT_GO;
    opt_fail(OPT_FAILED, "%s: %d %s, but %s needs %d, rows first", path,
             t->rank, t->rank == 1 ? "axis" : "axes", name, rank);
    ls_array_free(t);
    return OPT_FAILED;
}

int data_load(data *d, const char *name, const char *path, ls_dtype as,
              int rank)
{
    ls_array t;
    int status = load(&t, name, path, as, rank, d->by_name && d->inputs != 1);

    return status == OPT_GO ? data_add(d, name, t, path) : status;
}

/* Is a row of b shaped as one of a? */
static bool same_row(const ls_array *a, const ls_array *b)
{
    return memcmp(a->shape + 1, b->shape + 1,
                  (size_t)(a->rank - 1) * sizeof *a->shape) == 0;
}

static int hold(data *d, int i, const char *path)
{
    const ls_array *all = &d->input[i].all;
    ls_array *t = &d->held_out[i];
    int status = load(t, d->input[i].name, path, all->dtype, all->rank,
                      d->by_name && i != 1);

    if (status == OPT_GO && !same_row(all, t))
        return opt_fail(OPT_FAILED, "%s: its rows have not the shape of those "
                        "trained on", path);
    if (status == OPT_GO && (t->shape[0] == 0 ||
                             t->shape[0] != d->held_out[0].shape[0]))
        return opt_fail(OPT_FAILED, "%s: %lld row%s, but %s to evaluate on has "
                        "%lld", path, (long long)t->shape[0],
                        opt_s(t->shape[0]), d->input[0].name,
                        (long long)d->held_out[0].shape[0]);
    return status;
}

int data_hold(data *d, const char *const path[DATA_INPUTS])
{
    int status = OPT_GO;

    for (int i = 0; i < d->inputs && status == OPT_GO; i++)
        status = hold(d, i, path[i]);
    return status == OPT_GO ? data_held_source(d, &d->evaluation) : status;
}

int data_mask(data *d, const char *path)
{
    int status = load(&d->mask, "mask", path, LS_F32, 1, false);

    if (status == OPT_GO && d->mask.shape[0] != d->rows)
        return opt_fail(OPT_FAILED, "%s: %lld weight%s for %lld row%s", path,
                        (long long)d->mask.shape[0],
                        opt_s(d->mask.shape[0]), (long long)d->rows,
                        opt_s(d->rows));
    return status;
}

/* Labels of two classes as -1 and 1 would be one class and rows to ignore. */
int data_labels(const ls_array *labels, const char *path, int64_t classes,
                bool trained)
{
    const int32_t *y = labels->data;
    int64_t n = labels->shape[0], ignored = 0, ones = 0;
    int32_t least = INT32_MAX, most = -1;

    for (int64_t i = 0; i < n; i++) {
        ignored += y[i] < 0;
        ones += y[i] == -1 || y[i] == 1;
        least = y[i] >= 0 && y[i] < least ? y[i] : least;
        most = y[i] > most ? y[i] : most;
    }
    if (ones == n && ignored && ignored < n)
        return opt_fail(OPT_FAILED, "%s: its labels are -1 and 1, and classes "
                        "are counted from 0: numpy.save(NEW, (y > 0).astype("
                        "\"int32\")) makes 0 and 1 of them", path);
    if (ignored == n)
        return opt_fail(OPT_FAILED, "%s: all %lld label%s below 0, which rows "
                        "to be ignored have", path, (long long)n,
                        n == 1 ? " is" : "s are");
    if (most >= classes)
        return opt_fail(OPT_FAILED, "%s: labels from %d to %d, but the %lld "
                        "classes are counted from 0 to %lld; --classes sets "
                        "their number", path, (int)least, (int)most,
                        (long long)classes, (long long)classes - 1);
    if (ignored)
        opt_note("%s: %lld of %lld labels %s below 0, and %s ignored", path,
                 (long long)ignored, (long long)n, ignored == 1 ? "is" : "are",
                 ignored == 1 ? "this row is" : "these rows are");
    if (least > 0 && trained)
        opt_note("%s: no label is below %d; classes are counted from 0", path,
                 (int)least);
    return OPT_GO;
}

int data_collect(data *d)
{
    ls_array array[DATA_INPUTS] = {0};

    for (int i = 0; i < d->inputs; i++) {
        const ls_array *t = &d->input[i].all;

        array[i] = (ls_array){.name = d->input[i].name, .dtype = t->dtype,
                              .rank = t->rank, .data = t->data};
        for (int k = 0; k < t->rank; k++)
            array[i].shape[k] = t->shape[k];
    }
    return opt_check(ls_source_arrays(&d->source, d->inputs, array));
}

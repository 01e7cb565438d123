/* SPDX-License-Identifier: BSD-3-Clause */
/* See feed.h. */
#include "predict/feed.h"
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ------ Arrays ------ */

static int check_shape(feed *f, int rank, const int64_t *want)
{
    const ls_array *x = &f->array;
    size_t bytes = (size_t)rank * sizeof *want;
    char is[DATA_SHAPE], should[DATA_SHAPE];

    f->size = 1;
    for (int i = 0; i < rank; i++)
        f->size *= want[i];
    f->rows = x->rank > rank ? x->shape[0] : 1;
    if ((x->rank == rank + 1 && !memcmp(x->shape + 1, want, bytes)) ||
        (x->rank == rank && !memcmp(x->shape, want, bytes)))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "%s: its shape is %s; the model takes rows of "
                    "%s", f->path, data_shape_text(is, x->rank, x->shape),
                    data_shape_text(should, rank, want));
}

int feed_array(feed *f, const char *path, const ls_array_spec *in, bool any)
{
    int status;

    *f = (feed){.path = path, .any = any};
    status = opt_check(ls_npy_load(&f->array, path, in->dtype));
    return status == OPT_GO ? check_shape(f, in->rank, in->shape) : status;
}

/* ------ Images ------ */

/* The model sees (H,W,C), .. */
static int check_pixels(const feed *f, const int64_t *is, const int64_t *want)
{
    int64_t alone[4] = {1, want[0], want[1], want[2]};
    char shape[DATA_SHAPE], should[DATA_SHAPE], one[DATA_SHAPE];

    if (!memcmp(is, want, 3 * sizeof *is))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "%s: images of %s; the model takes %s, and in a "
                    ".npy one alone is %s", f->path,
                    data_shape_text(shape, 3, is),
                    data_shape_text(should, 3, want),
                    data_shape_text(one, 4, alone));
}

/* .. or all their numbers in a row. */
static int check_count(const feed *f, const int64_t *is, int64_t want)
{
    char shape[DATA_SHAPE];

    if (f->size == want)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "%s: images of %s; the model takes those of "
                    "%lld numbers", f->path, data_shape_text(shape, 3, is),
                    (long long)want);
}

static int check_images(feed *f, const ls_array_spec *in)
{
    const int64_t *is = f->images.arrays[0].shape;
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

/* A folder's pictures become what the model takes, where no shape is known from
 * training. */
static ls_images_options options_of(const normal *n, const ls_array_spec *in,
                                    bool skip)
{
    ls_images_options o = normal_options(n);

    o.test = o.unlabelled = true;
    o.skip_broken = skip;
    o.n_classes = 0;
    if (!o.shape[0] && in->rank == 3)
        memcpy(o.shape, in->shape, sizeof o.shape);
    return o;
}

static int start_images(feed *f, const ls_array_spec *in)
{
    int status = check_images(f, in);

    if (status != OPT_GO)
        return status;
    normal_tell_left_out(&f->images);
    f->rows = f->images.rows;
    f->x = calloc(FEED_ROWS, (size_t)f->size * sizeof *f->x);
    return f->x ? OPT_GO : opt_no_memory("the input");
}

/* Open the test set; of pictures that may be a folder of classes itself. */
static int open_images(feed *f, ls_images_options *o, const normal *n,
                       int classes)
{
    int status;

    if (classes) {
        o->unlabelled = false;
        o->n_classes = n->classes ? n->classes : classes;
    }
    status = ls_source_images(&f->images, f->path, o);
    if (status != LS_ENOTFOUND || !classes || !n->classes)
        return status;
    o->test = false;
    return ls_source_images(&f->images, f->path, o);
}

int feed_images(feed *f, const char *path, const ls_array_spec *in,
                const normal *n, bool skip, int64_t classes)
{
    ls_images_options o = options_of(n, in, skip);
    int64_t shape[LS_MAX_RANK];
    int status;

    *f = (feed){.path = path};
    o.alone = in->rank == 3 && opt_ends_as(path, ".npy") &&
              ls_npy_shape(path, shape) == 3 &&
              !memcmp(shape, in->shape, 3 * sizeof *shape);
    status = opt_check_usage(open_images(f, &o, n, (int)classes));
    return status == OPT_GO ? start_images(f, in) : status;
}

int feed_pictures(feed *f, int64_t n, char *const *path,
                  const ls_array_spec *in, const normal *norm, bool skip)
{
    ls_images_options o = options_of(norm, in, skip);
    int status;

    *f = (feed){.path = *path};
    status = opt_check_usage(ls_source_pictures(
        &f->images, n, (const char *const *)path, &o));
    return status == OPT_GO ? start_images(f, in) : status;
}

int feed_no_labels(const char *path)
{
    return opt_fail(OPT_WRONG, "--score: %s: has no labels; a folder of "
                    "classes has, and so have files that can be trained on",
                    path);
}

bool feed_is_flat(const char *path, const ls_array_spec *in)
{
    int64_t shape[LS_MAX_RANK];
    int rank = in->rank == 1 ? ls_npy_shape(path, shape) : 0;

    return rank == 1 || rank == 2;
}

bool feed_is_picture(const char *path)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".jpe"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot, ends[i]) == 0)
            return true;
    return false;
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

static int read_images(feed *f, int64_t n)
{
    int64_t index[FEED_ROWS];
    void *out[] = {f->x, f->label};
    int status;

    for (int64_t i = 0; i < n; i++)
        index[i] = f->next + i;
    status = opt_check(f->images.fill(f->images.user, n, index, out));
    return status == OPT_GO ? check_finite(f, f->x, n) : status;
}

static int give_array(const feed *f, const void **x, int64_t n)
{
    *x = (const char *)f->array.data + 4 * f->next * f->size;
    return f->array.dtype == LS_F32 && !f->any ? check_finite(f, *x, n)
                                               : OPT_GO;
}

int feed_next(feed *f, const void **x, int64_t *n)
{
    int64_t left = f->rows - f->next;
    int status = OPT_GO;

    *x = f->x;
    *n = left < FEED_ROWS ? left : FEED_ROWS;
    if (f->images.fill)
        status = read_images(f, *n);
    else
        status = give_array(f, x, *n);
    f->next += *n;
    return status;
}

void feed_close(feed *f)
{
    ls_source_close(&f->images);
    ls_array_free(&f->array);
    free(f->x);
    *f = (feed){0};
}

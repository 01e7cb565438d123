/* SPDX-License-Identifier: BSD-3-Clause */
/* Images and labels from files: the set to train on, and the one to evaluate
 * on. */
#include "data/data.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------ --mean, --std: a number for each channel, or one for all ------ */

/* "0.49,0.48,0.45": how many; 0: it is no such list.  strtod also takes blanks,
 * hexadecimal, "inf" and "nan". */
static int read_list(const char *text, double out[NORMAL_CHANNELS])
{
    if (text[strspn(text, "0123456789.eE+-,")])
        return 0;
    for (int n = 0; n < NORMAL_CHANNELS; text++) {
        char *end;

        out[n++] = strtod(text, &end);
        if (end == text)
            return 0;
        if (!*end)
            return n;
        if (*end != ',')
            return 0;
        text = end;
    }
    return 0;
}

/* A list of `name`, or `start` in its place. */
static int read_normal(const char *name, const char *text, double start,
                       int *channels, double out[NORMAL_CHANNELS])
{
    int n = text ? read_list(text, out) : 0;

    if (text && !n)
        return opt_fail(OPT_WRONG, "--%s: \"%s\" is not a list of numbers as "
                        "0.5,0.5,0.5", name, text);
    if (text && *channels && *channels != n)
        return opt_fail(OPT_WRONG, "--mean and --std: %d and %d channels",
                        *channels, n);
    *channels = text ? n : *channels;
    for (int c = 0; !text && c < NORMAL_CHANNELS; c++)
        out[c] = start;
    return OPT_GO;
}

/* ------ The sets ------ */

static int open_set(ls_source *source, const image_files *f, const char *path,
                    const char *labels, bool test, const normal *n)
{
    ls_images_options o = normal_options(n);

    o.test = test;
    o.labels = labels;
    o.image = f->x ? f->x : "x";
    o.label = f->y ? f->y : "y";
    o.skip_broken = f->skip_broken;
    o.n_classes = n->classes ? o.n_classes : (int)f->classes;
    return ls_source_images(source, path, &o);
}

static bool same_image(const ls_source *a, const ls_source *b)
{
    for (int i = 0; i < 3; i++)
        if (a->arrays[0].shape[i] != b->arrays[0].shape[i])
            return false;
    return true;
}

static int check_evaluation(const data *d, const char *path)
{
    const int64_t *a = d->evaluation.arrays[0].shape;
    const int64_t *b = d->source.arrays[0].shape;

    if (same_image(&d->evaluation, &d->source))
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: images of %lldx%lldx%lld; those trained "
                    "on are %lldx%lldx%lld", path, (long long)a[0],
                    (long long)a[1], (long long)a[2], (long long)b[0],
                    (long long)b[1], (long long)b[2]);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The test set of a folder is there or not; another set is asked for, and of
 * pictures it may be a folder of classes as it is. */
static int open_evaluation(data *d, const image_files *f)
{
    const char *path = f->evaluation ? f->evaluation : f->path;
    const normal *n = &d->normal;
    int status;

    if (!f->evaluation && !is_folder(f->path))
        return OPT_GO;
    status = open_set(&d->evaluation, f, path, f->eval_labels, !f->eval_labels,
                      n);
    if (status == LS_ENOTFOUND && !f->evaluation)
        return OPT_GO;
    if (status == LS_ENOTFOUND && n->classes)
        status = open_set(&d->evaluation, f, path, NULL, false, n);
    if (status < 0)
        return opt_check(status);
    normal_tell_left_out(&d->evaluation);
    return check_evaluation(d, path);
}

/* --valid */
static int hold_back(data *d, const image_files *f)
{
    int64_t all = d->source.rows, n = 0, kept = 0;
    bool *held = data_choose(all, f->valid, f->seed);
    int64_t *rows = held ? malloc((size_t)all * sizeof *rows) : NULL;
    int status = OPT_WRONG;

    for (int64_t i = 0; rows && i < all; i++)
        if (held[i])
            rows[n++] = i;
        else
            d->labels[kept++] = d->labels[i];
    if (rows)
        status = opt_check(ls_source_split(&d->source, n, rows,
                                           &d->evaluation));
    else if (held)
        status = opt_no_memory("the rows");
    free(rows);
    free(held);
    d->rows = d->source.rows;
    return status;
}

/* The key of augmentation, which is not that of the order of rows. */
enum { AUGMENT = 0x617567 };

static int read_augment(data *d, const image_files *f)
{
    d->augment = ls_augment_defaults();
    d->augment.key = ls_key_fold_in(ls_key_new(f->seed), AUGMENT);
    d->augments = f->augment != NULL;
    return augment_read(f->augment, &d->augment);
}

static int take_labels(data *d)
{
    d->labels = malloc((size_t)d->rows * sizeof *d->labels);
    if (!d->labels)
        return opt_no_memory("the labels");
    for (int64_t i = 0; i < d->rows; i++)
        ls_images_label(&d->source, i, &d->labels[i]);
    return OPT_GO;
}

/* Opens the training rows; augmented ones are normalised after that. */
static int open_training(data *d, const image_files *f)
{
    normal *n = &d->normal;
    int channels = n->channels, status;

    if (d->augments)
        n->channels = 0;
    status = open_set(&d->source, f, f->path, f->labels, false, n);
    n->channels = channels;
    if (n->channels && (status == LS_EINVAL || status == LS_ESHAPE))
        return opt_check_usage(status); /* --mean and --std do not do */
    if (status < 0)
        return opt_check(status);
    d->rows = d->source.rows;
    normal_tell_left_out(&d->source);
    status = take_labels(d);
    if (status == OPT_GO)
        status = normal_take(n, &d->source);
    if (status == OPT_GO && !(d->images = normal_write(n)))
        status = OPT_FAILED;
    return status;
}

int data_images(data *d, const image_files *f)
{
    normal *n = &d->normal;
    int status = read_normal("mean", f->mean, 0, &n->channels, n->mean);

    n->is = true;
    n->fit = f->fit;
    memcpy(n->shape, f->shape, sizeof n->shape);
    if (status == OPT_GO)
        status = read_normal("std", f->std, 1, &n->channels, n->std);
    if (status == OPT_GO)
        status = read_augment(d, f);
    if (status == OPT_GO)
        status = open_training(d, f);
    if (status != OPT_GO)
        return status;
    status = f->valid > 0 ? hold_back(d, f) : open_evaluation(d, f);
    if (status == OPT_GO && d->evaluation.rows)
        status = opt_check(ls_source_share(&d->evaluation, &d->again));
    return status;
}

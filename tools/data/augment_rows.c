/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows to train on, augmented, and a sheet of some of them. */
#include "data/data.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, ROWS = 8 };

/* The first images as they are, then as they are in epochs 0, 1, .. */
typedef struct show {
    int64_t rows, size; /* of an image */
    float *image;       /* (rows, COLUMNS, size) */
} show;

/* Image `row` of the source into a column. */
static int read_image(const show *s, const ls_source *from, int64_t row,
                      int column, int64_t index)
{
    int32_t label, other;
    float share;
    void *out[DATA_INPUTS] = {s->image + (row * COLUMNS + column) * s->size,
                              &label, &other, &share};

    return opt_check(from->fill(from->user, 1, &index, out));
}

static int show_originals(show *s, const data *d)
{
    const int64_t *shape = d->source.arrays[0].shape;
    int status = OPT_GO;

    s->size = shape[0] * shape[1] * shape[2];
    s->rows = d->source.rows < ROWS ? d->source.rows : ROWS;
    s->image = malloc((size_t)(s->rows * COLUMNS * s->size) *
                      sizeof *s->image);
    if (!s->image)
        return opt_fail(OPT_FAILED, "--augment-show: no memory");
    for (int64_t i = 0; i < s->rows && status == OPT_GO; i++)
        status = read_image(s, &d->source, i, 0, i);
    return status;
}

/* Back from what (x - mean) / std made of it. */
static void lighten(const show *s, const data *d, int64_t row, int column)
{
    const ls_augment_options *o = &d->augment;
    int64_t channels = d->source.arrays[0].shape[2];
    float *x = s->image + (row * COLUMNS + column) * s->size;

    for (int64_t i = 0; o->channels && i < s->size; i++) {
        int64_t c = o->channels == 1 ? 0 : i % channels;

        x[i] = (float)((double)x[i] * o->std[c] + o->mean[c]);
    }
}

static int show_epochs(show *s, const data *d)
{
    int64_t shape[3];
    int status = OPT_GO;

    for (int64_t i = 0; i < s->rows; i++)
        for (int k = 1; k < COLUMNS && status == OPT_GO; k++) {
            status = read_image(s, &d->source, i, k,
                                (k - 1) * d->source.rows + i);
            lighten(s, d, i, k);
        }
    memcpy(shape, d->source.arrays[0].shape, sizeof shape);
    return status == OPT_GO
               ? opt_check_usage(ls_images_save(d->sheet, s->rows * COLUMNS,
                                                shape, s->image, COLUMNS, NULL))
               : status;
}

/* The graph wants the two arrays of mixed images also where it evaluates, and
 * nothing is mixed. */
static int name_mixed(data *d)
{
    ls_augment_options *o = &d->augment, held = ls_augment_defaults();

    if (!(o->mixup > 0))
        return OPT_GO;
    held.other = o->other = "other";
    held.share = o->share = "share";
    return d->evaluation.rows
               ? opt_check(ls_source_augment(&d->evaluation, &held)) : OPT_GO;
}

int data_augment(data *d)
{
    ls_augment_options *o = &d->augment;
    show s = {.rows = 0};
    int status = d->sheet ? show_originals(&s, d) : OPT_GO;

    o->channels = d->normal.channels;
    o->mean = d->normal.mean;
    o->std = d->normal.std;
    if (status == OPT_GO)
        status = name_mixed(d);
    if (status == OPT_GO)
        status = opt_check_usage(ls_source_augment(&d->source, o));
    if (status == OPT_GO && d->sheet)
        status = show_epochs(&s, d);
    free(s.image);
    return status;
}

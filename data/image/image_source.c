/* SPDX-License-Identifier: BSD-3-Clause */
/* Images as a source: pixels become floats through a table of what each byte
 * is in each channel, (u / 255 - mean[c]) / std[c]. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "image/images.h"
#include "image/normalise.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 256 };

typedef struct image_source {
    ls__images set;
    ls__arena arena;
    ls_array_spec spec[2];
    uint8_t *row;      /* room for one as it lies in its file */
    float *table;      /* [channel][byte]; neither is for floats */
    ls__normal normal;
    bool unlabelled;
} image_source;

/* ------ One image ------ */

/* in (H,W,C), or (C,H,W) where planar; out (H,W,C). */
static void convert_bytes(const image_source *s, const uint8_t *in, float *out)
{
    int64_t channels = s->set.shape[2];
    int64_t n = s->set.shape[0] * s->set.shape[1];
    int64_t pixel = s->set.planar ? 1 : channels;
    int64_t plane = s->set.planar ? n : 1;

    for (int64_t c = 0; c < channels; c++) {
        const float *table = s->table + c * BYTES;
        const uint8_t *from = in + c * plane;

        for (int64_t i = 0; i < n; i++)
            out[i * channels + c] = table[from[i * pixel]];
    }
}

/* The file's floats may lie anywhere, or where they shall be. */
static void convert_floats(const image_source *s, const uint8_t *in,
                           float *out)
{
    int64_t channels = s->set.shape[2];
    int64_t n = s->set.shape[0] * s->set.shape[1];

    if (in != (const uint8_t *)out)
        memcpy(out, in, (size_t)(n * channels) * sizeof *out);
    for (int64_t i = 0; s->normal.mean && i < n; i++)
        for (int64_t c = 0; c < channels; c++, out++)
            *out = ls__normal_of(&s->normal, c, *out);
}

/* Rows that threads convert, each when it is decoded. */
typedef struct pictures {
    const image_source *source;
    float *out;
} pictures;

static void take_picture(void *user, int64_t i, const uint8_t *pixels)
{
    const pictures *p = user;
    const int64_t *shape = p->source->set.shape;

    convert_bytes(p->source, pixels,
                  p->out + i * shape[0] * shape[1] * shape[2]);
}

static int fill(void *user, int64_t n, const int64_t *index, void *const *out)
{
    const image_source *s = user;
    const ls__images *set = &s->set;
    int64_t size = set->shape[0] * set->shape[1] * set->shape[2];
    float *image = out[0];
    int32_t *label = s->unlabelled ? NULL : out[1];

    for (int64_t i = 0; label && i < n; i++)
        label[i] = set->label[index[i]];
    if (set->album)
        return ls__album_rows(set->album, n, index, take_picture,
                              &(pictures){s, image});
    for (int64_t i = 0; i < n; i++, image += size) {
        const uint8_t *in = ls__images_row(set, index[i],
                                           set->real ? (void *)image : s->row);

        if (!in)
            return LS_EIO;
        if (set->real)
            convert_floats(s, in, image);
        else
            convert_bytes(s, in, image);
    }
    return 0;
}

/* ------ Opening ------ */

static void close_source(void *user)
{
    image_source *s = user;

    ls__images_close(&s->set);
    ls__arena_free(&s->arena);
    free(s);
}

static int make_table(image_source *s)
{
    int64_t n = s->set.shape[2];

    if (s->set.real)
        return 0;
    s->table = ls__arena_new(&s->arena, (size_t)n, BYTES * sizeof *s->table);
    s->row = ls__arena_new(&s->arena,
                           (size_t)ls__images_row_bytes(&s->set), 1);
    if (!s->table || !s->row)
        return LS_ENOMEM;
    for (int64_t c = 0; c < n; c++)
        for (int u = 0; u < BYTES; u++) {
            float x = (float)u / 255;

            if (s->normal.mean)
                x = ls__normal_of(&s->normal, c, x);
            s->table[c * BYTES + u] = x;
        }
    return 0;
}

static int make_spec(image_source *s, const ls_images_options *o)
{
    ls_array_spec *image = &s->spec[0], *label = &s->spec[1];

    *image = (ls_array_spec){.dtype = LS_F32, .rank = 3};
    memcpy(image->shape, s->set.shape, sizeof s->set.shape);
    *label = (ls_array_spec){.dtype = LS_I32};
    image->name = ls__arena_text(&s->arena, o->image ? o->image : "image");
    label->name = ls__arena_text(&s->arena, o->label ? o->label : "label");
    return image->name && label->name ? 0 : LS_ENOMEM;
}

LS__DEFAULTS(ls_images_options, ls_images_defaults_bytes)

/* Open a set, or the list of pictures, as a source. */
static int open_source(ls_source *source, int64_t n, const char *const *path,
                       bool is_list, const ls_images_options *o)
{
    image_source *s = ls__new(1, sizeof *s, "images");
    int status;

    if (!s)
        return LS_ENOMEM;
    s->unlabelled = o->unlabelled;
    status = is_list ? ls__images_list(&s->set, n, path, o)
                     : ls__images_open(&s->set, *path, o);
    if (status == 0)
        status = ls__normal_take(&s->normal, &s->arena, s->set.shape[2],
                                 o->channels, o->mean, o->std);
    if (status == 0)
        status = make_table(s);
    if (status == 0)
        status = make_spec(s, o);
    if (status < 0) {
        close_source(s);
        return status;
    }
    *source = (ls_source){.rows = s->set.rows,
                          .classes = o->unlabelled ? 0 : s->set.classes,
                          .n_arrays = o->unlabelled ? 1 : 2, .arrays = s->spec,
                          .fill = fill, .close = close_source, .user = s};
    return 0;
}

int ls_source_images(ls_source *source, const char *path,
                     const ls_images_options *options)
{
    LS__NEED(source);
    LS__NEED(path);

    ls_images_options o = ls_images_defaults();
    int status = ls__sized_take("images", &o, sizeof o, options);

    return status == 0 ? open_source(source, 1, &path, false, &o) : status;
}

int ls_source_pictures(ls_source *source, int64_t n, const char *const *path,
                       const ls_images_options *options)
{
    LS__NEED(source);
    LS__NEED(path);

    ls_images_options o = ls_images_defaults();
    int status = ls__sized_take("images", &o, sizeof o, options);

    o.unlabelled = true;
    return status == 0 ? open_source(source, n, path, true, &o) : status;
}

/* ------ What a source of these knows besides ------ */

static const ls__album *album_of(const ls_source *source)
{
    const image_source *s = source->fill == fill ? source->user : NULL;

    return s ? s->set.album : NULL;
}

bool ls_images_label(const ls_source *source, int64_t row, int32_t *label)
{
    LS__NEED_OR(source, false);
    LS__NEED_OR(label, false);

    const image_source *s = source->fill == fill ? source->user : NULL;

    if (!s || s->unlabelled || row < 0 || row >= s->set.rows)
        return false;
    *label = s->set.label[row];
    return true;
}

const char *ls_images_class(const ls_source *source, int64_t i)
{
    LS__NEED_OR(source, NULL);

    const ls__album *a = album_of(source);

    return a && i >= 0 && i < a->classes ? a->class_name[i] : NULL;
}

const char *ls_images_file(const ls_source *source, int64_t row)
{
    LS__NEED_OR(source, NULL);

    const ls__album *a = album_of(source);

    return a && row >= 0 && row < a->pictures ? a->path[row] : NULL;
}

int64_t ls_images_left_out(const ls_source *source)
{
    LS__NEED_OR(source, 0);

    const ls__album *a = album_of(source);

    return a ? a->left_out : 0;
}

const char *ls_images_left_out_why(const ls_source *source, int i,
                                   int64_t *files)
{
    LS__NEED_OR(source, NULL);
    LS__NEED_OR(files, NULL);

    const ls__album *a = album_of(source);

    if (!a || i < 0 || i >= a->reasons)
        return NULL;
    *files = a->reason[i].files;
    return a->reason[i].first;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A sheet of images with captions below them. */
#include "base/error.h"
#include "base/memory.h"
#include "picture/letters.h"

#include <lockstep/images.h>

#include <stdlib.h>
#include <string.h>

enum { SMALL = 96, GAP = 6, WHITE = 255 };

typedef struct sheet {
    ls__picture p;
    int64_t height, width, channels; /* of an image */
    int64_t times;                   /* a pixel is so many high and wide */
    int64_t cell_height, cell_width;
    int columns;
} sheet;

static int64_t lines_of(const char *caption)
{
    int64_t n = caption != NULL;

    for (; caption && *caption; caption++)
        n += *caption == '\n';
    return n;
}

static int plan(sheet *s, int64_t n, const int64_t shape[3], int columns,
                const char *const *caption)
{
    int64_t side = shape[0] < shape[1] ? shape[0] : shape[1], lines = 0;

    for (int64_t i = 0; caption && i < n; i++)
        if (lines_of(caption[i]) > lines)
            lines = lines_of(caption[i]);
    s->height = shape[0];
    s->width = shape[1];
    s->channels = shape[2];
    s->times = (SMALL + side - 1) / side;
    s->columns = n < columns ? (int)n : columns;
    s->cell_height = s->height * s->times + lines * LS__LETTER_HEIGHT + GAP;
    s->cell_width = s->width * s->times + GAP;
    s->p.channels = 3;
    s->p.height = GAP + (n + s->columns - 1) / s->columns * s->cell_height;
    s->p.width = GAP + s->columns * s->cell_width;
    if (s->p.height > LS__PICTURE_SIDE || s->p.width > LS__PICTURE_SIDE ||
        s->p.height * s->p.width > LS__PICTURE_PIXELS)
        return ls__fail(LS_ENOTSUP, "a sheet of %lldx%lld pixels is too large",
                        (long long)s->p.width, (long long)s->p.height);
    s->p.pixels = ls__new((size_t)(s->p.height * s->p.width), 3, "a sheet");
    return s->p.pixels ? 0 : LS_ENOMEM;
}

static uint8_t byte_of(float x)
{
    return x > 0 ? x < 1 ? (uint8_t)(x * 255 + 0.5f) : 255 : 0;
}

static void put_image(const sheet *s, const float *image, int64_t y0,
                      int64_t x0)
{
    for (int64_t y = 0; y < s->height * s->times; y++)
        for (int64_t x = 0; x < s->width * s->times; x++) {
            const float *in = image + (y / s->times * s->width +
                                       x / s->times) * s->channels;
            uint8_t *out = s->p.pixels + 3 * ((y0 + y) * s->p.width + x0 + x);

            for (int c = 0; c < 3; c++)
                out[c] = byte_of(in[s->channels < 3 ? 0 : c]);
        }
}

static void put_caption(sheet *s, const char *text, int64_t y, int64_t x)
{
    for (; text; y += LS__LETTER_HEIGHT) {
        size_t n = strcspn(text, "\n");

        ls__letters(&s->p, y + 2, x, x + s->cell_width, text, n);
        text = text[n] ? text + n + 1 : NULL;
    }
}

static void draw(sheet *s, int64_t n, const float *images,
                 const char *const *caption)
{
    memset(s->p.pixels, WHITE, (size_t)(3 * s->p.height * s->p.width));
    for (int64_t i = 0; i < n; i++) {
        int64_t y = GAP + i / s->columns * s->cell_height;
        int64_t x = GAP + i % s->columns * s->cell_width;

        put_image(s, images + i * s->height * s->width * s->channels, y, x);
        if (caption)
            put_caption(s, caption[i], y + s->height * s->times, x);
    }
}

int ls_images_save(const char *path, int64_t n, const int64_t shape[3],
                   const float *images, int columns,
                   const char *const *caption)
{
    LS__NEED(path);
    LS__NEED(shape);
    LS__NEED(images);

    sheet s = {.columns = 0};
    int status;

    if (n < 1 || n > LS__PICTURE_PIXELS || columns < 1 || shape[0] < 1 ||
        shape[1] < 1 || shape[0] > LS__PICTURE_SIDE ||
        shape[1] > LS__PICTURE_SIDE || shape[2] < 1 || shape[2] > 4)
        return ls__fail(LS_EINVAL, "a sheet of %lld images of %lldx%lldx%lld "
                        "in %d columns", (long long)n, (long long)shape[0],
                        (long long)shape[1], (long long)shape[2], columns);
    status = plan(&s, n, shape, columns, caption);
    if (status == 0) {
        draw(&s, n, images, caption);
        status = ls__png_write(&s.p, path);
    }
    free(s.p.pixels);
    return status;
}

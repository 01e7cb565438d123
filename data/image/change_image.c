/* SPDX-License-Identifier: BSD-3-Clause */
/* See change_image.h. */
#include "image/change_image.h"

#include <string.h>

/* An image under change: the argument of all. */
typedef struct canvas {
    int64_t height, width, channels;
    float *now, *room; /* the image, and where the next one is made */
} canvas;

static int64_t size_of(const canvas *c)
{
    return c->height * c->width * c->channels;
}

static void turn_page(canvas *c)
{
    float *was = c->now;

    c->now = c->room;
    c->room = was;
}

/* NULL: black, outside of the image. */
static const float *pixel(const canvas *c, int64_t y, int64_t x)
{
    bool in = y >= 0 && y < c->height && x >= 0 && x < c->width;

    return in ? c->now + (y * c->width + x) * c->channels : NULL;
}

static void crop(canvas *c, const ls__augmentation *d)
{
    float *out = c->room;
    size_t bytes = (size_t)c->channels * sizeof *out;

    if (d->down == 0 && d->right == 0)
        return;
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = 0; x < c->width; x++, out += c->channels) {
            const float *in = pixel(c, y + d->down, x + d->right);

            if (in)
                memcpy(out, in, bytes);
            else
                memset(out, 0, bytes);
        }
    turn_page(c);
}

static int64_t floor_of(float x)
{
    int64_t i = (int64_t)x;

    return (float)i > x ? i - 1 : i;
}

/* The image at a place between four pixels. */
static void between(const canvas *c, float y, float x, float *out)
{
    int64_t y0 = floor_of(y), x0 = floor_of(x);
    float down = y - (float)y0, right = x - (float)x0;
    const float *p[4] = {pixel(c, y0, x0), pixel(c, y0, x0 + 1),
                         pixel(c, y0 + 1, x0), pixel(c, y0 + 1, x0 + 1)};

    for (int64_t k = 0; k < c->channels; k++) {
        float v[4];

        for (int i = 0; i < 4; i++)
            v[i] = p[i] ? p[i][k] : 0;
        v[0] = v[0] + right * (v[1] - v[0]);
        v[2] = v[2] + right * (v[3] - v[2]);
        out[k] = v[0] + down * (v[2] - v[0]);
    }
}

static void turn(canvas *c, const ls__augmentation *d)
{
    float middle_y = (float)(c->height - 1) / 2;
    float middle_x = (float)(c->width - 1) / 2, *out = c->room;

    if (!d->turns)
        return;
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = 0; x < c->width; x++, out += c->channels) {
            float dy = (float)y - middle_y, dx = (float)x - middle_x;

            between(c, middle_y + (d->cos * dy - d->sin * dx),
                    middle_x + (d->cos * dx + d->sin * dy), out);
        }
    turn_page(c);
}

static void flip(canvas *c, const ls__augmentation *d)
{
    float *out = c->room;

    if (!d->flips)
        return;
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = c->width - 1; x >= 0; x--, out += c->channels)
            memcpy(out, pixel(c, y, x), (size_t)c->channels * sizeof *out);
    turn_page(c);
}

static float in_range(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void brighten(const canvas *c, const ls__augmentation *d)
{
    int64_t n = size_of(c);

    for (int64_t i = 0; i < n; i++)
        c->now[i] = in_range(c->now[i] * d->brightness);
}

static float mean_grey(const canvas *c)
{
    int64_t n = size_of(c), step = c->channels == 3 ? 3 : 1;
    double sum = 0;

    for (int64_t i = 0; i < n; i += step) {
        const float *p = c->now + i;

        sum += (double)(step == 1 ? p[0]
                                  : 0.2989f * p[0] + 0.587f * p[1] +
                                        0.114f * p[2]);
    }
    return (float)(sum / (double)(n / step));
}

static void sharpen(const canvas *c, const ls__augmentation *d)
{
    float rest = (1 - d->contrast) * mean_grey(c);
    int64_t n = size_of(c);

    for (int64_t i = 0; i < n; i++)
        c->now[i] = in_range(d->contrast * c->now[i] + rest);
}

static void cut(const canvas *c, const ls__augmentation *d, int64_t side)
{
    for (int64_t y = d->cut_y; y < d->cut_y + side; y++)
        for (int64_t x = d->cut_x; x < d->cut_x + side; x++)
            if (pixel(c, y, x))
                memset(c->now + (y * c->width + x) * c->channels, 0,
                       (size_t)c->channels * sizeof *c->now);
}

void ls__change_image(const ls_augment_options *o, const int64_t shape[3],
                      const ls__augmentation *d, float *image, float *room)
{
    canvas c = {shape[0], shape[1], shape[2], image, room};

    crop(&c, d);
    turn(&c, d);
    flip(&c, d);
    if (o->brightness > 0)
        brighten(&c, d);
    if (o->contrast > 0)
        sharpen(&c, d);
    if (o->cutout > 0)
        cut(&c, d, o->cutout);
    if (c.now != image)
        memcpy(image, c.now, (size_t)size_of(&c) * sizeof *image);
}

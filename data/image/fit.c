/* SPDX-License-Identifier: BSD-3-Clause */
/* See fit.h. */
#include "image/fit.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* n pixels from `first` on. */
typedef struct range {
    int64_t first, n;
} range;

/* The crop of a picture's axes, and its place. */
typedef struct plan {
    const ls__picture *p;
    int channels; /* of the result */
    range from_y, from_x, to_y, to_x;
    uint8_t *row;  /* (from_x.n, channels) */
    uint64_t *sum; /* (to_y.n, to_x.n, channels) */
    uint32_t *part; /* (to_x.n, channels): one row */
} plan;

/* ------ Channels ------ */

static int on_white(int v, int alpha)
{
    return (v * alpha + 255 * (255 - alpha) + 127) / 255;
}

static int grey_of(const int v[3])
{
    return (19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768) >> 16;
}

static void put_pixel(const uint8_t *in, int has, uint8_t *out, int wants)
{
    bool grey = has < 3;
    int alpha = has % 2 ? 255 : in[has - 1];
    int v[3] = {in[0], in[grey ? 0 : 1], in[grey ? 0 : 2]};

    for (int c = 0; c < 3 && wants < 4; c++)
        v[c] = on_white(v[c], alpha);
    if (wants == 1) {
        out[0] = (uint8_t)(grey ? v[0] : grey_of(v));
        return;
    }
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)v[c];
    if (wants == 4)
        out[3] = (uint8_t)alpha;
}

static void take_row(const plan *s, int64_t y)
{
    int has = s->p->channels;
    const uint8_t *in = s->p->pixels +
                        ((s->from_y.first + y) * s->p->width +
                         s->from_x.first) * has;

    if (has == s->channels) {
        memcpy(s->row, in, (size_t)(s->from_x.n * has));
        return;
    }
    for (int64_t x = 0; x < s->from_x.n; x++)
        put_pixel(in + x * has, has, s->row + x * s->channels, s->channels);
}

/* ------ Size ------ */

/* The overlap of pixel i of n and pixel j of m. */
static int64_t shared(int64_t i, int64_t n, int64_t j, int64_t m)
{
    return ls__least((i + 1) * m, (j + 1) * n) - ls__most(i * m, j * n);
}

/* The row across: a pixel goes to each that it covers a part of. */
static void add_pixels(const plan *s)
{
    int64_t n = s->from_x.n, m = s->to_x.n;
    int channels = s->channels;

    memset(s->part, 0, (size_t)(m * channels) * sizeof *s->part);
    for (int64_t i = 0, j = 0; i < n; i++) {
        while ((j + 1) * n <= i * m)
            j++;
        for (int64_t k = j; k * n < (i + 1) * m; k++) {
            uint32_t w = (uint32_t)shared(i, n, k, m);

            for (int c = 0; c < channels; c++)
                s->part[k * channels + c] += w * s->row[i * channels + c];
        }
    }
}

/* Add rows, down. */
static void add_rows(const plan *s)
{
    int64_t n = s->from_y.n, m = s->to_y.n, width = s->to_x.n * s->channels;

    for (int64_t i = 0; i < n; i++) {
        take_row(s, i);
        add_pixels(s);
        for (int64_t j = i * m / n; j * n < (i + 1) * m; j++) {
            uint64_t w = (uint64_t)shared(i, n, j, m);

            for (int64_t x = 0; x < width; x++)
                s->sum[j * width + x] += w * s->part[x];
        }
    }
}

static void put_means(const plan *s, int64_t width, uint8_t *out)
{
    uint64_t d = (uint64_t)(s->from_y.n * s->from_x.n);
    int64_t n = s->to_x.n * s->channels;
    const uint64_t *sum = s->sum;

    for (int64_t y = 0; y < s->to_y.n; y++) {
        uint8_t *row = out + ((s->to_y.first + y) * width + s->to_x.first) *
                                 s->channels;

        for (int64_t x = 0; x < n; x++, sum++)
            row[x] = (uint8_t)((2 * *sum + d) / (2 * d));
    }
}

/* ------ Which part goes where ------ */

/* One pixel at the least. */
static range middle(int64_t n, int64_t of)
{
    n = ls__most(n, 1);
    return (range){(of - n) / 2, n};
}

static void choose(plan *s, ls_image_fit fit, int64_t height, int64_t width)
{
    int64_t h = s->p->height, w = s->p->width;
    bool is_wide = w * height > h * width;

    s->from_y = (range){0, h};
    s->from_x = (range){0, w};
    s->to_y = (range){0, height};
    s->to_x = (range){0, width};
    if (fit == LS_IMAGE_CROP && is_wide)
        s->from_x = middle(h * width / height, w);
    else if (fit == LS_IMAGE_CROP)
        s->from_y = middle(w * height / width, h);
    else if (fit == LS_IMAGE_FIT && is_wide)
        s->to_y = middle(h * width / w, height);
    else if (fit == LS_IMAGE_FIT)
        s->to_x = middle(w * height / h, width);
}

static int make_room(plan *s)
{
    size_t across = (size_t)(s->to_x.n * s->channels);

    s->row = ls__new((size_t)s->from_x.n, (size_t)s->channels, "a row");
    s->part = ls__new(across, sizeof *s->part, "a row");
    s->sum = ls__new(across * (size_t)s->to_y.n, sizeof *s->sum, "a picture");
    return s->row && s->part && s->sum ? 0 : LS_ENOMEM;
}

int ls__picture_fit(const ls__picture *p, ls_image_fit fit,
                    const int64_t shape[3], uint8_t *out)
{
    plan s = {.p = p, .channels = (int)shape[2]};
    int status;

    choose(&s, fit, shape[0], shape[1]);
    status = make_room(&s);
    if (status == 0) {
        add_rows(&s);
        memset(out, 0, (size_t)(shape[0] * shape[1] * shape[2]));
        put_means(&s, shape[1], out);
    }
    free(s.row);
    free(s.part);
    free(s.sum);
    return status;
}

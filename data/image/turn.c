/* SPDX-License-Identifier: BSD-3-Clause */
/* The orientation of EXIF: how a camera was held. */
#include "base/error.h"
#include "base/memory.h"
#include "image/picture.h"

#include <stdlib.h>
#include <string.h>

/* ------ Finding it: a TIFF header, in a JPEG's APP1 behind "Exif" and zeros,
 * has a first directory, which may have the tag 0x112 ------ */

enum { START = 6, TIFF = 8, ENTRY = 12, TAG = 0x112, SHORT = 3 };

/* `size` bytes as a number, least or most significant first. */
static uint32_t number(const uint8_t *p, int size, bool little)
{
    uint32_t x = 0;

    for (int i = 0; i < size; i++)
        x = x << 8 | p[little ? size - 1 - i : i];
    return x;
}

static int value(const uint8_t *entry, bool little)
{
    uint32_t is = number(entry + 8, 2, little);

    if (number(entry, 2, little) != TAG ||
        number(entry + 2, 2, little) != SHORT || is < 1 || is > 8)
        return 0;
    return (int)is;
}

int ls__picture_orientation(const uint8_t *exif, size_t n)
{
    bool jpeg = n >= START && memcmp(exif, "Exif\0\0", START) == 0, little;
    const uint8_t *tiff = exif + (jpeg ? START : 0);
    size_t at, entries;

    n -= jpeg ? START : 0;
    if (n < TIFF || (memcmp(tiff, "II", 2) != 0 && memcmp(tiff, "MM", 2) != 0))
        return 1;
    little = tiff[0] == 'I';
    at = number(tiff + 4, 4, little);
    if (at > n - 2)
        return 1;
    entries = number(tiff + at, 2, little);
    at += 2;
    for (; entries > 0 && n - at >= ENTRY; entries--, at += ENTRY) {
        int is = value(tiff + at, little);

        if (is)
            return is;
    }
    return 1;
}

/* ------ Turning ------ */

/* Pixel (y, x) of the result is pixel (y0 + y * yy + x * yx,
 * x0 + y * xy + x * xx) of the picture, y0 and x0 being 0, or the last where
 * the number that they begin with falls. */
typedef struct turning {
    int yy, yx, xy, xx;
} turning;

static const turning turnings[9] = {
    [2] = {1, 0, 0, -1},  [3] = {-1, 0, 0, -1}, [4] = {-1, 0, 0, 1},
    [5] = {0, 1, 1, 0},   [6] = {0, -1, 1, 0},  [7] = {0, -1, -1, 0},
    [8] = {0, 1, -1, 0},
};

static void turn(const ls__picture *p, const turning *t, ls__picture *out)
{
    int64_t y0 = t->yy + t->yx < 0 ? p->height - 1 : 0;
    int64_t x0 = t->xy + t->xx < 0 ? p->width - 1 : 0;
    size_t size = (size_t)p->channels;
    uint8_t *to = out->pixels;

    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++, to += size) {
            int64_t from = (y0 + y * t->yy + x * t->yx) * p->width + x0 +
                           y * t->xy + x * t->xx;

            memcpy(to, p->pixels + (size_t)from * size, size);
        }
}

int ls__picture_turn(ls__picture *p, int orientation)
{
    const turning *t = &turnings[orientation];
    ls__picture out = *p;

    if (orientation < 2)
        return 0;
    out.height = t->yx ? p->width : p->height;
    out.width = t->yx ? p->height : p->width;
    if (p->pixels) {
        out.pixels = ls__new((size_t)(p->height * p->width),
                             (size_t)p->channels, "a turned picture");
        if (!out.pixels)
            return LS_ENOMEM;
        turn(p, t, &out);
        free(p->pixels);
    }
    *p = out;
    return 0;
}

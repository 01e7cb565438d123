/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG and JPEG: an input is decoded as each of the two, and once more as a PNG
 * with the checksums that its chunks should have, behind which most damage
 * would never be seen. */
#define _GNU_SOURCE
#include "mutate.h"
#include "image/fit.h"
#include "write_pictures.h"

#include <unistd.h>
#include <zlib.h>

enum { SMALL = 1 << 20, SIGNATURE = 8, FRAME = 12 };

typedef int decoder(ls__picture *p, const ls__coded *from);

static void try(decoder *decode, const uint8_t *data, size_t size)
{
    static const int64_t shape[] = {5, 7, 3};
    ls__coded from = {"input", data, size, true};
    uint8_t out[5 * 7 * 3];
    ls__picture p = {0};

    if (decode(&p, &from) < 0 || p.height * p.width > SMALL)
        return;
    from.look = false;
    if (decode(&p, &from) == 0 &&
        ls__picture_fit(&p, LS_IMAGE_CROP, shape, out) < 0)
        abort();
    ls__picture_free(&p);
}

static uint32_t read_number(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

/* A chunk is its length, its name, so many bytes and a checksum. */
static void seal(uint8_t *data, size_t size)
{
    for (size_t at = SIGNATURE; size >= FRAME && at <= size - FRAME;) {
        size_t n = read_number(data + at);
        uint8_t *end;
        uLong sum;

        if (n > size - FRAME - at)
            return;
        end = data + at + 8 + n;
        sum = crc32(0, data + at + 4, (uInt)n + 4);
        for (int i = 0; i < 4; i++)
            end[i] = (uint8_t)(sum >> (24 - 8 * i));
        at += FRAME + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *sealed = malloc(size + 1);

    if (!sealed)
        abort();
    if (size)
        memcpy(sealed, data, size);
    try(ls__png_decode, data, size);
    try(ls__jpeg_decode, data, size);
    seal(sealed, size);
    try(ls__png_decode, sealed, size);
    free(sealed);
    return 0;
}

#ifndef FUZZING
#ifdef WITH_PICTURES
static size_t load(const char *path, uint8_t *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(to, 1, room, f) : 0;

    if (!n)
        abort();
    fclose(f);
    return n;
}

int main(void)
{
    enum { H = 9, W = 12, FORMS = 4 };
    static const png_form png[FORMS] = {
        {PNG_COLOR_TYPE_RGB, 8, false, 0, 0},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 16, true, 0, 0},
        {PNG_COLOR_TYPE_PALETTE, 4, true, 16, 5},
        {PNG_COLOR_TYPE_GRAY, 1, false, 0, 0}};
    static const jpeg_form jpeg[FORMS] = {{3, 80, 6, false, false},
                                          {3, 60, 0, true, false},
                                          {1, 90, 0, false, false},
                                          {4, 90, 0, true, true}};
    static uint8_t rows[H * W * 8], bytes[8192];
    char path[] = "/tmp/lockstep-fuzz-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0)
        abort();
    close(fd);
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)(i * 7 + i / 13);
    for (int i = 0; i < FORMS; i++) {
        write_png(path, H, W, &png[i], rows);
        feed(bytes, load(path, bytes, sizeof bytes), 500);
        write_jpeg(path, H, W, &jpeg[i], rows);
        feed(bytes, load(path, bytes, sizeof bytes), 500);
    }
    remove(path);
    puts("8 pictures, each damaged 500 times");
    return 0;
}
#else
int main(void)
{
    puts("skipped: this lockstep is built without libpng and libjpeg");
    return 77;
}
#endif
#endif

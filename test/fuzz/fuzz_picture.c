/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG and JPEG: an input is what it begins as, and both in turn. */
#define _GNU_SOURCE
#include "mutate.h"
#include "picture/fit.h"
#include "write_pictures.h"

#include <unistd.h>

enum { SMALL = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int (*const decode[])(ls__picture *, const ls__coded *) = {
        ls__png_decode, ls__jpeg_decode};
    static const int64_t shape[] = {5, 7, 3};

    for (int i = 0; i < 2; i++) {
        ls__coded from = {"input", data, size, true};
        uint8_t out[5 * 7 * 3];
        ls__picture p = {0};

        if (decode[i](&p, &from) < 0 || p.height * p.width > SMALL)
            continue;
        from.look = false;
        if (decode[i](&p, &from) == 0 &&
            ls__picture_fit(&p, LS_IMAGE_CROP, shape, out) < 0)
            abort();
        ls__picture_free(&p);
    }
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* A PNG: a signature and three chunks, of 8 bits a sample and without a
 * filter. */
#include "base/error.h"
#include "base/memory.h"
#include "disk/file.h"
#include "picture/letters.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_number(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(x >> (24 - 8 * i));
}

static int put_chunk(ls__newfile *f, const char name[4], const void *data,
                     size_t n)
{
    uint8_t head[8], end[4];
    uLong crc = crc32(crc32(0, (const Bytef *)name, 4), data, (uInt)n);
    int status;

    put_number(head, (uint32_t)n);
    memcpy(head + 4, name, 4);
    put_number(end, (uint32_t)crc);
    status = ls__newfile_write(f, head, sizeof head);
    if (status == 0 && n > 0)
        status = ls__newfile_write(f, data, n);
    return status == 0 ? ls__newfile_write(f, end, sizeof end) : status;
}

/* The rows, each after a zero: no filter. */
static uint8_t *make_lines(const ls__picture *p, size_t *n)
{
    size_t row = (size_t)(p->width * p->channels);
    uint8_t *lines;

    *n = (size_t)p->height * (row + 1);
    lines = ls__new(*n, 1, "a picture");
    for (size_t y = 0; lines && y < (size_t)p->height; y++)
        memcpy(lines + y * (row + 1) + 1, p->pixels + y * row, row);
    return lines;
}

static int put_pixels(const ls__picture *p, ls__newfile *f)
{
    size_t n;
    uint8_t *lines = make_lines(p, &n);
    uLongf size = compressBound(n);
    uint8_t *out = lines ? ls__new(size, 1, "a picture") : NULL;
    int status = LS_ENOMEM;

    if (out && compress2(out, &size, lines, n, 6) == Z_OK)
        status = put_chunk(f, "IDAT", out, size);
    else if (out)
        status = ls__no_memory("a picture", n);
    free(lines);
    free(out);
    return status;
}

static int put_all(const ls__picture *p, ls__newfile *f)
{
    uint8_t head[13] = {[8] = 8, [9] = p->channels == 1 ? 0 : 2};
    int status = ls__newfile_write(f, "\x89PNG\r\n\x1a\n", 8);

    put_number(head, (uint32_t)p->width);
    put_number(head + 4, (uint32_t)p->height);
    if (status == 0)
        status = put_chunk(f, "IHDR", head, sizeof head);
    if (status == 0)
        status = put_pixels(p, f);
    return status == 0 ? put_chunk(f, "IEND", "", 0) : status;
}

int ls__png_write(const ls__picture *p, const char *path)
{
    ls__aside file;
    int status = ls__aside_open(&file, path);

    if (status < 0)
        return status;
    status = put_all(p, &file.out);
    if (status == 0)
        status = ls__aside_finish(&file);
    ls__aside_close(&file);
    return status;
}

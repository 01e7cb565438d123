/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives a file to the decoder of what it holds. */
#include "image/picture.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "file/file.h"
#include "file/format.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 1 << 16 }; /* bytes that mostly have the size in them */

typedef int decoder(ls__picture *p, const ls__coded *from);

typedef struct kind {
    const char *name, *begin;
    size_t bytes; /* of begin */
    decoder *decode;
    const char *end[4];
} kind;

static const kind kinds[] = {
    {"PNG", "\x89PNG\r\n\x1a\n", 8, ls__png_decode, {".png"}},
    {"JPEG", "\xff\xd8\xff", 3, ls__jpeg_decode, {".jpg", ".jpeg", ".jpe"}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const kind *kind_by_name(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (const kind *k = kinds; dot && k < kinds + KINDS; k++)
        for (int i = 0; k->end[i]; i++)
            if (ls__same_letters(dot, k->end[i], SIZE_MAX))
                return k;
    return NULL;
}

static const kind *kind_by_bytes(const uint8_t *bytes, size_t n)
{
    for (const kind *k = kinds; k < kinds + KINDS; k++)
        if (n >= k->bytes && memcmp(bytes, k->begin, k->bytes) == 0)
            return k;
    return NULL;
}

bool ls__picture_named(const char *path)
{
    return kind_by_name(path) != NULL;
}

int ls__picture_size(ls__picture *p, const ls__coded *from, int64_t height,
                     int64_t width, int channels)
{
    if (height < 1 || width < 1)
        return ls__fail(LS_EFORMAT, "%s: a picture of %lldx%lld", from->path,
                        (long long)height, (long long)width);
    if (height > LS__PICTURE_SIDE || width > LS__PICTURE_SIDE ||
        height * width > LS__PICTURE_PIXELS)
        return ls__fail(LS_ENOTSUP, "%s: a picture of %lldx%lld is too large; "
                        "%d pixels are the most, %d of a side", from->path,
                        (long long)height, (long long)width, LS__PICTURE_PIXELS,
                        LS__PICTURE_SIDE);
    p->height = height;
    p->width = width;
    p->channels = channels;
    if (from->look)
        return 0;
    p->pixels = ls__new((size_t)(height * width), (size_t)channels, from->path);
    return p->pixels ? 0 : LS_ENOMEM;
}

/* Decodes by what a file holds, not by its name. */
static int decode(ls__picture *p, const ls__coded *from)
{
    const kind *is = kind_by_bytes(from->bytes, from->n);

    if (from->n == 0)
        return ls__fail(LS_EFORMAT, "%s: the file is empty", from->path);
    if (!is)
        return ls__format_tell(
            ls__fail(LS_EFORMAT, "%s: begins neither as PNG nor as JPEG",
                     from->path), from->path, LS__PICTURES);
    return is->decode(p, from);
}

static int read_head(ls__coded *from, const ls__file *file, uint8_t *room)
{
    from->bytes = room;
    from->n = file->size < HEADER ? (size_t)file->size : HEADER;
    return from->n ? ls__file_read(file, room, from->n, 0) : 0;
}

static int decode_head(ls__picture *p, const char *path, bool *is_all)
{
    ls__coded from = {.path = path, .look = true};
    uint8_t *room = ls__new(HEADER, 1, path);
    ls__file file = {0};
    int status = room ? ls__file_open(&file, path) : LS_ENOMEM;

    *is_all = !room || status < 0 || file.size <= HEADER;
    if (status == 0)
        status = read_head(&from, &file, room);
    if (status == 0)
        status = decode(p, &from);
    ls__file_close(&file);
    free(room);
    return status;
}

static int decode_all(ls__picture *p, const char *path, bool look)
{
    ls__coded from = {.path = path, .look = look};
    char *bytes;
    int status = ls__file_load(path, LS__PICTURE_FILE, &bytes, &from.n);

    if (status < 0)
        return status;
    from.bytes = (const uint8_t *)bytes;
    status = decode(p, &from);
    free(bytes);
    return status;
}

int ls__picture_read(ls__picture *p, const char *path)
{
    int status;

    *p = (ls__picture){0};
    status = decode_all(p, path, false);
    if (status < 0)
        ls__picture_free(p);
    return status;
}

int ls__picture_look(ls__picture *p, const char *path)
{
    bool is_all;
    int status;

    *p = (ls__picture){0};
    status = decode_head(p, path, &is_all);
    return status == LS_EFORMAT && !is_all ? decode_all(p, path, true) : status;
}

void ls__picture_free(ls__picture *p)
{
    free(p->pixels);
    *p = (ls__picture){0};
}

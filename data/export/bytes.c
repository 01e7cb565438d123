/* SPDX-License-Identifier: BSD-3-Clause */
/* See bytes.h. */
#include "export/bytes.h"
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

char *ls__bytes_grow(ls__bytes *b, size_t n)
{
    size_t room = b->room ? b->room : 64;
    char *grown;

    if (b->failed)
        return NULL;
    while (room - b->size <= n)
        room *= 2;
    if (room > b->room) {
        if (!(grown = realloc(b->bytes, room))) {
            b->failed = true;
            return NULL;
        }
        b->bytes = grown;
        b->room = room;
    }
    b->size += n;
    b->bytes[b->size] = 0;
    return b->bytes + b->size - n;
}

void ls__bytes_add(ls__bytes *b, const void *bytes, size_t n)
{
    char *at = ls__bytes_grow(b, n);

    if (at && n)
        memcpy(at, bytes, n);
}

void ls__bytes_free(ls__bytes *b)
{
    free(b->bytes);
    *b = (ls__bytes){0};
}

int ls__bytes_save(const char *path, const void *bytes, size_t n)
{
    ls__aside file = {0};
    int status = ls__aside_open(&file, path);

    if (status == 0)
        status = ls__newfile_write(&file.out, bytes, n);
    if (status == 0)
        status = ls__aside_finish(&file);
    ls__aside_close(&file);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* One gzip stream, read in pieces. */
#ifndef LS_ARRAY_GUNZIP_H
#define LS_ARRAY_GUNZIP_H

#include "file/file.h"

#include <stdbool.h>
#include <zlib.h>

typedef struct ls__gunzip {
    z_stream stream;
    const ls__file *in; /* borrowed */
    uint8_t *feed;      /* a piece of it */
    int64_t fed;        /* bytes of it that zlib has been given */
    int ended;
} ls__gunzip;

/* Does a file that begins with these two bytes hold such a stream? */
static inline bool ls__gunzip_looks(const uint8_t *head)
{
    return head[0] == 0x1f && head[1] == 0x8b;
}

int ls__gunzip_open(ls__gunzip *g, const ls__file *in);
void ls__gunzip_close(ls__gunzip *g);

/* The next n bytes, fewer only where the stream ends: how many, or a status. */
int64_t ls__gunzip_read(ls__gunzip *g, void *out, int64_t n);

/* 0 when the stream ends here, checksum and all, and the file with it. */
int ls__gunzip_end(ls__gunzip *g);

#endif

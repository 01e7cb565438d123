/* SPDX-License-Identifier: BSD-3-Clause */
/* Inflation of deflated data in a file, read in pieces: by itself, or as a
 * stream of gzip. */
#ifndef LS_ARRAY_INFLATE_H
#define LS_ARRAY_INFLATE_H

#include "file/file.h"

#include <stdbool.h>
#include <zlib.h>

typedef struct ls__inflate {
    z_stream stream;
    const ls__file *in; /* borrowed */
    int64_t at, left;   /* what zlib has not been given yet */
    uint8_t *feed;      /* a piece of what it has; NULL: not open */
    bool ended;
} ls__inflate;

/* Begin to read n bytes of a file.  bits: zlib's windowBits.  It takes its
 * memory where the library does.  LS_ENOMEM: there is nothing to close. */
int ls__inflate_open(ls__inflate *s, const ls__file *in, int64_t at, int64_t n,
                     int bits);
void ls__inflate_close(ls__inflate *s);

/* The next n bytes, fewer only where the stream ends: how many, or a status.
 * LS_EFORMAT has no message: *error is what zlib said. */
int64_t ls__inflate_read(ls__inflate *s, void *out, int64_t n, int *error);

/* The most that n bytes can be inflated to: deflate writes 258 bytes for two
 * bits (RFC 1951, 3.2.5). */
int64_t ls__inflate_most(int64_t n);

/* ------ gzip: all of a file ------ */

/* Does a file that begins with these two bytes hold such a stream? */
static inline bool ls__gunzip_looks(const uint8_t *head)
{
    return head[0] == 0x1f && head[1] == 0x8b;
}

int ls__gunzip_open(ls__inflate *s, const ls__file *in);

/* The same as ls__inflate_read; LS_EFORMAT says where it is damaged. */
int64_t ls__gunzip_read(ls__inflate *s, void *out, int64_t n);

/* 0 when the stream ends here, checksum and all, and the file with it. */
int ls__gunzip_end(ls__inflate *s);

#endif

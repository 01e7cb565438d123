/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of a ZIP archive (PKWARE's APPNOTE 6.3: stored or deflated, with
 * ZIP64's sizes, no encryption). */
#ifndef LS_ARRAY_ZIP_H
#define LS_ARRAY_ZIP_H

#include "array/inflate.h"

/* The central directory of an archive, with its members in the file's order. */
typedef struct ls__zip {
    const ls__file *file; /* borrowed */
    uint8_t *directory;   /* all of it */
    int64_t *entry;       /* [members] where in it each begins */
    int64_t begins;       /* offset in the file: members lie before it */
    int64_t size;
    int64_t members;
} ls__zip;

/* LS_EFORMAT names the byte at which something is wrong. */
int ls__zip_open(ls__zip *zip, const ls__file *file);
void ls__zip_close(ls__zip *zip);

/* The name of member i: no zero byte after its `length`. */
const char *ls__zip_name(const ls__zip *zip, int64_t i, int *length);

/* A member that is read from its beginning on, a piece at a time: what the file
 * unpacks to is nowhere in memory. */
typedef struct ls__zip_member {
    const ls__zip *zip;
    const uint8_t *entry; /* in the directory */
    int flags, method;
    uint32_t crc, sum;    /* as its entry says, and of what was read */
    int64_t packed, size; /* bytes in the file, and of what they stand for */
    int64_t begins;       /* its header */
    int name;             /* bytes of it */
    int64_t at, left;     /* stored: bytes that were not read yet */
    ls__inflate stream;   /* deflated */
} ls__zip_member;

/* Begin to read member i; close it in either case.  What it says of its size is
 * believed where that many bytes can come of those in the file.  No other
 * member may lie in its place. */
int ls__member_open(ls__zip_member *m, const ls__zip *zip, int64_t i);
void ls__member_close(ls__zip_member *m);

/* The next n bytes, a piece of at most LS__PIECE.  LS_EFORMAT: they are not
 * there. */
enum { LS__PIECE = 1 << 20 };
int ls__member_read(ls__zip_member *m, void *out, size_t n);

/* 0 when all was read and the checksum holds. */
int ls__member_end(ls__zip_member *m);

#endif

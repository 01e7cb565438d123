/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that grow in memory.  Memory that cannot be had makes them failed;
 * later calls then do nothing, so that whoever writes asks once, at the end. */
#ifndef LS_EXPORT_BYTES_H
#define LS_EXPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ls__bytes {
    char *bytes; /* a zero stands behind them; NULL: there are none */
    size_t size, room;
    bool failed;
} ls__bytes;

/* Place for n more bytes; NULL: there is none. */
char *ls__bytes_grow(ls__bytes *b, size_t n);

void ls__bytes_add(ls__bytes *b, const void *bytes, size_t n);
void ls__bytes_free(ls__bytes *b);

/* Write a file of n bytes, which appears whole or not at all. */
int ls__bytes_save(const char *path, const void *bytes, size_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A record as bytes, whose seal is made right after damage, so that damage gets
 * past it. */
#ifndef TEST_RECORD_BYTES_H
#define TEST_RECORD_BYTES_H

#include "audit/record_form.h"
#include "base/sha.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEAL = 32 };

/* All bytes of a file, and room for one more; to be freed. */
static inline uint8_t *read_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes;

    if (!f || fseek(f, 0, SEEK_END) != 0)
        abort();
    *n = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*n + 1);
    if (!bytes || fread(bytes, 1, *n, f) != *n)
        abort();
    fclose(f);
    return bytes;
}

static inline ls__record_header header_of(const uint8_t *file)
{
    ls__record_header h;

    memcpy(&h, file, sizeof h);
    ls__record_header_turn(&h);
    return h;
}

static inline void put_header(uint8_t *file, ls__record_header h)
{
    ls__record_header_turn(&h);
    memcpy(file, &h, sizeof h);
}

/* Seal n bytes again.  The head takes what the other parts leave; false: there
 * is no room for them. */
static inline bool reseal_record(uint8_t *file, size_t n)
{
    ls__record_header h;
    uint64_t others;
    ls__sha256 sha;

    if (n < sizeof h + SEAL)
        return false;
    h = header_of(file);
    if (h.tail_at > n || h.entries > n / sizeof(ls__record_entry) ||
        h.names_bytes > n)
        return false;
    others = h.tail_at + h.entries * sizeof(ls__record_entry) +
             h.names_bytes + SEAL;
    if (others > n)
        return false;
    h.head_bytes = n - others;
    put_header(file, h);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, file, sizeof h);
    ls__sha256_update(&sha, file + h.tail_at, n - SEAL - (size_t)h.tail_at);
    ls__sha256_final(&sha, file + n - SEAL);
    return true;
}

#endif

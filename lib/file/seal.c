/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealing texts.  A quote inside a JSON string is written with a backslash, so
 * the key with its quotes stands in no name or value. */
#define _GNU_SOURCE /* memmem */
#include "file/seal.h"

#include <string.h>
#include <zlib.h>

enum { DIGITS = 8 };
_Static_assert(sizeof LS__SEAL_OPEN - 1 == DIGITS, "open digits are digits");

char *ls__seal_find(char *text, size_t n)
{
    static const char key[] = "\"" LS__SEAL "\"";
    char *at = memmem(text, n, key, sizeof key - 1), *end = text + n;

    if (!at)
        return NULL;
    for (at += sizeof key - 1; at < end && (*at == ' ' || *at == ':');)
        at++;
    return end - at > DIGITS + 1 && at[0] == '"' && at[DIGITS + 1] == '"'
               ? at + 1 : NULL;
}

uint32_t ls__crc32(uint32_t crc, const void *data, size_t bytes)
{
    return bytes ? (uint32_t)crc32_z(crc, data, bytes) : crc;
}

void ls__seal_close(char *digits, uint32_t crc)
{
    for (int i = 0; i < DIGITS; i++)
        digits[i] = "0123456789abcdef"[crc >> (28 - 4 * i) & 15];
}

bool ls__seal_holds(char *text, size_t n, const void *data, size_t size)
{
    char found[DIGITS], right[DIGITS], *at = ls__seal_find(text, n);

    if (!at)
        return false;
    memcpy(found, at, DIGITS);
    memcpy(at, LS__SEAL_OPEN, DIGITS);
    ls__seal_close(right, ls__crc32(ls__crc32(0, text, n), data, size));
    memcpy(at, found, DIGITS);
    return !memcmp(found, right, DIGITS);
}

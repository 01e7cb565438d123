/* SPDX-License-Identifier: BSD-3-Clause */
#include "features.h"

/* FNV-1a of n bytes. */
static uint32_t hash(const unsigned char *text, int n)
{
    uint32_t h = 2166136261u;

    while (n-- > 0)
        h = (h ^ *text++) * 16777619u;
    return (h ^ h >> 15) % FEATURES_COUNT;
}

void features(const char *text, size_t n, int32_t *out)
{
    unsigned char byte[FEATURES_BYTES];
    int k = 0, count = 0, size;

    /* Capital letters of ASCII are small ones, what ends a word a space. */
    for (; count < FEATURES_BYTES && n > 0; n--) {
        unsigned char c = (unsigned char)*text++;

        c = (unsigned char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
        byte[count++] = c < 128 && (c < 'a' || c > 'z') ? ' ' : c;
    }
    for (size = 1; size <= 4; size++)
        for (int i = 0; i + size <= count; i++)
            out[k++] = (int32_t)hash(byte + i, size);
    while (k < FEATURES)
        out[k++] = -1;
}

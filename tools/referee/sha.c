/* SPDX-License-Identifier: BSD-3-Clause */
/* See sha.h. */
#include "sha.h"

#include <stdio.h>
#include <string.h>

#define TURN(x, by) ((x) >> (by) | (x) << (32 - (by)))

static void take_block(uint32_t h[8], const uint8_t *p)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
        0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
        0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
        0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
        0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
        0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], v[8];

    for (int i = 0; i < 16; i++) {
        const uint8_t *q = p + 4 * i;

        w[i] = (uint32_t)q[0] << 24 | (uint32_t)q[1] << 16 |
               (uint32_t)q[2] << 8 | q[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] +
               (TURN(a, 7) ^ TURN(a, 18) ^ a >> 3) +
               (TURN(b, 17) ^ TURN(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0], e = v[4], x, y;

        x = v[7] + (TURN(e, 6) ^ TURN(e, 11) ^ TURN(e, 25)) +
            ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        y = (TURN(a, 2) ^ TURN(a, 13) ^ TURN(a, 22)) +
            ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += x;
        v[0] = x + y;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void sha_begin(sha *s)
{
    static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                  0xa54ff53a, 0x510e527f, 0x9b05688c,
                                  0x1f83d9ab, 0x5be0cd19};

    memcpy(s->h, h, sizeof h);
    s->bytes = 0;
}

void sha_add(sha *s, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n > 0) {
        size_t at = s->bytes % 64, some = 64 - at < n ? 64 - at : n;

        if (some == 64) {
            take_block(s->h, p);
        } else {
            memcpy(s->block + at, p, some);
            if (at + some == 64)
                take_block(s->h, s->block);
        }
        s->bytes += some;
        p += some;
        n -= some;
    }
}

void sha_number(sha *s, uint64_t n)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(n >> 8 * i);
    sha_add(s, bytes, 8);
}

void sha_end(sha *s, uint8_t hash[HASH])
{
    static const uint8_t fill[64] = {0x80};
    uint64_t bits = 8 * s->bytes;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha_add(s, fill, 1 + (119 - s->bytes % 64) % 64);
    sha_add(s, length, 8);
    for (int i = 0; i < HASH; i++)
        hash[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha_hex(const uint8_t hash[HASH], char hex[2 * HASH + 1])
{
    for (int i = 0; i < HASH; i++)
        sprintf(hex + 2 * i, "%02x", hash[i]);
}

int sha_is(const uint8_t hash[HASH], const char *hex)
{
    char is[2 * HASH + 1];

    sha_hex(hash, is);
    return !strcmp(is, hex);
}

void hash_pair(const uint8_t both[2 * HASH], uint8_t hash[HASH])
{
    sha s;

    sha_begin(&s);
    sha_add(&s, both, 2 * HASH);
    sha_add(&s, "\1", 1);
    sha_end(&s, hash);
}

void sha_word(sha *s, uint32_t x)
{
    const uint8_t word[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16),
                             (uint8_t)(x >> 24)};

    sha_add(s, word, 4);
}

void hash_words(const uint32_t *x, long n, uint8_t hash[HASH])
{
    sha s;

    sha_begin(&s);
    for (long i = 0; i < n; i++)
        sha_word(&s, x[i]);
    sha_add(&s, "", 1);
    sha_end(&s, hash);
}

void hash_tree(uint8_t *hash, int64_t n)
{
    for (; n > 1; n = (n + 1) / 2)
        for (int64_t i = 0; i < n; i += 2)
            if (i + 1 < n)
                hash_pair(hash + HASH * i, hash + HASH / 2 * i);
            else
                memmove(hash + HASH / 2 * i, hash + HASH * i, HASH);
}

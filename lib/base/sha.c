/* SPDX-License-Identifier: BSD-3-Clause */
/* Both hashes cut the message into blocks of 64 bytes, the last padded with a
 * one bit, zeros and the length in bits; they differ in how a block is mixed
 * in.  Hashing is no part of a step. */
#include "base/sha.h"
#include "base/assert.h"
#include "base/little.h"

#include <string.h>

static uint32_t rotl(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t get(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static void put(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void update(ls__sha *sha, const uint8_t *p, size_t size,
                   ls__sha_mix *mix)
{
    while (size > 0) {
        size_t at = (size_t)(sha->size % 64);
        size_t part = size < 64 - at ? size : 64 - at;
        memcpy(sha->block + at, p, part);
        sha->size += part;
        p += part;
        size -= part;
        if (at + part == 64)
            mix(sha->word, sha->block);
    }
}

/* Mix in what waits with its padding, and write the digest's words. */
static void finish(ls__sha *sha, int words, uint8_t *digest, ls__sha_mix *mix)
{
    uint64_t size = sha->size;
    size_t at = (size_t)(size % 64);

    LS__ASSERT(words <= (int)(sizeof sha->word / sizeof *sha->word));
    sha->block[at++] = 0x80;
    if (at > 56) {
        memset(sha->block + at, 0, 64 - at);
        mix(sha->word, sha->block);
        at = 0;
    }
    memset(sha->block + at, 0, 56 - at);
    put(sha->block + 56, (uint32_t)(size >> 29));
    put(sha->block + 60, (uint32_t)(size << 3));
    mix(sha->word, sha->block);
    for (int i = 0; i < words; i++)
        put(digest + 4 * i, sha->word[i]);
}

/* ------ SHA-1 ------ */

static const uint32_t sha1_start[5] = {0x67452301, 0xefcdab89, 0x98badcfe,
                                       0x10325476, 0xc3d2e1f0};

/* Round i of 80: its function of b, c, d and its constant, by quarters. */
static uint32_t sha1_round(int i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void sha1_mix(uint32_t *word, const uint8_t *block)
{
    uint32_t w[80], s[5];
    for (int i = 0; i < 16; i++)
        w[i] = get(block + 4 * i);
    for (int i = 16; i < 80; i++)
        w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(s, word, sizeof s);
    for (int i = 0; i < 80; i++) {
        uint32_t t = rotl(s[0], 5) + sha1_round(i, s[1], s[2], s[3]) + s[4] +
                     w[i];
        s[4] = s[3];
        s[3] = s[2];
        s[2] = rotl(s[1], 30);
        s[1] = s[0];
        s[0] = t;
    }
    for (int i = 0; i < 5; i++)
        word[i] += s[i];
}

void ls__sha1_init(ls__sha1 *sha)
{
    memcpy(sha->word, sha1_start, sizeof sha1_start);
    sha->size = 0;
}

void ls__sha1_update(ls__sha1 *sha, const void *data, size_t size)
{
    update(sha, data, size, sha1_mix);
}

void ls__sha1_final(ls__sha1 *sha, uint8_t digest[20])
{
    finish(sha, 5, digest, sha1_mix);
}

/* ------ SHA-256 ------ */

static const uint32_t sha256_start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

const uint32_t ls__sha256_constants[64] = {
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
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_spread(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = get(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        a = rotr(a, 7) ^ rotr(a, 18) ^ a >> 3;
        b = rotr(b, 17) ^ rotr(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

void ls__sha256_mix(uint32_t *word, const uint8_t *block)
{
    uint32_t w[64];
    uint32_t a = word[0], b = word[1], c = word[2], d = word[3];
    uint32_t e = word[4], f = word[5], g = word[6], h = word[7];
    sha256_spread(w, block);
    for (int i = 0; i < 64; i++) {
        uint32_t t = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
                     ((e & f) ^ (~e & g)) + ls__sha256_constants[i] + w[i];
        uint32_t u = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
                     ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t;
        d = c, c = b, b = a, a = t + u;
    }
    word[0] += a, word[1] += b, word[2] += c, word[3] += d;
    word[4] += e, word[5] += f, word[6] += g, word[7] += h;
}

void ls__sha256_init(ls__sha256 *sha)
{
    memcpy(sha->word, sha256_start, sizeof sha256_start);
    sha->size = 0;
    sha->mix = ls__sha256_fast() ? ls__sha256_mix_fast : ls__sha256_mix;
}

void ls__sha256_update(ls__sha256 *sha, const void *data, size_t size)
{
    LS__ASSERT(sha->mix == ls__sha256_mix || sha->mix == ls__sha256_mix_fast);
    update(sha, data, size, sha->mix);
}

void ls__sha256_words(ls__sha256 *sha, const void *words, size_t n)
{
    const uint32_t *from = words;
    uint32_t piece[64];

    if (LS__IS_LITTLE) {
        ls__sha256_update(sha, words, n * sizeof *piece);
        return;
    }
    for (size_t m; n > 0; n -= m, from += m) {
        m = n < 64 ? n : 64;
        memcpy(piece, from, m * sizeof *piece);
        ls__little(piece, m, sizeof *piece);
        ls__sha256_update(sha, piece, m * sizeof *piece);
    }
}

void ls__sha256_number(ls__sha256 *sha, int64_t x)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)x >> 8 * i);
    ls__sha256_update(sha, bytes, sizeof bytes);
}

void ls__sha256_final(ls__sha256 *sha, uint8_t digest[32])
{
    finish(sha, 8, digest, sha->mix);
}

void ls__sha256_hex(ls__sha256 *sha, char hex[65])
{
    static const char digit[] = "0123456789abcdef";
    uint8_t digest[32];
    ls__sha256_final(sha, digest);
    for (int i = 0; i < 32; i++) {
        hex[2 * i] = digit[digest[i] >> 4];
        hex[2 * i + 1] = digit[digest[i] & 15];
    }
    hex[64] = 0;
}

bool ls__is_digest(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

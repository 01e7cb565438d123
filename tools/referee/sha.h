/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256, and the trees of arrays (docs/transcript.md, "The root of a state").
 */
#ifndef REFEREE_SHA_H
#define REFEREE_SHA_H

#include <stddef.h>
#include <stdint.h>

enum { LEAF = 4096 /* words, at most */, HASH = 32 /* bytes */ };

typedef struct sha {
    uint32_t h[8];
    uint8_t block[64];
    uint64_t bytes;
} sha;

void sha_begin(sha *s);
void sha_add(sha *s, const void *bytes, size_t n);
void sha_number(sha *s, uint64_t n); /* 8 bytes, little end first */
void sha_word(sha *s, uint32_t x);   /* 4 */
void sha_end(sha *s, uint8_t hash[HASH]);

/* A hash as a text; is it that text? */
void sha_hex(const uint8_t hash[HASH], char hex[2 * HASH + 1]);
int sha_is(const uint8_t hash[HASH], const char *hex);

/* Of two children, and a byte 1; of n words, little end first, and a byte 0. */
void hash_pair(const uint8_t both[2 * HASH], uint8_t hash[HASH]);
void hash_words(const uint32_t *x, long n, uint8_t hash[HASH]);

/* The root of n hashes of leaves, which takes the place of the first.  A node
 * without a partner rises as it is. */
void hash_tree(uint8_t *hash, int64_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256, and the trees of arrays (docs/transcript.md, "The root of a state").
 */
#ifndef REFEREE_SHA_H
#define REFEREE_SHA_H

#include <stddef.h>
#include <stdint.h>

enum { LEAF = 4096, ROOT = 8 }; /* words: at most, and always */

typedef struct sha {
    uint32_t h[8];
    uint8_t block[64];
    uint64_t bytes;
} sha;

void sha_begin(sha *s);
void sha_add(sha *s, const void *bytes, size_t n);
void sha_number(sha *s, uint64_t n); /* 8 bytes, little end first */
void sha_word(sha *s, uint32_t x);   /* 4 */
void sha_end(sha *s, uint32_t hash[8]);

void sha_digest(const uint32_t hash[8], uint8_t bytes[32]);
void sha_hex(const uint32_t hash[8], char hex[65]);

/* Of two children, and a byte 1; of n words, little end first, and a byte 0. */
void hash_pair(const uint32_t both[16], uint32_t hash[8]);
void hash_words(const uint32_t *x, long n, uint32_t hash[8]);

/* The root of n hashes of leaves, which takes the place of the first.  A node
 * without a partner rises as it is. */
void hash_tree(uint32_t *hash, int64_t n);

#endif

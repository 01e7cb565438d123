/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-1 and SHA-256 (FIPS 180-4).  SHA-1 derives Flax's parameter keys and
 * secures nothing; SHA-256 names states and files. */
#ifndef LS_BASE_SHA_H
#define LS_BASE_SHA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mix a block of 64 bytes into the hash so far. */
typedef void ls__sha_mix(uint32_t *word, const uint8_t *block);

/* A message on its way; after the final it must be initialised again. */
typedef struct ls__sha {
    uint32_t word[8];  /* the hash so far; SHA-1 has 5 */
    uint64_t size;     /* bytes taken in */
    uint8_t block[64]; /* size % 64 of them wait here */
    ls__sha_mix *mix;  /* SHA-256: the one of this CPU */
} ls__sha;

_Static_assert(sizeof((ls__sha *)0)->block == 64, "a message's blocks");

typedef ls__sha ls__sha1;
typedef ls__sha ls__sha256;

void ls__sha1_init(ls__sha1 *sha);
void ls__sha1_update(ls__sha1 *sha, const void *data, size_t size);
void ls__sha1_final(ls__sha1 *sha, uint8_t digest[20]);

void ls__sha256_init(ls__sha256 *sha);
void ls__sha256_update(ls__sha256 *sha, const void *data, size_t size);
void ls__sha256_final(ls__sha256 *sha, uint8_t digest[32]);

/* Update with n numbers of four bytes, each little end first. */
void ls__sha256_words(ls__sha256 *sha, const void *words, size_t n);

/* Update with a number as 8 bytes, little end first. */
void ls__sha256_number(ls__sha256 *sha, int64_t x);

/* The same end as 64 hex digits. */
void ls__sha256_hex(ls__sha256 *sha, char hex[65]);

/* Is a text 64 lower-case hex digits? */
bool ls__is_digest(const char *text);

/* SHA-256's mix, in plain C and, where _fast() says that the CPU has them, by
 * instructions of its own. */
extern const uint32_t ls__sha256_constants[64];
ls__sha_mix ls__sha256_mix, ls__sha256_mix_fast;
bool ls__sha256_fast(void);

/* Mix `blocks` blocks of 64 bytes of each of two messages, side by side: the
 * CPU's instructions wait for each other, so two take little longer than one.
 * Where the CPU has none it is for callers to mix one after the other. */
void ls__sha256_mix_two(uint32_t *const word[2], const uint8_t *const data[2],
                        size_t blocks);

#endif

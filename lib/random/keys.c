/* SPDX-License-Identifier: BSD-3-Clause */
/* Flax NNX counts the requests to a stream; Flax linen hashes a parameter's
 * path, so there its key does not depend on what was made before. */
#include "random/keys.h"

#include <string.h>

#include "base/sha.h"

ls_key ls__key_nnx(ls_key root, uint64_t count)
{
    return ls_key_fold_in(root, (uint32_t)count);
}

/* The names of the scope with nothing between or behind them. */
static void hash_scope(ls__sha1 *sha, const char *scope)
{
    while (*scope) {
        size_t size = strcspn(scope, ".");
        ls__sha1_update(sha, scope, size);
        scope += size;
        scope += *scope == '.';
    }
}

/* The count as big-endian bytes without leading zeros. */
static void hash_count(ls__sha1 *sha, uint64_t count)
{
    for (int shift = 56; shift >= 0; shift -= 8) {
        uint8_t byte = (uint8_t)(count >> shift);
        if (count >> shift)
            ls__sha1_update(sha, &byte, 1);
    }
}

uint32_t ls__linen_hash(const char *scope, uint64_t count)
{
    ls__sha1 sha;
    uint8_t d[20];
    ls__sha1_init(&sha);
    hash_scope(&sha, scope);
    hash_count(&sha, count);
    ls__sha1_final(&sha, d);
    return (uint32_t)d[0] << 24 | (uint32_t)d[1] << 16 | (uint32_t)d[2] << 8 |
           d[3];
}

ls_key ls__key_linen(ls_key root, const char *scope, uint64_t count)
{
    return ls_key_fold_in(root, ls__linen_hash(scope, count));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The hashes of a Merkle tree. */
#include "state/merkle.h"
#include "base/assert.h"
#include "base/sha.h"

#include <string.h>

enum { BYTES = LS__LEAF * sizeof(float), BLOCKS = BYTES / 64 };

_Static_assert(BYTES % 64 == 0, "a leaf is whole blocks of SHA-256");
_Static_assert(sizeof(ls__digest) == 32, "no padding between two children");

static ls__digest end(ls__sha256 *sha, uint8_t tag)
{
    ls__digest digest;

    ls__sha256_update(sha, &tag, 1);
    ls__sha256_final(sha, digest.byte);
    return digest;
}

static ls__digest hash_one(const float *values, int64_t floats)
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_words(&sha, values, (size_t)floats);
    return end(&sha, 0);
}

/* Two whole leaves that follow each other, where the machine is little-endian:
 * no other has a fast mix. */
static void hash_two(const float *values, ls__digest *leaf)
{
    ls__sha256 sha[2];
    uint32_t *const word[2] = {sha[0].word, sha[1].word};
    const uint8_t *const data[2] = {(const uint8_t *)values,
                                    (const uint8_t *)(values + LS__LEAF)};

    for (int i = 0; i < 2; i++)
        ls__sha256_init(&sha[i]);
    ls__sha256_mix_two(word, data, BLOCKS);
    for (int i = 0; i < 2; i++) {
        sha[i].size = BYTES;
        leaf[i] = end(&sha[i], 0);
    }
}

void ls__merkle_hash(const float *values, int64_t floats, int64_t first,
                     int64_t last, ls__digest *leaf)
{
    int64_t pairs = ls__sha256_fast() ? (last - first) / 2 : 0;
    int64_t i = first;

    LS__ASSERT(0 <= first && first <= last &&
               last <= ls__merkle_leaves(floats));
    for (; pairs-- > 0 && (i + 2) * LS__LEAF <= floats; i += 2)
        hash_two(values + i * LS__LEAF, leaf + i);
    for (; i < last; i++) {
        int64_t left = floats - i * LS__LEAF;

        leaf[i] = hash_one(values + i * LS__LEAF,
                           left < LS__LEAF ? left : LS__LEAF);
    }
}

ls__digest ls__merkle_pair(const ls__digest *children)
{
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, children, 2 * sizeof *children);
    return end(&sha, 1);
}

ls__digest ls__merkle_root(ls__digest *node, int64_t leaves)
{
    ls__digest none;
    ls__sha256 sha;

    for (; leaves > 1; leaves = (leaves + 1) / 2) {
        for (int64_t i = 0; i + 1 < leaves; i += 2)
            node[i / 2] = ls__merkle_pair(node + i);
        if (leaves % 2)
            node[leaves / 2] = node[leaves - 1];
    }
    if (leaves == 1)
        return node[0];
    ls__sha256_init(&sha);
    ls__sha256_final(&sha, none.byte);
    return none;
}

void ls__digest_text(const ls__digest *d, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 32; i++) {
        text[2 * i] = digits[d->byte[i] >> 4];
        text[2 * i + 1] = digits[d->byte[i] & 15];
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves the Merkle tree of floats: its leaves and nodes against hashes that
 * are put together byte by byte, for every number of leaves from 0 to 40 and
 * last leaves of any length; and that leaves hashed in any parts, two side by
 * side or one by one, have the same digests. */
#include "state/merkle.h"
#include "base/sha.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };

static ls__digest hash(const void *data, size_t bytes, int tag)
{
    uint8_t byte = (uint8_t)tag;
    ls__digest digest;
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, data, bytes);
    if (tag >= 0)
        ls__sha256_update(&sha, &byte, 1);
    ls__sha256_final(&sha, digest.byte);
    return digest;
}

/* RFC 6962's own words: the left tree has the largest power of two of leaves
 * that is less than all. */
static ls__digest plain_root(const float *x, int64_t floats, int64_t leaves)
{
    int64_t left = 1;
    ls__digest child[2];

    if (leaves == 0)
        return hash("", 0, -1);
    if (leaves == 1)
        return hash(x, (size_t)floats * sizeof *x, 0);
    while (2 * left < leaves)
        left *= 2;
    child[0] = plain_root(x, left * LS__LEAF, left);
    child[1] = plain_root(x + left * LS__LEAF, floats - left * LS__LEAF,
                          leaves - left);
    return hash(child, sizeof child, 1);
}

static float *numbers(void)
{
    float *x = malloc(MOST * LS__LEAF * sizeof *x);

    ck_assert_ptr_nonnull(x);
    ls_random_bits(ls_key_new(5), 0, MOST * LS__LEAF, (uint32_t *)x);
    return x;
}

TEST(roots)
{
    static const int64_t more[] = {1, 16, 4095, 4096};
    float *x = numbers();
    ls__digest leaf[MOST], want, got;

    for (int64_t n = 0; n <= MOST; n++)
        for (int k = 0; k < (n ? 4 : 1); k++) {
            int64_t floats = n ? (n - 1) * LS__LEAF + more[k] : 0;

            ck_assert_int_eq(ls__merkle_leaves(floats), n);
            ls__merkle_hash(x, floats, 0, n, leaf);
            want = plain_root(x, floats, n);
            got = ls__merkle_root(leaf, n);
            ck_assert_mem_eq(&got, &want, sizeof want);
        }
    free(x);
}

/* Whoever hashes them: one worker all, or several a part each. */
TEST(parts)
{
    int64_t floats = MOST * LS__LEAF - 100;
    float *x = numbers();
    ls__digest all[MOST], part[MOST];

    ls__merkle_hash(x, floats, 0, MOST, all);
    for (int n = 1; n <= 7; n++) {
        memset(part, 0, sizeof part);
        for (int i = 0; i < n; i++)
            ls__merkle_hash(x, floats, MOST * i / n, MOST * (i + 1) / n, part);
        ck_assert_mem_eq(part, all, sizeof all);
    }
    free(x);
}

MAIN()

/* SPDX-License-Identifier: BSD-3-Clause */
/* jax.random.permutation (shuffle): sort the numbers by random words, more than
 * once when words are likely to repeat.  The sort is stable (radix, 8 bits a
 * pass), so equal words have one outcome. */
#include "random/permutation.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

typedef struct card {
    uint32_t word;
    int32_t value;
} card;

/* Order n cards by one byte of their words, from a to b. */
static void sort_pass(int64_t n, const card *a, card *b, int shift)
{
    int64_t start[257] = {0};
    for (int64_t i = 0; i < n; i++)
        start[(a[i].word >> shift & 255) + 1]++;
    for (int i = 0; i < 256; i++)
        start[i + 1] += start[i];
    for (int64_t i = 0; i < n; i++)
        b[start[a[i].word >> shift & 255]++] = a[i];
}

static void shuffle(ls_key key, int64_t n, int32_t *value, card *a, card *b)
{
    enum { CHUNK = 256 };
    uint32_t word[CHUNK];
    for (int64_t i = 0; i < n; i++) {
        int64_t left = n - i;
        if (i % CHUNK == 0)
            ls_random_bits(key, (uint64_t)i, left < CHUNK ? left : CHUNK, word);
        a[i] = (card){word[i % CHUNK], value[i]};
    }
    for (int shift = 0; shift < 32; shift += 16) {
        sort_pass(n, a, b, shift);
        sort_pass(n, b, a, shift + 8);
    }
    for (int64_t i = 0; i < n; i++)
        value[i] = a[i].value;
}

/* ceil(3 ln n / ln(2^32 - 1)) */
static int rounds(int64_t n)
{
    return (n > 1) + (n > 1625) + (n > 2642245);
}

size_t ls__permutation_scratch(int64_t n)
{
    return 2 * sizeof(card) * (size_t)n;
}

void ls__permutation(ls_key key, int64_t n, int32_t *out, void *scratch)
{
    card *a = scratch;

    LS__ASSERT(n >= 0 && n <= INT32_MAX);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)i;
    for (int i = 0; i < rounds(n); i++) {
        shuffle(ls_key_split(key, 1), n, out, a, a + n);
        key = ls_key_split(key, 0);
    }
}

int ls_random_permutation(ls_key key, int64_t n, int32_t *out)
{
    void *scratch;

    if (n != 0)
        LS__NEED(out);
    if (n < 0 || n > INT32_MAX)
        return ls__fail(LS_EINVAL, "permutation of %lld: there may be 0 to "
                        "2147483647", (long long)n);
    scratch = ls__new(ls__permutation_scratch(n), 1, "permutation");
    if (!scratch)
        return LS_ENOMEM;
    ls__permutation(key, n, out, scratch);
    free(scratch);
    return 0;
}

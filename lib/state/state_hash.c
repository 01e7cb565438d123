/* SPDX-License-Identifier: BSD-3-Clause */
/* The state hash, a SHA-256; examples/state_hash.py says it in Python. */
#include "state/state_hash.h"
#include "base/assert.h"

#include <string.h>

void ls__state_array(ls__sha256 *sha, const char *prefix, const char *name,
                     int rank, const int64_t *shape, const void *data,
                     size_t bytes)
{
    LS__ASSERT(bytes % 4 == 0 && rank >= 0);
    ls__sha256_update(sha, prefix, strlen(prefix));
    ls__sha256_update(sha, ".", *prefix ? 1 : 0);
    ls__sha256_update(sha, name, strlen(name) + 1);
    ls__sha256_number(sha, rank);
    for (int i = 0; i < rank; i++)
        ls__sha256_number(sha, shape[i]);
    ls__sha256_words(sha, data, bytes / 4);
}

void ls__state_end(ls__sha256 *sha, int64_t step, char hex[65])
{
    ls__sha256_number(sha, step);
    ls__sha256_hex(sha, hex);
}

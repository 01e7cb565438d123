/* SPDX-License-Identifier: BSD-3-Clause */
/* What the state hash is made of; examples/state_hash.py says it in Python. */
#include "hash/state_hash.h"

#include <string.h>

void ls__state_array(ls__sha256 *sha, const char *prefix, const char *name,
                     int rank, const int64_t *shape, const void *data,
                     size_t bytes)
{
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

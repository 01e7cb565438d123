/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of names by open addressing: probe from the place of the hash to
 * the next empty one. */
#include "base/names.h"
#include "base/assert.h"
#include "base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (const char *c = text; *c; c++)
        h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return h;
}

static ls__name *place_of(ls__names *n, const char *text)
{
    size_t i = (size_t)hash_of(text) & (n->capacity - 1);

    LS__ASSERT(LS__IS_POWER(n->capacity) && n->count < n->capacity);
    while (n->looks++, n->at[i].text && strcmp(n->at[i].text, text))
        i = (i + 1) & (n->capacity - 1);
    return &n->at[i];
}

/* Make room for one more. */
static int grow(ls__names *n)
{
    ls__names more = {.capacity = n->capacity ? 2 * n->capacity : 64,
                      .count = n->count, .looks = n->looks};

    if (!(more.at = calloc(more.capacity, sizeof *more.at)))
        return ls__no_memory("names", more.capacity * sizeof *more.at);
    for (size_t i = 0; i < n->capacity; i++)
        if (n->at[i].text)
            *place_of(&more, n->at[i].text) = n->at[i];
    free(n->at);
    *n = more;
    return 0;
}

int *ls__names_number(ls__names *n, const char *text)
{
    ls__name *at;

    if (2 * (n->count + 1) > n->capacity && grow(n) < 0)
        return NULL;
    at = place_of(n, text);
    if (!at->text) {
        *at = (ls__name){text, 0};
        n->count++;
    }
    LS__ASSERT(2 * n->count <= n->capacity);
    return &at->number;
}

void ls__names_free(ls__names *n)
{
    free(n->at);
    *n = (ls__names){0};
}

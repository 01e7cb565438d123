/* SPDX-License-Identifier: BSD-3-Clause */
/* See inflate.h. */
#include "array/inflate.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static void *take(void *user, unsigned count, unsigned size)
{
    (void)user;
    return ls__new(count, size, "deflated data");
}

static void give(void *user, void *block)
{
    (void)user;
    free(block);
}

int ls__inflate_open(z_stream *s, int bits)
{
    s->zalloc = take;
    s->zfree = give;
    return inflateInit2(s, bits) == Z_OK
               ? 0
               : ls__no_memory("deflated data", sizeof *s);
}

int64_t ls__inflate_most(int64_t n)
{
    return n > INT64_MAX / 1032 ? INT64_MAX : 1032 * n;
}

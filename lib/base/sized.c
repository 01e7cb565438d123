/* SPDX-License-Identifier: BSD-3-Clause */
/* See sized.h. */
#include "base/sized.h"
#include "base/assert.h"
#include "base/error.h"

#include <string.h>

/* Beyond it a size is garbage. */
enum { LARGEST = 4096 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void ls__sized_put(void *theirs, size_t size, const void *ours, size_t n)
{
    memset(theirs, 0, size);
    memcpy(theirs, ours, least(size, n));
}

void ls__sized_defaults(void *theirs, size_t size, const void *ours, size_t n)
{
    ls__sized_put(theirs, size, ours, n);
    memcpy(theirs, &size, least(size, sizeof size));
}

static int check_size(const char *what, size_t size)
{
    if (!size)
        return ls__fail(LS_EINVAL, "ls_%s_options: size is 0; options begin as "
                        "ls_%s_defaults() makes them", what, what);
    if (size < sizeof size || size > LARGEST)
        return ls__fail(LS_EINVAL, "ls_%s_options: size is %zu, which it "
                        "cannot be; options begin as ls_%s_defaults() makes "
                        "them", what, size, what);
    return 0;
}

/* Members of a newer header that this library does not know must be unused. */
static int check_rest(const char *what, const char *theirs, size_t size,
                      size_t n)
{
    for (size_t i = n; i < size; i++)
        if (theirs[i])
            return ls__fail(LS_EINVAL, "ls_%s_options: byte %zu of %zu is set, "
                            "and version %s of the library knows %zu bytes",
                            what, i, size, ls_version(), n);
    return 0;
}

int ls__sized_take(const char *what, void *ours, size_t n, const void *theirs)
{
    size_t size;
    int error;

    LS__ASSERT(n >= sizeof size && n < LARGEST / 2);
    if (!theirs)
        return 0;
    memcpy(&size, theirs, sizeof size);
    error = check_size(what, size);
    if (!error)
        error = check_rest(what, theirs, size, n);
    if (error)
        return error;
    memcpy(ours, theirs, least(size, n));
    memcpy(ours, &n, sizeof n);
    return 0;
}

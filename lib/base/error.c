/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of failures.  Libraries that stand on this one have this file too:
 * the message itself is in one place, message.c, which they reach by
 * ls_error. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ls__fail(int status, const char *format, ...)
{
    char text[LS__MESSAGE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ls_error(status, text);
}

int ls__null(const char *function, const char *argument)
{
    static const char sized[] = "_bytes";
    int n = (int)strlen(function), tail = (int)sizeof sized - 1;

    if (n > tail && !strcmp(function + n - tail, sized))
        n -= tail;
    return ls__fail(LS_EINVAL, "%.*s: %s is NULL", n, function, argument);
}

int ls__no_memory(const char *what, size_t bytes)
{
    return ls__fail(LS_ENOMEM, "%s: %zu bytes of memory could not be had",
                    what, bytes);
}

const char *ls__shape_text(char out[LS__SHAPE_TEXT], int rank,
                           const int64_t *shape)
{
    size_t at = 0;

    out[at++] = '(';
    for (int i = 0; i < rank && at + 24 < LS__SHAPE_TEXT; i++)
        at += (size_t)snprintf(out + at, LS__SHAPE_TEXT - at, "%s%lld",
                               i ? "," : "", (long long)shape[i]);
    out[at++] = ')';
    out[at] = 0;
    return out;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See scaling_fail.h. */
#include "scale/scaling_fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int scaling_fail(int status, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ls_error(status, text);
}

void *scaling_new(size_t n, size_t size, const char *what)
{
    void *room = calloc(n ? n : 1, size);

    if (!room)
        scaling_fail(LS_ENOMEM, "scaling: no memory for %s", what);
    return room;
}

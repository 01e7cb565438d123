/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that becomes a file of C. */
#include "base/real_text.h"
#include "export/writer.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void ls__text_put(ls__text *t, const char *format, ...)
{
    va_list args, again;
    char *at;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if ((at = ls__bytes_grow(t, (size_t)n)))
        vsnprintf(at, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
}

void ls__text_number(ls__text *t, double x, const char *end)
{
    char text[40];

    snprintf(text, sizeof text, "%a", x);
    ls__real_point(text);
    if (isinf(x))
        ls__text_put(t, "%s__builtin_inff()", x < 0 ? "-" : "");
    else if (x == 0)
        ls__text_put(t, signbit(x) ? "-0.0%s" : "0", end);
    else
        ls__text_put(t, "%s%s", text, end);
}

/* Three octal digits end an escape, whatever follows; so does every character
 * that means something to a compiler, ? and \ among them, become one. */
void ls__text_string(ls__text *t, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,-";

    ls__text_put(t, "\"");
    for (; *text; text++)
        if (strchr(plain, *text))
            ls__bytes_add(t, text, 1);
        else
            ls__text_put(t, "\\%03o", (unsigned)(unsigned char)*text);
    ls__text_put(t, "\"");
}

void ls__text_name(char out[LS__NAME], const char *text)
{
    int n = 0;

    for (; *text && n < LS__NAME - 8; text++)
        out[n++] = strchr(LS__LETTERS, *text) ? *text : '_';
    out[n] = 0;
}

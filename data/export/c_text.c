/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that becomes a file of C. */
#include "base/error.h"
#include "export/writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 };

static bool flush_to_file(ls__text *t)
{
    if (!t->failed && t->size > 0)
        t->failed = ls__newfile_write(&t->file.out, t->bytes, t->size);
    t->size = 0;
    return !t->failed;
}

/* Room for n bytes more. */
static bool has_room(ls__text *t, size_t n)
{
    size_t room = t->room ? t->room : PIECE;
    char *bytes;

    if (t->failed || (t->to_file && t->size + n > PIECE && !flush_to_file(t)))
        return false;
    if (t->size + n <= t->room)
        return true;
    while (room < t->size + n)
        room *= 2;
    if (!(bytes = realloc(t->bytes, room))) {
        t->failed = ls__no_memory("C source", room);
        return false;
    }
    t->bytes = bytes;
    t->room = room;
    return true;
}

void ls__text_add(ls__text *t, const char *bytes, size_t n)
{
    if (!has_room(t, n + 1))
        return;
    memcpy(t->bytes + t->size, bytes, n);
    t->size += n;
    t->bytes[t->size] = 0;
}

void ls__text_put(ls__text *t, const char *format, ...)
{
    char line[1024];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ls__text_add(t, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

/* Write a number as no locale would: mantissa and exponent as whole numbers. */
static void put_hex(ls__text *t, bool negative, uint64_t mantissa, int digits,
                    int exponent, const char *end)
{
    while (digits > 1 && !(mantissa & 15)) {
        mantissa >>= 4;
        digits--;
    }
    ls__text_put(t, "%s0x1", negative ? "-" : "");
    if (mantissa)
        ls__text_put(t, ".%0*llx", digits, (unsigned long long)mantissa);
    ls__text_put(t, "p%d%s", exponent, end);
}

void ls__text_float(ls__text *t, float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    if (!(u & 0x7fffffff))
        ls__text_put(t, u ? "-0.0f" : "0");
    else
        put_hex(t, u >> 31, (uint64_t)(u & 0x7fffff) << 1, 6,
                (int)(u >> 23 & 255) - 127, "f");
}

void ls__text_double(ls__text *t, double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    if (fabs(x) < 0x1p-1022)
        ls__text_put(t, "0");
    else
        put_hex(t, u >> 63, u & 0xfffffffffffffu, 13,
                (int)(u >> 52 & 2047) - 1023, "");
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
            ls__text_add(t, text, 1);
        else
            ls__text_put(t, "\\%03o", (unsigned)(unsigned char)*text);
    ls__text_put(t, "\"");
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void ls__text_name(char out[LS__NAME], const char *text)
{
    int n = 0;

    for (; *text && n < LS__NAME - 8; text++)
        out[n++] = is_letter(*text) || (*text >= '0' && *text <= '9') ? *text
                                                                     : '_';
    out[n] = 0;
}

int ls__text_open(ls__text *t, const char *path)
{
    int status = ls__aside_open(&t->file, path);

    t->to_file = status == 0;
    return status;
}

int ls__text_finish(ls__text *t)
{
    if (t->to_file && flush_to_file(t))
        t->failed = ls__aside_finish(&t->file);
    return t->failed;
}

void ls__text_close(ls__text *t)
{
    if (t->to_file)
        ls__aside_close(&t->file);
    free(t->bytes);
    *t = (ls__text){0};
}

/* Status texts and the per-thread message.  Nothing here prints. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[LS__MESSAGE];

const char *ls_strerror(int status)
{
    switch (status) {
    case 0: return "success";
#define LS_CASE(name, value, text) case name: return text;
    LS_ERRORS(LS_CASE)
#undef LS_CASE
    }
    return "unknown status";
}

const char *ls_errmsg(void)
{
    return message;
}

/* Names in it may be anybody's: it stays one line, and does nothing to a
 * terminal. */
int ls__fail(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return status;
}

int ls_error(int status, const char *text)
{
    return ls__fail(status, "%s", text ? text : "");
}

int ls__null(const char *function, const char *argument)
{
    static const char sized[] = "_sized";
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

#define TEXT(x) #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *ls_version(void)
{
    return VERSION(LS_VERSION_MAJOR, LS_VERSION_MINOR, LS_VERSION_PATCH);
}

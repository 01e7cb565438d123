/* SPDX-License-Identifier: BSD-3-Clause */
/* Status texts and the per-thread message.  Nothing here prints. */
#include "base/error.h"

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
 * terminal.  The text may be the message itself. */
int ls_error(int status, const char *text)
{
    size_t bytes = 0;

    while (text && text[bytes] && bytes < sizeof message - 1)
        bytes++;
    if (bytes)
        memmove(message, text, bytes);
    message[bytes] = 0;
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return status;
}

#define TEXT(x) #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *ls_version(void)
{
    return VERSION(LS_VERSION_MAJOR, LS_VERSION_MINOR, LS_VERSION_PATCH);
}

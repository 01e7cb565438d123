/* SPDX-License-Identifier: BSD-3-Clause */
/* See record_option.h. */
#define _GNU_SOURCE
#include "run/record_option.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <stdio.h>
#include <string.h>

/* A whole number of digits alone, up to most; text goes behind it. */
static bool number(const char **text, int64_t most, int64_t *n)
{
    const char *at = *text;

    for (*n = 0; *at >= '0' && *at <= '9' && *n <= most; at++)
        *n = 10 * *n + (*at - '0');
    if (at == *text || *n > most)
        return false;
    *text = at;
    return true;
}

int record_option_read(const char *text, int64_t *step, int *device)
{
    const char *at = text;
    int64_t of = -1;
    bool good = number(&at, INT64_C(1000000000000000), step);

    if (good && *at == ':') {
        at++;
        good = number(&at, 65535, &of);
    }
    *device = (int)of;
    if (good && !*at)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--record %s: it takes a step, or a step and a "
                    "device, both counted from 0, as 417 or 417:3", text);
}

void record_option_show(const ls_record_difference *d)
{
    char text[LS_RECORD_TEXT], *rest = text, *line;

    if (d->same)
        puts("same: every array and number of the step");
    memcpy(text, d->text, sizeof text);
    while ((line = strsep(&rest, "\n")) && *line)
        puts(characters_shown(line));
}

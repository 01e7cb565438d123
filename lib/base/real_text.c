/* SPDX-License-Identifier: BSD-3-Clause */
/* See real_text.h. */
#include "base/real_text.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 512, POINT = 16 };

void ls__real_point(char *text)
{
    const char *point = localeconv()->decimal_point;
    const char *behind;
    char *at = strstr(text, point);

    if (!at)
        return;
    behind = at + strlen(point);
    *at = '.';
    memmove(at + 1, behind, strlen(behind) + 1);
}

void ls__real_text(char text[LS__REAL_TEXT], double x)
{
    int digits = 1;

    do
        snprintf(text, LS__REAL_TEXT, "%.*g", digits++, x);
    while (digits <= 17 && strtod(text, NULL) != x);
    ls__real_point(text);
}

bool ls__real_value(const char *text, double *out)
{
    size_t n = strcspn(text, ".,");
    char copy[LONGEST + POINT], *end;

    if (!*text || strlen(text) > LONGEST)
        return false;
    snprintf(copy, sizeof copy, "%.*s%s%s", (int)n, text,
             text[n] ? localeconv()->decimal_point : "",
             text + n + (text[n] != 0));
    *out = strtod(copy, &end);
    return !*end;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See pattern.h. */
#define _GNU_SOURCE /* FNM_EXTMATCH */
#include "base/pattern.h"

#include <fnmatch.h>
#include <string.h>

#ifdef FNM_EXTMATCH
enum { FLAGS = FNM_EXTMATCH };
#else
enum { FLAGS = 0 };
#endif

bool ls__matches(const char *pattern, const char *name)
{
    bool others = pattern[0] == '!' && pattern[1] != '(';

    return (fnmatch(pattern + others, name, FLAGS) == 0) != others;
}

static int small(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool ls__same_letters(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    while (i < n && a[i] && small(a[i]) == small(b[i]))
        i++;
    return i == n || small(a[i]) == small(b[i]);
}

size_t ls__name_nearness(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), first = 0, last = 0;

    while (first < n && first < m && small(a[first]) == small(b[first]))
        first++;
    while (last < n && last < m &&
           small(a[n - 1 - last]) == small(b[m - 1 - last]))
        last++;
    return first + last;
}

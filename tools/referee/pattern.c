/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of parameters' names, as options of groups have them. */
#include "step.h"

#include <string.h>

/* Is c one of those behind "["?  Goes on behind the "]"; -1: there is none. */
static int is_among(const char **pattern, char c)
{
    const char *p = *pattern;
    int others = *p == '!' || *p == '^', found = 0;

    p += others;
    for (int first = 1; first || *p != ']'; first = 0) {
        char low = *p;

        if (!low || low == '\\' || (low == '[' && strchr(":=.", p[1])))
            return -1;
        p++;
        if (*p == '-' && p[1] && p[1] != ']') {
            found |= c >= low && c <= p[1];
            p += 2;
        } else {
            found |= c == low;
        }
    }
    *pattern = p + 1;
    return found != others;
}

/* Is c what the pattern says next?  Goes on behind that. */
static int is_next(const char **pattern, const char *end, char c)
{
    char is = *(*pattern)++;

    if (is == '[')
        return is_among(pattern, c);
    if (is == '\\' && *pattern < end)
        return *(*pattern)++ == c;
    return is == '?' || is == c;
}

/* The last `*` may take one character more wherever the rest does not match. */
static int fits(const char *p, const char *end, const char *name)
{
    const char *star = NULL, *from = NULL;

    while (p < end || *name) {
        int is = 0;

        if (p < end && *p == '*') {
            star = ++p;
            from = name;
            continue;
        }
        if (p < end && *name)
            is = is_next(&p, end, *name);
        if (is < 0)
            return -1;
        if (!is && (!star || !*from))
            return 0;
        p = is ? p : star;
        name = is ? name + 1 : ++from;
    }
    return 1;
}

int pattern_fits(const char *pattern, const char *name)
{
    const char *end = pattern + strlen(pattern);
    int others = *pattern == '!', in = others && pattern[1] == '(' &&
                                       end[-1] == ')', is;

    pattern += others + in;
    end -= in;
    for (const char *p = pattern; p < end; p++)
        if (strchr("(|)", *p))
            return -1;
    is = fits(pattern, end, name);
    return is < 0 ? -1 : is != others;
}

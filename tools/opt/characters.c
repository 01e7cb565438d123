/* SPDX-License-Identifier: BSD-3-Clause */
/* UTF-8 by its definition, and the characters a terminal acts on. */
#include "opt/characters.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

int character_bytes(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    int n = p[0] < 0x80   ? 1
            : p[0] < 0xc2 ? 0
            : p[0] < 0xe0 ? 2
            : p[0] < 0xf0 ? 3
            : p[0] < 0xf5 ? 4
                          : 0;
    unsigned low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;

    if (n > 1 && (p[1] < low || p[1] > high))
        return 0;
    for (int i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

int characters_count(const char *text, int most, const char **end)
{
    int n = 0;

    for (*end = text; **end && n < most; n++) {
        int bytes = character_bytes(*end);

        *end += bytes ? bytes : 1;
    }
    return n;
}

static unsigned long code_of(const char *p, int n)
{
    unsigned long code = (unsigned char)p[0] & (n == 1 ? 0x7fu : 0xffu >> n);

    for (int i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)p[i] & 0x3fu);
    return code;
}

/* Control characters, and Unicode's marks of direction (UAX 9) and ends of
 * lines. */
static bool acts(unsigned long code)
{
    static const unsigned long ranges[][2] = {
        {0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069}};

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

/* The output of the text's next character, which moves on: its own n bytes, or
 * one '?'. */
static const char *next(const char **text, int *n)
{
    const char *at = *text;
    bool shown;

    *n = character_bytes(at);
    shown = *n > 0 && !acts(code_of(at, *n));
    *text += *n ? *n : 1;
    *n = shown ? *n : 1;
    return shown ? at : "?";
}

int characters_print(FILE *file, const char *text)
{
    int count = 0, n;

    for (; *text; count++) {
        const char *piece = next(&text, &n);

        fwrite(piece, 1, (size_t)n, file);
    }
    return count;
}

void characters_clean(char *text)
{
    const char *from = text;
    int n;

    while (*from) {
        const char *piece = next(&from, &n);

        memmove(text, piece, (size_t)n);
        text += n;
    }
    *text = 0;
}

const char *characters_shown(const char *text)
{
    static _Thread_local char room[4][4096];
    static _Thread_local unsigned last;
    char *copy = room[++last % 4];

    snprintf(copy, sizeof *room, "%s", text);
    characters_clean(copy);
    return copy;
}

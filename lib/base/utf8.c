/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid sequences of UTF-8, by the table of RFC 3629, section 4. */
#include "base/utf8.h"

#include <stddef.h>

typedef struct form {
    unsigned char first, last; /* bytes a character of this form begins with */
    unsigned char low, high;   /* bounds of its second byte */
    int more;                  /* bytes behind the first */
} form;

/* clang-format off */
static const form forms[] = {
    {0x01, 0x7f, 0x80, 0xbf, 0}, {0xc2, 0xdf, 0x80, 0xbf, 1},
    {0xe0, 0xe0, 0xa0, 0xbf, 2}, {0xe1, 0xec, 0x80, 0xbf, 2},
    {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
    {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3},
    {0xf4, 0xf4, 0x80, 0x8f, 3},
};
/* clang-format on */

static const form *form_of(unsigned char first)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (first >= forms[i].first && first <= forms[i].last)
            return &forms[i];
    return NULL;
}

/* The end of the text is no byte of a character, so nothing behind it is
 * read. */
static bool follows(const form *f, const unsigned char *p)
{
    if (f->more && (p[0] < f->low || p[0] > f->high))
        return false;
    for (int i = 1; i < f->more; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return false;
    return true;
}

bool ls__utf8_is(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p) {
        const form *f = form_of(*p);

        if (!f || !follows(f, p + 1))
            return false;
        p += 1 + f->more;
    }
    return true;
}

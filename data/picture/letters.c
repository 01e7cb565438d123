/* SPDX-License-Identifier: BSD-3-Clause */
/* Letters of three by five pixels: a row is an octal digit, the upper row the
 * first. */
#include "picture/letters.h"

#include <string.h>

static const char known[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-_%:/()+=?#'";
static const uint16_t shapes[] = {
    025755, 065656, 034443, 065556, 074647, 074644, 034553, 055755, 072227,
    011152, 055655, 044447, 057755, 065555, 025552, 065644, 025563, 065655,
    034216, 072222, 055557, 055552, 055775, 055255, 055222, 071247,
    075557, 026227, 061247, 061216, 055711, 074616, 034757, 071222, 075757,
    075716, 000002, 000024, 000700, 000007, 051245, 002020, 011244, 024442,
    021112, 002720, 007070, 061202, 057575, 022000,
};
_Static_assert(sizeof known - 1 == sizeof shapes / sizeof *shapes,
               "a shape for each letter");

static uint16_t shape_of(char c)
{
    const char *at;

    if (c == ' ')
        return 0;
    c = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    at = memchr(known, c, sizeof known - 1);
    return shapes[at ? at - known : strchr(known, '?') - known];
}

/* One of its pixels, as a square. */
static void put(ls__picture *p, int64_t y, int64_t x)
{
    for (int i = 0; i < LS__LETTER_PIXEL; i++)
        if (y + i < p->height)
            memset(p->pixels + 3 * ((y + i) * p->width + x), 0,
                   3 * LS__LETTER_PIXEL);
}

void ls__letters(ls__picture *p, int64_t y, int64_t x, int64_t end,
                 const char *text, size_t n)
{
    for (; n > 0 && x + LS__LETTER_WIDTH <= end; n--, text++) {
        uint16_t shape;

        if (((unsigned char)*text & 0xc0) == 0x80)
            continue; /* the rest of a letter that is not known */
        shape = shape_of(*text);
        for (int i = 0; i < 15; i++)
            if (shape >> (14 - i) & 1)
                put(p, y + i / 3 * LS__LETTER_PIXEL,
                    x + i % 3 * LS__LETTER_PIXEL);
        x += LS__LETTER_WIDTH;
    }
}

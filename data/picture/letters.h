/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture that is drawn: (height, width, 3) bytes. */
#ifndef LS_PICTURE_LETTERS_H
#define LS_PICTURE_LETTERS_H

#include "picture/picture.h"

/* Letters are drawn with pixels of so many, and take these. */
enum { LS__LETTER_PIXEL = 2, LS__LETTER_WIDTH = 8, LS__LETTER_HEIGHT = 14 };

/* Write a line of text in black, its upper left corner at (y, x), up to the
 * column `end`; small letters become capitals, what is not known a "?". */
void ls__letters(ls__picture *p, int64_t y, int64_t x, int64_t end,
                 const char *text, size_t n);

/* Write a picture of 1 or 3 channels as a PNG, which appears whole. */
int ls__png_write(const ls__picture *p, const char *path);

#endif

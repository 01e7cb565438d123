/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of any size and channels becomes one of a given size and channels.
 * All is done in whole numbers, / being division without the rest.
 *
 * Channels: 1 is grey, 3 red green blue, 4 these and alpha; a picture with
 * alpha a, made one without, lies on white: (v a + 255 (255 - a) + 127) / 255.
 * Grey of a colour is (19595 r + 38470 g + 7471 b + 32768) >> 16, a colour of
 * grey three times the same, an alpha that is not there 255.
 *
 * Size: of what is cut out, n pixels of an axis become m by the mean of the
 * part that each covers.  Pixel i of n lies at [i m, (i+1) m), pixel j of m at
 * [j n, (j+1) n), w(i, j) is the length of what both have; and the result is
 *     (2 s + d) / (2 d),  s = sum wy(y, i) wx(x, j) v(i, j),  d = ny nx
 *
 * LS_IMAGE_CROP cuts out, in the middle, the largest part of the proportions
 * asked for: of width w, height h for W x H it is h W / H wide (1 at least) if
 * w H > h W, else w H / W high, the first row or column being half of what is
 * left.  LS_IMAGE_FIT takes all, makes it w H / h wide, or h W / w high, and
 * puts it in the middle of black, alpha 0.  LS_IMAGE_STRETCH takes all as it
 * is. */
#ifndef LS_IMAGE_FIT_H
#define LS_IMAGE_FIT_H

#include "image/picture.h"

#include <lockstep/images.h>

/* out: (height, width, channels) of `shape`. */
int ls__picture_fit(const ls__picture *p, ls_image_fit fit,
                    const int64_t shape[3], uint8_t *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Random draws for a row of an epoch (data augmentation): numbers that say all
 * of how its image changes (lockstep/images.h has the formulas). */
#ifndef LS_IMAGE_DRAW_H
#define LS_IMAGE_DRAW_H

#include <lockstep/images.h>

typedef struct ls__augmentation {
    int64_t down, right;  /* of the crop: where it begins, less the padding */
    float cos, sin;       /* of the angle, divided by the scale */
    bool turns;           /* these are not 1 and 0 */
    bool flips;
    float brightness, contrast; /* factors */
    int64_t cut_y, cut_x; /* the first row and column of the square */
    int64_t partner;      /* row of the epoch that is mixed in */
    float share;          /* of the row itself; 1: nothing is mixed in */
} ls__augmentation;

ls__augmentation ls__augmentation_of(const ls_augment_options *o, int64_t rows,
                                     const int64_t shape[3], int64_t epoch,
                                     int64_t row);

#endif

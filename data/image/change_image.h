/* SPDX-License-Identifier: BSD-3-Clause */
/* An image (H,W,C) of floats, changed as was drawn. */
#ifndef LS_IMAGE_CHANGE_IMAGE_H
#define LS_IMAGE_CHANGE_IMAGE_H

#include "image/draw.h"

/* All but mixup, in place; `room` has as many floats as the image. */
void ls__change_image(const ls_augment_options *o, const int64_t shape[3],
                      const ls__augmentation *d, float *image, float *room);

#endif

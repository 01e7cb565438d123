/* SPDX-License-Identifier: BSD-3-Clause */
/* --mistakes F.png: images held out that were taken for another class, the ones
 * that the model was surest of first. */
#ifndef TOOLS_MISTAKES_H
#define TOOLS_MISTAKES_H

#include "train/figures.h"

/* OPT_WRONG, and a message: there are no images, or none is held out. */
int mistakes_check(const run *r);

/* Write the sheet; without a mistake nothing but a note. */
int mistakes_write(const figures *f, const char *path);

#endif

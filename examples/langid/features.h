/* SPDX-License-Identifier: BSD-3-Clause */
/* What the model sees of a text: its n-grams of one to four bytes, hashed, of
 * the first FEATURES_BYTES bytes. */
#ifndef LANGID_FEATURES_H
#define LANGID_FEATURES_H

#include <stddef.h>
#include <stdint.h>

enum {
    FEATURES_BYTES = 64, FEATURES = 4 * FEATURES_BYTES, FEATURES_COUNT = 1 << 14
};

/* out[FEATURES] = numbers of n-grams, -1 where there are no more. */
void features(const char *text, size_t n, int32_t *out);

#endif

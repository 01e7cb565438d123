/* SPDX-License-Identifier: BSD-3-Clause */
/* The number that a text is, in any locale. */
#ifndef LS_TABLE_NUMBER_H
#define LS_TABLE_NUMBER_H

#include <stdbool.h>

typedef struct ls__number {
    double value;
    bool longer; /* of digits alone, more than the value keeps */
} ls__number;

/* Give *out the number that a whole text is, rounded to nearest; false: it is
 * none, or not finite.  A comma may stand for the point where comma says so. */
bool ls__number_read(const char *text, bool comma, ls__number *out);
bool ls__number_value(const char *text, bool comma, double *out);

#endif

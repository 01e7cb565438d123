/* SPDX-License-Identifier: BSD-3-Clause */
/* Known numbers: what the two files of them share. */
#ifndef LS_IMPORT_FOLD_H
#define LS_IMPORT_FOLD_H

#include "import/reader.h"

/* Numbers of one value; and doubles are exact integers below that. */
#define LS__MOST_NUMBERS (INT64_C(1) << 24)
#define LS__EXACT 9007199254740992.0

/* Is a number a multiple of the rows; and the refusal of what is none any
 * more. */
bool ls__of_rows(double x);
int ls__by_rows(void);

/* Strides of a value under a shape that it is broadcast to. */
void ls__strides(const ls__named *v, int rank, int64_t *stride);

/* The place of element i of a shape in an array of these strides. */
int64_t ls__place(int64_t i, int rank, const int64_t *shape,
                  const int64_t *stride);

/* Those of no formula. */
extern const ls__read_row ls__fold_rows[];

#endif

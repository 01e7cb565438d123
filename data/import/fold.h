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

/* The place of element i of a shape in an array of these strides. */
int64_t ls__place(int64_t i, int rank, const int64_t *shape,
                  const int64_t *stride);

/* Those of no formula: y of x, input 0, all inputs being known numbers: 1, 0
 * where it can't be, or a status. */
typedef struct ls__fold_row {
    const char *op; /* NULL: the last row */
    int (*fold)(ls__reader *r, const ls__om_node *n, const ls__named *x,
                ls__named *y);
} ls__fold_row;

extern const ls__fold_row ls__fold_rows[];

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* --keep: columns of the input that stand before what is predicted of their
 * row.  The table is read beside the one that is asked about. */
#ifndef TOOLS_KEEP_H
#define TOOLS_KEEP_H

#include "predict/ask.h"
#include "predict/table.h"

struct keep {
    ls_table *table;
    int *column, columns;
    bool of_series; /* the row is the one that is predicted, with its number */
    bool at_end;    /* which the table need not have */
    int64_t row;
    int status; /* of reading */
};

/* Find the columns of a list with commas in the table that `a` reads, too. */
int keep_open(keep *k, const ask *a, const char *path, const char *list);
void keep_close(keep *k);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The batch of a record: rows of the data that stand under a root. */
#ifndef REFEREE_BATCH_H
#define REFEREE_BATCH_H

#include "record.h"

enum { ROWS_OF_DATA, ROWS_OTHERS, ROWS_UNKNOWN };

/* Are the rows those that the step draws, of data with that root (NULL: of its
 * head's)?  *why: what is not as it should be.  Unknown: the data have no root,
 * or the record no values. */
int batch_is_of_data(record *r, const char *root, const char **why);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Two records of a step. */
#ifndef TOOLS_RECORDS_H
#define TOOLS_RECORDS_H

#include <stdbool.h>

/* Is a path a record's, by how it ends: .lsr? */
bool records_is(const char *path);

/* Print the first difference of two, or that there is none, as text or as an
 * object of JSON.  OPT_FAILED where they differ, or after a message. */
int records_compare(const char *a, const char *b, bool json);

#endif

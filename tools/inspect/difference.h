/* SPDX-License-Identifier: BSD-3-Clause */
/* Two archives, and the first array in which they differ. */
#ifndef TOOLS_DIFFERENCE_H
#define TOOLS_DIFFERENCE_H

#include "inspect/entry.h"

#include <jansson.h>

typedef struct pair { /* borrowed */
    const ls_archive *archive[2];
    const char *path[2];
} pair;

typedef struct difference {
    int arrays;       /* differing */
    const char *name; /* of the first; NULL: they are equal */
    const char *what; /* "value", "shape", "dtype", "step"; "only": in a */
    ls_entry e;       /* the first one's, of "value" */
    int64_t at, count;
    char a[ENTRY_TEXT], b[ENTRY_TEXT];
} difference;

difference difference_find(const pair *two);

void difference_print(const pair *two, const difference *d);
json_t *difference_json(const difference *d);

#endif

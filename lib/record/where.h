/* SPDX-License-Identifier: BSD-3-Clause */
/* What the lines of a record speak of. */
#ifndef LS_RECORD_WHERE_H
#define LS_RECORD_WHERE_H

#include <stdint.h>

enum { LS__RECORD_VERSION = 2 };

/* Where an array or a number belongs.  What does not apply is 0 or "". */
typedef struct ls__where {
    const char *phase;    /* "start", "before", "batch", "rows", "forward",
                             "backward", "gradient", "mean", "rule",
                             "after" */
    const char *op, *name;
    const char *what;
    const char *shape;    /* "4x16"; of a row, where there are rows */
    int64_t device, micro;
    int64_t first, rows;  /* of the shard */
    int64_t node, index;
} ls__where;

#endif

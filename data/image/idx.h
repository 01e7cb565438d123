/* SPDX-License-Identifier: BSD-3-Clause */
/* IDX files, as MNIST came in: two zero bytes, a type (8: unsigned byte), the
 * number of axes, their extents as big-endian 32-bit numbers, the elements in C
 * order.  A plain file stays open, a gzip'd one is inflated into memory. */
#ifndef LS_IMAGE_IDX_H
#define LS_IMAGE_IDX_H

#include "file/file.h"

#include <stdbool.h>

enum { LS__IDX_RANK = 4 };

typedef struct ls__idx {
    ls__file file;
    int64_t at;        /* start of a plain file's elements */
    uint8_t *inflated; /* those of a gzip'd file; NULL: it is plain */
    int rank; /* 1 to 4 */
    int64_t shape[LS__IDX_RANK];
    int64_t count;
} ls__idx;

/* Open a file of unsigned bytes.  Its length must be what its header says. */
int ls__idx_open(ls__idx *idx, const char *path);
/* All elements, into room for `count`. */
int ls__idx_read(const ls__idx *idx, uint8_t *out);
/* Accepts a cleared one. */
void ls__idx_close(ls__idx *idx);

/* Does a file that begins with these two bytes look like IDX, plain or
 * gzip'd? */
bool ls__idx_looks(const uint8_t *bytes);

#endif

/* IDX files, as MNIST came in: two zero bytes, a type (8: unsigned byte), the
 * number of axes, their extents as big-endian 32-bit numbers, the elements in C
 * order.  Plain ones are mapped, gzip'd ones inflated. */
#ifndef LS_FILE_IDX_H
#define LS_FILE_IDX_H

#include "file/map.h"

#include <stdbool.h>

enum { LS__IDX_RANK = 4 };

typedef struct ls__idx {
    ls__map map;
    uint8_t *inflated; /* the elements of a gzip'd file */
    const uint8_t *data;
    int rank; /* 1 to 4 */
    int64_t shape[LS__IDX_RANK];
    int64_t count;
} ls__idx;

/* Open a file of unsigned bytes.  Its length must be what its header says. */
int ls__idx_open(ls__idx *idx, const char *path);
/* Accepts a cleared one. */
void ls__idx_close(ls__idx *idx);

/* Does a file that begins so look like IDX, plain or gzip'd? */
bool ls__idx_looks(const uint8_t *bytes, int64_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Named arrays as a safetensors file: 8 bytes of header length, a JSON header,
 * the data.  A file of ours appears whole or not at all, and is sealed. */
#ifndef LS_FILE_SAFETENSORS_H
#define LS_FILE_SAFETENSORS_H

#include "base/memory.h"
#include "file/file.h"
#include <lockstep/archive.h>

typedef struct ls__safetensor {
    const char *name; /* UTF-8, unique, not "__metadata__" */
    int rank;
    int64_t shape[LS_MAX_RANK];
    const float *data; /* borrowed for the call */
} ls__safetensor;

/* Write n tensors in the order given to a file that is open.  "__metadata__"
 * holds "lockstep" (the version), "lockstep.crc32" (see seal.h) and the pairs
 * of extra (may be NULL).  LS_EIO, LS_EINVAL (a name), LS_ENOMEM. */
int ls__safetensors_put(ls__newfile *out, int n, const ls__safetensor *tensor,
                        int pairs, const ls_setting *extra);

/* The same to a file aside, which is renamed to `path`: a failure leaves what
 * was there. */
int ls__safetensors_write(const char *path, int n, const ls__safetensor *tensor,
                          int pairs, const ls_setting *extra);

/* SHA-256 of the data bytes, in order. */
void ls__safetensors_sha256(int n, const ls__safetensor *tensor, char hex[65]);

/* A file in memory. */
typedef struct ls__safetensors {
    ls__arena arena;
    char *data; /* the bytes behind the header */
    int count, pairs;
    ls_entry *entry;   /* in the order of the data */
    ls_setting *pair; /* of "__metadata__" */
} ls__safetensors;

/* Read a file, anybody's: nothing is believed before it is checked against the
 * file's length, and the data are not touched before the header was found
 * right.  Entries follow each other from the first byte of data to the last,
 * without a gap.  A file that says it is ours is refused unless its seal holds.
 * LS_EIO; LS_EFORMAT; LS_ENOTSUP (an element type, more axes than LS_MAX_RANK);
 * LS_ENOMEM. */
int ls__safetensors_read(ls__safetensors *file, const char *path);
void ls__safetensors_free(ls__safetensors *file);

/* The value of a pair; NULL: there is none. */
const char *ls__safetensors_meta(const ls__safetensors *file, const char *key);

#endif

/* Named float arrays as a safetensors file: 8 bytes of header length, a JSON
 * header, the data.  A file appears whole or not at all. */
#ifndef LS_FILE_SAFETENSORS_H
#define LS_FILE_SAFETENSORS_H

#include "lockstep.h"

typedef struct ls__safetensor {
    const char *name; /* UTF-8, unique, not "__metadata__" */
    int rank;
    int64_t shape[LS_MAX_RANK];
    const float *data; /* borrowed for the call */
} ls__safetensor;

/* A pair of the header's "__metadata__". */
typedef struct ls__metadata {
    const char *key, *value;
} ls__metadata;

/* Write n tensors in the order given.  "__metadata__" holds "lockstep" (the
 * version), "sha256" (of the data bytes) and the pairs of extra (may be NULL).
 * Written to PATH.tmp-PID, synced and renamed: a failure leaves what was at
 * path.  LS_EIO, LS_EINVAL (a name), LS_ENOMEM. */
int ls__safetensors_write(const char *path, int n, const ls__safetensor *tensor,
                          int pairs, const ls__metadata *extra);

#endif

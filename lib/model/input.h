/* SPDX-License-Identifier: BSD-3-Clause */
/* An input of a model, and the check of rows that are given for it. */
#ifndef LS_MODEL_INPUT_H
#define LS_MODEL_INPUT_H

#include <lockstep/base.h>

typedef struct ls__input {
    const char *name;
    ls_dtype dtype;
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t size;  /* elements a row */
    int64_t limit; /* LS_I32: values lie in [0, limit) */
    bool ignores;  /* or below 0: nothing reads them but what ignores those */
    bool finite;   /* LS_F32: no NaN and no infinity */
} ls__input;

/* Data of n elements, INT64_MAX where nobody knows.  LS_EINVAL: another type,
 * or no data; LS_ESHAPE: the rows need more; LS_ERANGE names the row and the
 * element whose index is out of range, or that is not finite and must be. */
int ls__input_check(const ls__input *in, ls_dtype dtype, int64_t n,
                    const void *data, int64_t rows);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of element types, and arrays of them. */
#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static const struct {
    int size; /* bytes */
    const char *name;
} types[] = {
    [LS_F32] = {4, "LS_F32"}, [LS_I32] = {4, "LS_I32"},
    [LS_F64] = {8, "LS_F64"}, [LS_I64] = {8, "LS_I64"},
    [LS_U8] = {1, "LS_U8"},
};

static bool known(ls_dtype dtype)
{
    return (int)dtype >= LS_F32 && dtype <= LS_U8;
}

int ls__dtype_size(ls_dtype dtype)
{
    return known(dtype) ? types[dtype].size : 0;
}

const char *ls__dtype_name(ls_dtype dtype)
{
    return known(dtype) ? types[dtype].name : "no type";
}

int64_t ls__array_rows(const ls_array *a, int64_t *row_bytes)
{
    char text[LS__SHAPE_TEXT];
    int64_t bytes;

    if (!a->name || !known(a->dtype) || !a->data)
        return ls__fail(LS_EINVAL, "array \"%s\": %s", a->name ? a->name : "",
                        !a->name ? "the name is NULL"
                        : !a->data ? "the data is NULL"
                                   : "the dtype is unknown");
    if (a->rank < 1 || a->rank > LS_MAX_RANK)
        return ls__fail(LS_ESHAPE, "array \"%s\": rank %d is not 1 to %d, so "
                        "it has no rows to cut", a->name, a->rank,
                        LS_MAX_RANK);
    bytes = ls__count(a->rank, a->shape);
    if (bytes <= 0 ||
        __builtin_mul_overflow(bytes, types[a->dtype].size, &bytes))
        return ls__fail(LS_ESHAPE, "array \"%s\": %s is empty or no shape",
                        a->name, ls__shape_text(text, a->rank, a->shape));
    *row_bytes = bytes / a->shape[0];
    return a->shape[0];
}

void ls_array_free(ls_array *array)
{
    if (!array)
        return;
    free(array->data);
    *array = (ls_array){0};
}

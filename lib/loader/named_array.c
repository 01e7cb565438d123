/* SPDX-License-Identifier: BSD-3-Clause */
/* See named_array.h. */
#include "loader/named_array.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

const char *ls__dtype_name(ls_dtype dtype)
{
    static const char *const names[] = {
        [LS_F32] = "LS_F32", [LS_I32] = "LS_I32", [LS_F64] = "LS_F64",
        [LS_I64] = "LS_I64", [LS_U8] = "LS_U8"};

    _Static_assert(sizeof names / sizeof *names == LS_U8 + 1, "of all types");
    return ls__dtype_size(dtype) ? names[dtype] : "no type";
}

int64_t ls__array_rows(const ls_array *a, int64_t *row_bytes)
{
    char text[LS__SHAPE_TEXT];
    int64_t bytes;

    if (!a->name || !ls__dtype_size(a->dtype) || !a->data)
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
        __builtin_mul_overflow(bytes, ls__dtype_size(a->dtype), &bytes))
        return ls__fail(LS_ESHAPE, "array \"%s\": %s is empty or no shape",
                        a->name, ls__shape_text(text, a->rank, a->shape));
    *row_bytes = bytes / a->shape[0];
    return a->shape[0];
}

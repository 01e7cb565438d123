/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of element types, and arrays of them. */
#include "base/dtype.h"

#include <stdlib.h>

int ls__dtype_size(ls_dtype dtype)
{
    static const int sizes[] = {[LS_F32] = 4, [LS_I32] = 4, [LS_F64] = 8,
                                [LS_I64] = 8, [LS_U8] = 1};
    _Static_assert(sizeof sizes / sizeof *sizes == LS_U8 + 1, "of all types");

    return (int)dtype >= LS_F32 && dtype <= LS_U8 ? sizes[dtype] : 0;
}

void ls_array_free(ls_array *array)
{
    if (!array)
        return;
    free(array->data);
    *array = (ls_array){0};
}

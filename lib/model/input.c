/* SPDX-License-Identifier: BSD-3-Clause */
/* The check of rows that are given for an input. */
#include "model/input.h"
#include "base/assert.h"
#include "base/error.h"

static int check_indices(const ls__input *in, const int32_t *x, int64_t rows)
{
    for (int64_t i = 0; i < rows * in->size; i++)
        if ((x[i] < 0 && !in->ignores) || x[i] >= in->limit)
            return ls__fail(LS_ERANGE, "input \"%s\": row %lld, element %lld "
                            "is %d; it must be %sbelow %lld", in->name,
                            (long long)(i / in->size),
                            (long long)(i % in->size), (int)x[i],
                            in->ignores ? "" : "at least 0 and ",
                            (long long)in->limit);
    return 0;
}

static int check_finite(const ls__input *in, const float *x, int64_t rows)
{
    for (int64_t i = 0; i < rows * in->size; i++)
        if (!(x[i] - x[i] == 0))
            return ls__fail(LS_ERANGE, "input \"%s\": row %lld, element %lld "
                            "is %g; it must be finite", in->name,
                            (long long)(i / in->size),
                            (long long)(i % in->size), (double)x[i]);
    return 0;
}

int ls__input_check(const ls__input *in, ls_dtype dtype, int64_t n,
                    const void *data, int64_t rows)
{
    if (dtype != in->dtype || !data)
        return ls__fail(LS_EINVAL, "input \"%s\" takes %s%s", in->name,
                        in->dtype == LS_F32 ? "LS_F32" : "LS_I32",
                        data ? "" : " and a pointer that is not NULL");
    LS__ASSERT(in->size > 0);
    if (rows > INT64_MAX / 4 / in->size) /* bytes */
        return ls__fail(LS_ESHAPE, "input \"%s\": %lld row%s of %lld elements "
                        "are more than memory has", in->name, (long long)rows,
                        ls__s(rows), (long long)in->size);
    if (rows * in->size > n)
        return ls__fail(LS_ESHAPE, "input \"%s\": %lld row%s of %lld element%s "
                        "need%s %lld, and the data has %lld", in->name,
                        (long long)rows, ls__s(rows), (long long)in->size,
                        ls__s(in->size), rows == 1 ? "s" : "",
                        (long long)(rows * in->size), (long long)n);
    if (dtype == LS_I32)
        return check_indices(in, data, rows);
    return in->finite ? check_finite(in, data, rows) : 0;
}

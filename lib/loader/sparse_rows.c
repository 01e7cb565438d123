/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed sparse rows as lists of one length. */
#include "base/error.h"
#include "base/assert.h"
#include <lockstep/sparse.h>

#include <string.h>

/* The arrays of a call. */
typedef struct rows {
    const int64_t *offsets;
    const int32_t *indices;
    const float *values;
    int64_t inputs, width;
} rows;

static int check_element(const rows *of, int64_t row, int64_t at)
{
    long long place = at - of->offsets[row];

    if (of->indices[at] < 0 || of->indices[at] >= of->inputs)
        return ls__fail(LS_ERANGE, "sparse rows: row %lld, element %lld has "
                        "index %d; it must be at least 0 and below %lld",
                        (long long)row, place, (int)of->indices[at],
                        (long long)of->inputs);
    if (of->values && !(of->values[at] - of->values[at] == 0))
        return ls__fail(LS_ERANGE, "sparse rows: row %lld, element %lld is %g; "
                        "it must be finite", (long long)row, place,
                        (double)of->values[at]);
    return 0;
}

static int check_row(const rows *of, int64_t row)
{
    int64_t first = of->offsets[row], last = of->offsets[row + 1];
    int status = 0;

    if (first < 0 || last < first)
        return ls__fail(LS_ESHAPE, "sparse rows: row %lld begins at offset "
                        "%lld and ends at %lld", (long long)row,
                        (long long)first, (long long)last);
    if (last - first > of->width)
        return ls__fail(LS_ESHAPE, "sparse rows: row %lld has %lld elements; "
                        "%lld are the most", (long long)row,
                        (long long)(last - first), (long long)of->width);
    for (int64_t i = first; i < last && status == 0; i++)
        status = check_element(of, row, i);
    return status;
}

static void write_row(const rows *of, int64_t row, int32_t *indices,
                      float *values)
{
    int64_t first = of->offsets[row], n = of->offsets[row + 1] - first;

    LS__ASSERT(n >= 0 && n <= of->width);
    memcpy(indices, of->indices + first, (size_t)n * sizeof *indices);
    for (int64_t i = n; i < of->width; i++)
        indices[i] = -1;
    if (!values)
        return;
    memcpy(values, of->values + first, (size_t)n * sizeof *values);
    for (int64_t i = n; i < of->width; i++)
        values[i] = 0;
}

int ls_sparse_rows(int64_t count, const int64_t *offsets,
                   const int32_t *indices, const float *values, int64_t inputs,
                   int64_t width, int32_t *out_indices, float *out_values)
{
    LS__NEED(offsets);
    LS__NEED(indices);
    LS__NEED(out_indices);

    rows of = {offsets, indices, values, inputs, width};
    int status = 0;

    if (count < 1 || width < 1)
        return ls__fail(LS_EINVAL, "sparse rows: %lld rows of %lld places; "
                        "each must be 1 or more", (long long)count,
                        (long long)width);
    if (!values != !out_values)
        return ls__fail(LS_EINVAL, "ls_sparse_rows: %s is NULL",
                        values ? "out_values" : "values");
    for (int64_t r = 0; r < count && status == 0; r++)
        status = check_row(&of, r);
    for (int64_t r = 0; r < count && status == 0; r++)
        write_row(&of, r, out_indices + r * width,
                  out_values ? out_values + r * width : NULL);
    return status;
}

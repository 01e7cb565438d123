/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated data: NumPy's legacy streams as arrays in memory. */
#include "data/data.h"
#include "opt/opt.h"

#include <stdlib.h>

/* An empty (rows,width); both are below 2^31. */
static int new_matrix(ls_array *t, ls_dtype dtype, int64_t rows, int64_t width)
{
    *t = (ls_array){.dtype = dtype, .rank = 2, .shape = {rows, width}};
    t->data = calloc((size_t)(rows * width), sizeof(float));
    return t->data ? OPT_GO
                   : opt_fail(OPT_FAILED, "generated data: out of memory");
}

int data_randn(data *d, const char *name, ls_numpy *rs, int64_t rows,
               int64_t width)
{
    ls_array t;
    int status = new_matrix(&t, LS_F32, rows, width);

    if (status != OPT_GO)
        return status;
    noise_floats(ls_numpy_randn, rs, rows * width, t.data);
    return data_add(d, name, t, "generated data");
}

int data_randint(data *d, const char *name, ls_numpy *rs, int64_t rows,
                 int64_t width, int64_t high)
{
    ls_array t;
    int status = new_matrix(&t, LS_I32, rows, width);

    if (status != OPT_GO)
        return status;
    ls_numpy_randint32(rs, 0, (int32_t)high, rows * width, t.data);
    return data_add(d, name, t, "generated data");
}

/* x = centre[label] + 3 noise, which stands in x. */
static void spread(ls_array *x, const int32_t *label, const float *centre)
{
    int64_t width = x->shape[1];
    float *row = x->data;

    for (int64_t i = 0; i < x->shape[0]; i++, row += width)
        for (int64_t j = 0; j < width; j++)
            row[j] = centre[label[i] * width + j] + 3 * row[j];
}

int data_classes(data *d, const char *x, const char *labels, ls_numpy *rs,
                 int64_t rows, int64_t width, int64_t classes)
{
    ls_array centre = {0}, tx = {0}, ty = {0};
    int status = new_matrix(&centre, LS_F32, classes, width);

    if (status == OPT_GO)
        status = new_matrix(&tx, LS_F32, rows, width);
    if (status == OPT_GO)
        status = new_matrix(&ty, LS_I32, rows, 1);
    if (status == OPT_GO) {
        ty.rank = 1;
        noise_floats(ls_numpy_randn, rs, classes * width, centre.data);
        ls_numpy_randint32(rs, 0, (int32_t)classes, rows, ty.data);
        noise_floats(ls_numpy_randn, rs, rows * width, tx.data);
        spread(&tx, ty.data, centre.data);
        status = data_add(d, x, tx, "generated data");
        tx = (ls_array){0};
    }
    if (status == OPT_GO) {
        status = data_add(d, labels, ty, "generated data");
        ty = (ls_array){0};
    }
    ls_array_free(&centre);
    ls_array_free(&tx);
    ls_array_free(&ty);
    return status;
}

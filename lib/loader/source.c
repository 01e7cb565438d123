/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources that need no files: arrays in memory, and weights for any source. */
#include "base/error.h"
#include "base/assert.h"
#include "base/least.h"
#include "base/memory.h"
#include "loader/named_array.h"
#include <lockstep/source.h>

#include <stdlib.h>
#include <string.h>

/* ------ Arrays in memory ------ */

/* Row i of the source has row_bytes from data + i * step. */
typedef struct arrays {
    ls__arena arena;
    int count;
    ls_array_spec *spec;
    const char **data;
    int64_t *step, *row_bytes;
} arrays;

static int arrays_fill(void *user, int64_t n, const int64_t *index,
                       void *const *out)
{
    const arrays *s = user;

    for (int a = 0; a < s->count; a++) {
        size_t bytes = (size_t)s->row_bytes[a];

        for (int64_t i = 0; i < n; i++)
            memcpy((char *)out[a] + (size_t)i * bytes,
                   s->data[a] + index[i] * s->step[a], bytes);
    }
    return 0;
}

static void arrays_close(void *user)
{
    arrays *s = user;

    ls__arena_free(&s->arena);
    free(s);
}

/* Take the next array: a row of the source is a row of it.  Returns how many
 * rows it has, or a status. */
static int64_t take(arrays *s, const ls_array *array)
{
    int a = s->count;
    ls_array_spec *spec = &s->spec[a];
    int64_t n = ls__array_rows(array, &s->step[a]);

    if (n < 0)
        return n;
    if (array->dtype != LS_F32 && array->dtype != LS_I32)
        return ls__fail(LS_EINVAL, "array \"%s\": %s; rows are LS_F32 or "
                        "LS_I32", array->name, ls__dtype_name(array->dtype));
    *spec = (ls_array_spec){.dtype = array->dtype, .rank = array->rank - 1};
    spec->name = ls__arena_text(&s->arena, array->name);
    memcpy(spec->shape, array->shape + 1,
           (size_t)spec->rank * sizeof *spec->shape);
    s->row_bytes[a] = s->step[a];
    s->data[a] = array->data;
    s->count++;
    return spec->name ? n : LS_ENOMEM;
}

/* Widen the array that was taken last, which has `all` rows, to its windows;
 * returns how many there are, or a status. */
static int64_t widen(arrays *s, const ls_series *series, int64_t all)
{
    int a = s->count - 1;
    ls_array_spec *spec = &s->spec[a];
    int64_t at = series->at, length = series->length;
    int64_t each = ls__most(length, 1);

    if (at < 0 || length < 0)
        return ls__fail(LS_EINVAL, "array \"%s\": a window of %lld row%s at "
                        "%lld", spec->name, (long long)length, ls__s(length),
                        (long long)at);
    if (at >= all || each > all - at)
        return ls__fail(LS_ESHAPE, "array \"%s\" has %lld row%s; a window of "
                        "%lld at %lld does not fit", spec->name, (long long)all,
                        ls__s(all), (long long)each, (long long)at);
    s->data[a] += at * s->step[a];
    s->row_bytes[a] *= each;
    LS__ASSERT(spec->rank < LS_MAX_RANK);
    if (length > 0) {
        memmove(spec->shape + 1, spec->shape,
                (size_t)spec->rank * sizeof *spec->shape);
        spec->shape[0] = length;
        spec->rank++;
    }
    return all - at - each + 1;
}

static int open_arrays(arrays **made, int n)
{
    arrays *s = *made = NULL;

    if (n < 1)
        return ls__fail(LS_EINVAL, "a source of %d arrays; it needs 1 or more",
                        n);
    if (!(s = ls__new(1, sizeof *s, "source")))
        return LS_ENOMEM;
    s->spec = ls__arena_new(&s->arena, (size_t)n, sizeof *s->spec);
    s->data = ls__arena_new(&s->arena, (size_t)n, sizeof *s->data);
    s->step = ls__arena_new(&s->arena, (size_t)n, sizeof *s->step);
    s->row_bytes = ls__arena_new(&s->arena, (size_t)n, sizeof *s->row_bytes);
    *made = s;
    return s->spec && s->data && s->step && s->row_bytes ? 0 : LS_ENOMEM;
}

/* Make a source of `rows` rows; if that is a status, close the arrays and
 * return it. */
static int give(ls_source *source, arrays *s, int64_t rows)
{
    if (rows < 0) {
        if (s)
            arrays_close(s);
        return (int)rows;
    }
    *source = (ls_source){.rows = rows, .n_arrays = s->count, .arrays = s->spec,
                          .fill = arrays_fill, .close = arrays_close,
                          .user = s};
    return 0;
}

/* All have equally many rows: those of the first. */
static int64_t take_all(arrays *s, int n, const ls_array *array)
{
    int64_t rows = take(s, &array[0]);

    for (int i = 1; i < n && rows >= 0; i++) {
        int64_t more = take(s, &array[i]);

        if (more >= 0 && more != rows)
            return ls__fail(LS_ESHAPE, "array \"%s\" has %lld row%s, \"%s\" "
                            "has %lld", array[i].name, (long long)more,
                            ls__s(more),
                            s->spec[0].name, (long long)rows);
        rows = ls__least(rows, more);
    }
    return rows;
}

int ls_source_arrays(ls_source *source, int n, const ls_array *of)
{
    LS__NEED(source);
    LS__NEED_AS(of || n <= 0, "arrays", LS_EINVAL);

    arrays *s;
    int status = open_arrays(&s, n);

    return give(source, s, status < 0 ? status : take_all(s, n, of));
}

int ls_source_series(ls_source *source, int n, const ls_series *series)
{
    LS__NEED(source);
    LS__NEED_AS(series || n <= 0, "series", LS_EINVAL);

    arrays *s;
    int status = open_arrays(&s, n);
    int64_t rows = status < 0 ? status : INT64_MAX;

    for (int i = 0; i < n && rows >= 0; i++) {
        int64_t some = take(s, &series[i].array);

        some = some < 0 ? some : widen(s, &series[i], some);
        rows = ls__least(rows, some);
    }
    return give(source, s, rows);
}

/* ------ Weights ------ */

typedef struct weighed {
    ls_source inner;
    int64_t rows; /* an index may count epochs, too */
    const float *weights;
} weighed;

static int weighed_fill(void *user, int64_t n, const int64_t *index,
                        void *const *out)
{
    const weighed *s = user;
    float *w = out[s->inner.n_arrays];
    int status = s->inner.fill(s->inner.user, n, index, out);

    for (int64_t i = 0; i < n; i++)
        w[i] = (s->inner.weighted ? w[i] : 1) * s->weights[index[i] % s->rows];
    return status;
}

static void weighed_close(void *user)
{
    weighed *s = user;

    ls_source_close(&s->inner);
    free(s);
}

int ls_source_weigh(ls_source *source, const float *weights, int64_t rows)
{
    LS__NEED(source);
    LS__NEED(weights);

    weighed *s;

    if (rows != source->rows)
        return ls__fail(LS_ESHAPE, "%lld weight%s for a source of %lld row%s",
                        (long long)rows, ls__s(rows), (long long)source->rows,
                        ls__s(source->rows));
    for (int64_t i = 0; i < rows; i++)
        if (!(weights[i] >= 0 && weights[i] - weights[i] == 0))
            return ls__fail(LS_ERANGE, "the weight of row %lld is %g; a weight "
                            "is finite and not negative", (long long)i,
                            (double)weights[i]);
    if (!(s = ls__new(1, sizeof *s, "weights")))
        return LS_ENOMEM;
    *s = (weighed){*source, rows, weights};
    source->weighted = true;
    source->fill = weighed_fill;
    source->close = weighed_close;
    source->user = s;
    return 0;
}

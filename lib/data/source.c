/* Sources that need no files: arrays in memory, and weights for any source. */
#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void ls_source_close(ls_source *source)
{
    if (!source)
        return;
    if (source->close)
        source->close(source->user);
    *source = (ls_source){0};
}

/* ------ Arrays in memory ------ */

typedef struct arrays {
    ls__arena arena;
    int count;
    ls_array_spec *spec;
    const char **data;
    int64_t *row_bytes;
} arrays;

static int arrays_fill(void *user, int64_t n, const int64_t *index,
                       void *const *out)
{
    const arrays *s = user;

    for (int a = 0; a < s->count; a++) {
        size_t bytes = (size_t)s->row_bytes[a];

        for (int64_t i = 0; i < n; i++)
            memcpy((char *)out[a] + (size_t)i * bytes,
                   s->data[a] + (size_t)index[i] * bytes, bytes);
    }
    return 0;
}

static void arrays_close(void *user)
{
    arrays *s = user;

    ls__arena_free(&s->arena);
    free(s);
}

/* The row of an array; *rows is what the arrays before it have, or -1. */
static int take(arrays *s, const ls_array *array, int64_t *rows)
{
    ls_array_spec *spec = &s->spec[s->count];
    int64_t n = ls__array_rows(array, &s->row_bytes[s->count]);

    if (n < 0)
        return (int)n;
    if (array->dtype != LS_F32 && array->dtype != LS_I32)
        return ls__fail(LS_EINVAL, "array \"%s\": %s; rows are LS_F32 or "
                        "LS_I32", array->name, ls__dtype_name(array->dtype));
    if (*rows >= 0 && n != *rows)
        return ls__fail(LS_ESHAPE, "array \"%s\" has %lld rows, \"%s\" has "
                        "%lld", array->name, (long long)n, s->spec[0].name,
                        (long long)*rows);
    *spec = (ls_array_spec){.dtype = array->dtype, .rank = array->rank - 1};
    spec->name = ls__arena_text(&s->arena, array->name);
    memcpy(spec->shape, array->shape + 1,
           (size_t)spec->rank * sizeof *spec->shape);
    s->data[s->count++] = array->data;
    *rows = n;
    return spec->name ? 0 : LS_ENOMEM;
}

static int take_all(arrays *s, int n, const ls_array *array, int64_t *rows)
{
    int status = 0;

    s->spec = ls__arena_new(&s->arena, (size_t)n, sizeof *s->spec);
    s->data = ls__arena_new(&s->arena, (size_t)n, sizeof *s->data);
    s->row_bytes = ls__arena_new(&s->arena, (size_t)n, sizeof *s->row_bytes);
    if (!s->spec || !s->data || !s->row_bytes)
        return LS_ENOMEM;
    for (int i = 0; i < n && status == 0; i++)
        status = take(s, &array[i], rows);
    return status;
}

int ls_source_arrays(ls_source *source, int n, const ls_array *array)
{
    LS__NEED(source);
    LS__NEED_AS(array || n <= 0, "array", LS_EINVAL);

    int64_t rows = -1;
    arrays *s;
    int status;

    if (n < 1)
        return ls__fail(LS_EINVAL, "a source of %d arrays", n);
    if (!(s = ls__new(1, sizeof *s, "source")))
        return LS_ENOMEM;
    status = take_all(s, n, array, &rows);
    if (status < 0) {
        arrays_close(s);
        return status;
    }
    *source = (ls_source){.rows = rows, .arrays = n, .array = s->spec,
                          .fill = arrays_fill, .close = arrays_close,
                          .user = s};
    return 0;
}

/* ------ Weights ------ */

typedef struct weighed {
    ls_source inner;
    const float *weights;
} weighed;

static int weighed_fill(void *user, int64_t n, const int64_t *index,
                        void *const *out)
{
    const weighed *s = user;
    float *w = out[s->inner.arrays];
    int status = s->inner.fill(s->inner.user, n, index, out);

    for (int64_t i = 0; i < n; i++)
        w[i] = (s->inner.weighted ? w[i] : 1) * s->weights[index[i]];
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
        return ls__fail(LS_ESHAPE, "%lld weights for a source of %lld rows",
                        (long long)rows, (long long)source->rows);
    for (int64_t i = 0; i < rows; i++)
        if (!(weights[i] >= 0 && weights[i] - weights[i] == 0))
            return ls__fail(LS_ERANGE, "the weight of row %lld is %g; a weight "
                            "is finite and not negative", (long long)i,
                            (double)weights[i]);
    if (!(s = ls__new(1, sizeof *s, "weights")))
        return LS_ENOMEM;
    *s = (weighed){*source, weights};
    source->weighted = true;
    source->fill = weighed_fill;
    source->close = weighed_close;
    source->user = s;
    return 0;
}

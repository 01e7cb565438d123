/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights as arrays of C. */
#include "base/error.h"
#include "base/memory.h"
#include "csource/writer.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256, PANEL = 64, LANES = 16 };

static uint32_t bits_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

/* A denormal is a zero of its sign; what is not finite is refused. */
static int flush(const ls__writer *w, const ls_entry *e, float *x)
{
    for (int64_t i = 0; i < e->elements; i++)
        if (!(bits_of(x[i]) & 0x7f800000))
            x[i] = bits_of(x[i]) >> 31 ? -0.0f : 0.0f;
        else if ((bits_of(x[i]) & 0x7f800000) == 0x7f800000)
            return ls__fail(LS_ENONFINITE, "%s: \"%s\" has an element that "
                            "is not finite, which C source does not hold",
                            w->path, e->name);
    return 0;
}

int ls__weights_read(ls__writer *w, int entry, float **x, int64_t *n)
{
    ls_entry e;
    int status;

    ls_archive_entry(w->archive, entry, &e);
    *n = e.elements;
    if (!(*x = ls__new((size_t)e.elements, sizeof **x, "weights")))
        return LS_ENOMEM;
    status = ls_archive_read(w->archive, entry, e.elements, *x);
    if (status == 0 && (status = flush(w, &e, *x)) == 0)
        return 0;
    free(*x);
    *x = NULL;
    return status;
}

/* Arrays have names of their own whatever parameters are called. */
static void name_array(ls__writer *w, const char *of, char name[LS__NAME])
{
    char rest[LS__NAME];
    int number = 0;

    for (size_t i = 0; i < w->weights.size; i++)
        number += w->weights.bytes[i] == '{';
    ls__text_name(rest, of);
    snprintf(name, LS__NAME, "w%d_%.36s", number, rest);
}

static void put_number(ls__text *t, int64_t i, float x)
{
    ls__text_put(t, i % 4 ? " " : "\n    ");
    ls__text_float(t, x);
    ls__text_put(t, ",");
}

int ls__weights_made(ls__writer *w, const char *kind, int64_t n,
                     const float *x, char name[LS__NAME])
{
    name_array(w, kind, name);
    ls__text_put(&w->weights, "\nstatic const float %s[%lld] = {", name,
                 (long long)n);
    for (int64_t i = 0; i < n; i++)
        put_number(&w->weights, i, x[i]);
    ls__text_put(&w->weights, "\n};\n");
    return w->weights.failed ? LS_ENOMEM : 0;
}

int ls__weights_plain(ls__writer *w, int entry, char name[LS__NAME])
{
    ls_entry e;
    int64_t n;
    float *x;
    int status = ls__weights_read(w, entry, &x, &n);

    ls_archive_entry(w->archive, entry, &e);
    if (status == 0)
        status = ls__weights_made(w, e.name, n, x, name);
    free(x);
    return status;
}

int64_t ls__packed_size(const ls__operand *of)
{
    return of->k * of->n;
}

/* Columns j .. j + wide of a chunk, k by k; *least goes down to the least
 * exponent of what is not 0. */
static void put_panel(ls__text *t, const ls__operand *of, const float *x,
                      int64_t c, int64_t j, int64_t wide, int64_t *put,
                      int *least)
{
    for (int64_t i = c; i < of->k && i < c + CHUNK; i++)
        for (int64_t p = j; p < j + wide; p++) {
            float one = x[i * of->row + p * of->col];
            int e = (int)(bits_of(one) >> 23 & 255);

            put_number(t, (*put)++, one);
            *least = e && e < *least ? e : *least;
        }
}

/* Write weights in the order in which the part "product" reads them. */
static int put_packed(ls__text *t, const ls__operand *of, const float *x)
{
    int64_t put = 0, wide;
    int least = 255;

    for (int64_t g = 0; g < of->count; g++, x += of->next)
        for (int64_t c = 0; c < of->k; c += CHUNK)
            for (int64_t j = 0, left; (left = of->n - j) > 0; j += wide) {
                wide = left >= PANEL ? PANEL : left >= LANES ? LANES : left;
                put_panel(t, of, x, c, j, wide, &put, &least);
            }
    return least;
}

int ls__weights_packed(ls__writer *w, int entry, const ls__operand *of,
                       char name[LS__NAME])
{
    ls__text *t = &w->weights;
    ls_entry e;
    int64_t n;
    float *x;
    int least, status = ls__weights_read(w, entry, &x, &n);

    if (status < 0)
        return status;
    ls_archive_entry(w->archive, entry, &e);
    name_array(w, e.name, name);
    ls__text_put(t, "\nstatic const float %s[%lld] = {", name,
                 (long long)(of->count * ls__packed_size(of)));
    least = put_packed(t, of, x);
    ls__text_put(t, "\n};\nenum { %s_least = %d };\n", name, least);
    free(x);
    return t->failed ? LS_ENOMEM : 0;
}

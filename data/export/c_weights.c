/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights as arrays of C. */
#include "base/error.h"
#include "base/memory.h"
#include "export/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    char rest[LS__NAME], whole[LS__NAME + 2];
    int number = 0;

    for (size_t i = 0; i < w->weights.size; i++)
        number += w->weights.bytes[i] == '{';
    ls__text_name(rest, of);
    snprintf(whole, sizeof whole, "w%d_%.36s", number, rest);
    memcpy(name, whole, LS__NAME - 1);
    name[LS__NAME - 1] = '\0';
}

static void put_number(ls__text *t, int64_t i, float x)
{
    ls__text_put(t, i % 4 ? " " : "\n    ");
    ls__text_float(t, x);
    ls__text_put(t, ",");
}

/* Begins an array of floats. */
static void put_array(ls__text *t, const char *name, int64_t n)
{
    ls__text_put(t, "\nstatic const float %s[%lld] "
                    "__attribute__((aligned(64))) = {", name, (long long)n);
}

int ls__weights_made(ls__writer *w, const char *kind, int64_t n,
                     const float *x, char name[LS__NAME])
{
    name_array(w, kind, name);
    put_array(&w->weights, name, n);
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

/* Write weights in panels as product() of source_layers.h reads them. */
static void put_packed(ls__text *t, const ls__operand *of, const float *x)
{
    int64_t put = 0;

    for (int64_t g = 0; g < of->count; g++, x += of->next)
        for (int64_t j = 0; j < of->n; j += LS__PANEL)
            for (int64_t i = 0; i < of->k; i++)
                for (int64_t p = j; p < j + LS__PANEL &&
                                    p < ls__panels(of->n); p++)
                    put_number(t, put++, p < of->n ? x[i * of->row +
                                                       p * of->col] : 0);
}

static int write_packed(ls__writer *w, const ls__operand *of, const float *x,
                        const char *name)
{
    ls__text *t = &w->weights;

    put_array(t, name, of->count * of->k * ls__panels(of->n));
    put_packed(t, of, x);
    ls__text_put(t, "\n};\n");
    return t->failed ? LS_ENOMEM : 0;
}

/* ------ bytes ------ */

/* More than this in a sum could pass 2^31 (127 x 127 each). */
enum { DEEPEST = 133143 };

/* The scale of n numbers that lie so far apart: their greatest / 127; 0 where
 * all are below 2^-100. */
static float scale_of(int64_t n, const float *x, int64_t apart)
{
    float most = 0;

    for (int64_t i = 0; i < n; i++)
        most = fabsf(x[i * apart]) > most ? fabsf(x[i * apart]) : most;
    return most < 0x1p-100f ? 0 : most / 127.0f;
}

/* The weights of output i, counted over all groups. */
static const float *output_at(const ls__operand *of, const float *x, int64_t i)
{
    return x + i / of->n * of->next + i % of->n * of->col;
}

static void put_bytes(ls__text *t, const ls__operand *of, const float *x)
{
    for (int64_t i = 0, put = 0; i < of->count * of->n; i++) {
        const float *v = output_at(of, x, i);
        float scale = scale_of(of->k, v, of->row);

        for (int64_t k = 0; k < of->k; k++) {
            int q = scale == 0 ? 0 : (int)rintf(v[k * of->row] / scale);

            ls__text_put(t, put++ % 16 ? "%d," : "\n    %d,", q);
        }
    }
}

/* Arrays of bytes and of scales, and the struct of both, whose address `name`
 * becomes. */
static int write_bytes(ls__writer *w, const ls__operand *of, const float *x,
                       char name[LS__NAME])
{
    ls__text *t = &w->weights;
    int64_t outputs = of->count * of->n;

    ls__text_put(t, "\nstatic const signed char %s_w[%lld] = {", name,
                 (long long)(outputs * of->k));
    put_bytes(t, of, x);
    ls__text_put(t, "\n};\nstatic const float %s_scale[%lld] = {", name,
                 (long long)outputs);
    for (int64_t i = 0; i < outputs; i++)
        put_number(t, i, scale_of(of->k, output_at(of, x, i), of->row));
    ls__text_put(t, "\n};\nstatic const weights %s = {%s_w, %s_scale};\n",
                 name, name, name);
    memmove(name + 1, name, LS__NAME - 1);
    name[0] = '&';
    return t->failed ? LS_ENOMEM : 0;
}

/* ------ what layers read ------ */

/* Read an entry, to be freed, and give its array a name. */
static int open_array(ls__writer *w, int entry, float **x, int64_t *n,
                      char name[LS__NAME])
{
    ls_entry e;

    ls_archive_entry(w->archive, entry, &e);
    name_array(w, e.name, name);
    return ls__weights_read(w, entry, x, n);
}

int ls__weights_layer(ls__writer *w, int entry, const ls__operand *of,
                      char name[LS__NAME])
{
    int64_t n;
    float *x;
    int status = open_array(w, entry, &x, &n, name);

    if (status == 0 && w->int8 && of->k > DEEPEST)
        status = ls__fail(LS_ENOTSUP, "%s: a layer of %lld inputs; with int8 "
                          "%d are the most", w->path, (long long)of->k,
                          DEEPEST);
    if (status == 0)
        status = w->int8 ? write_bytes(w, of, x, name)
                         : write_packed(w, of, x, name);
    free(x);
    return status;
}

int64_t ls__times_room(const ls__writer *w, const ls__operand *of)
{
    return w->int8 ? (LS__ROWS * of->k + 3) / 4 : 0;
}

int ls__weights_table(ls__writer *w, int entry, int64_t width,
                      char name[LS__NAME])
{
    ls__operand rows = {1, 0, width, 0, 1, width};
    float *x;
    int status;

    if (!w->int8)
        return ls__weights_plain(w, entry, name);
    status = open_array(w, entry, &x, &rows.n, name);
    rows.n /= width;
    if (status == 0)
        status = write_bytes(w, &rows, x, name);
    free(x);
    return status;
}

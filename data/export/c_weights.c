/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights as arrays of C. */
#include "base/error.h"
#include "base/memory.h"
#include "export/writer.h"

#include <math.h>
#include <stdlib.h>

/* A denormal is a zero of its sign; what is not finite is refused. */
float *ls__weights_read(ls__writer *w, const ls__net_param *p)
{
    const float *from = p->of.data;
    float *x = w->status < 0 ? NULL : ls__new((size_t)p->of.elements,
                                              sizeof *x, "weights");

    if (!x && w->status == 0)
        w->status = LS_ENOMEM;
    for (int64_t i = 0; x && i < p->of.elements; i++)
        if (isfinite(from[i])) {
            x[i] = fabsf(from[i]) < 0x1p-126f ? copysignf(0, from[i]) : from[i];
        } else {
            w->status = ls__fail(LS_ENONFINITE, "%s: \"%s\" has an element "
                                 "that is not finite, which C source does not "
                                 "hold", w->path, p->of.name);
            free(x);
            x = NULL;
        }
    return x;
}

/* Arrays have names of their own whatever parameters are called. */
static const char *name_of(ls__writer *w, const char *of)
{
    char rest[LS__NAME], whole[2 * LS__NAME];
    const char *name;

    ls__text_name(rest, of);
    snprintf(whole, sizeof whole, "w%d_%s", w->arrays++, rest);
    if ((name = ls__arena_text(&w->net.arena, whole)))
        return name;
    w->status = LS_ENOMEM;
    return "";
}

static void put_floats(ls__text *t, const char *name, const char *end,
                       int64_t n, const float *x)
{
    ls__text_put(t, "\nstatic const float %s%s[%lld] "
                    "__attribute__((aligned(64))) = {", name, end,
                 (long long)n);
    for (int64_t i = 0; i < n; i++) {
        ls__text_put(t, i % 4 ? " " : "\n    ");
        ls__text_number(t, (double)x[i], "f");
        ls__text_put(t, ",");
    }
    ls__text_put(t, "\n};\n");
}

const char *ls__weights_made(ls__writer *w, const char *kind, int64_t n,
                             const float *x)
{
    const char *name = x ? name_of(w, kind) : "";

    if (x)
        put_floats(&w->weights, name, "", n, x);
    return name;
}

const char *ls__weights_plain(ls__writer *w, const ls__net_param *p)
{
    float *x = ls__weights_read(w, p);
    const char *name = ls__weights_made(w, p->of.name, p->of.elements, x);

    free(x);
    return name;
}

/* Weights in panels as product() of source_layers.h reads them. */
static const char *write_packed(ls__writer *w, const char *kind,
                                const ls__operand *of, const float *x)
{
    int64_t size = of->count * of->k * ls__panels(of->n);
    float *packed = ls__new((size_t)size, sizeof *packed, "weights");
    float *to = packed;
    const char *name;

    if (!packed)
        w->status = LS_ENOMEM;
    for (int64_t g = 0; packed && g < of->count; g++, x += of->next)
        for (int64_t j = 0; j < of->n; j += LS__PANEL)
            for (int64_t i = 0; i < of->k; i++)
                for (int64_t p = j; p < j + LS__PANEL &&
                                    p < ls__panels(of->n); p++)
                    *to++ = p < of->n ? x[i * of->row + p * of->col] : 0;
    name = ls__weights_made(w, kind, size, packed);
    free(packed);
    return name;
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

/* Arrays of bytes and of scales, output by output counted over all groups, and
 * the struct of both. */
static const char *write_bytes(ls__writer *w, const char *kind,
                               const ls__operand *of, const float *x)
{
    ls__text *t = &w->weights;
    int64_t outputs = of->count * of->n;
    float *scale = ls__new((size_t)outputs, sizeof *scale, "weights");
    const char *name = name_of(w, kind);

    if (!scale)
        w->status = LS_ENOMEM;
    ls__text_put(t, "\nstatic const signed char %s_w[%lld] = {", name,
                 (long long)(outputs * of->k));
    for (int64_t i = 0, put = 0; scale && i < outputs; i++) {
        const float *v = x + i / of->n * of->next + i % of->n * of->col;

        scale[i] = scale_of(of->k, v, of->row);
        for (int64_t k = 0; k < of->k; k++) {
            float q = scale[i] == 0 ? 0 : rintf(v[k * of->row] / scale[i]);

            ls__text_put(t, put++ % 16 ? "%d," : "\n    %d,", (int)q);
        }
    }
    ls__text_put(t, "\n};\n");
    if (scale)
        put_floats(t, name, "_scale", outputs, scale);
    ls__text_put(t, "static const weights %s[] = {{%s_w, %s_scale}};\n", name,
                 name, name);
    free(scale);
    return name;
}

/* ------ what layers read ------ */

const char *ls__weights_layer(ls__writer *w, const ls__net_param *p,
                              const ls__operand *of)
{
    float *x = ls__weights_read(w, p);
    const char *name = "";

    if (x && w->int8 && of->k > DEEPEST)
        w->status = ls__fail(LS_ENOTSUP, "%s: a layer of %lld inputs; with "
                             "int8 %d are the most", w->path, (long long)of->k,
                             DEEPEST);
    else if (x)
        name = (w->int8 ? write_bytes : write_packed)(w, p->of.name, of, x);
    free(x);
    return name;
}

int64_t ls__times_room(const ls__writer *w, const ls__operand *of)
{
    return w->int8 ? (LS__ROWS * of->k + 3) / 4 : 0;
}

const char *ls__weights_table(ls__writer *w, const ls__net_param *p,
                              int64_t width)
{
    ls__operand rows = {1, 0, width, p->of.elements / width, 1, width};

    return w->int8 ? ls__weights_layer(w, p, &rows) : ls__weights_plain(w, p);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Norms: of a vector, of a group of a row, and of a channel by what is
 * stored. */
#include "operators.h"

/* ------ a list of numbers ------ */

typedef struct stats {
    f32 mean, r; /* r: 1 / deviation */
} stats;

static bool is_rms(const asked *q) { return !strcmp(q->n->op, "rms_norm"); }

static f32 by_deviation(f32 var, f32 eps)
{
    return f_div(F(1.0f), f_sqrt(f_add(var, eps)));
}

/* With two passes the mean is taken off before squares are; an rms norm knows
 * no mean. */
static stats stats_of(const asked *q, const f32 *x, int64_t n)
{
    f32 eps = attribute(q->n, "epsilon") ? real_number(q, "epsilon")
                                         : F(1e-6f);
    f32 by = f_div(F(1.0f), f_int(n)), rest, var, *centred;
    stats s = {0, 0};

    if (is_rms(q)) {
        s.r = by_deviation(f_mul(row_sum(x, x, n), by),
                           real_number(q, "epsilon"));
        return s;
    }
    s.mean = rest = f_mul(row_sum(x, NULL, n), by);
    if (integer(q, "two_passes", 0)) {
        centred = room_for(n);
        for (int64_t j = 0; j < n; j++)
            centred[j] = f_sub(x[j], s.mean);
        x = centred;
        rest = f_mul(row_sum(x, NULL, n), by);
    }
    var = f_sub(f_mul(row_sum(x, x, n), by), f_mul(rest, rest));
    var = f_lt(0, var) ? var : 0;
    s.r = by_deviation(var, eps);
    return s;
}

static f32 norm_xh(f32 x, f32 mean, f32 r) { return f_mul(f_sub(x, mean), r); }

/* kept: mean and r */
static f32 norm_y(f32 x, place kept, f32 scale, f32 bias)
{
    f32 r = word(kept + 1);

    return f_fma(f_sub(x, word(kept)), f_mul(r, scale), bias);
}

static f32 norm_dx(const asked *q, const f32 *x, const f32 *dy,
                   const f32 *scale, int64_t n, int64_t at)
{
    f32 by = f_div(F(1.0f), f_int(n)), md, mdx;
    f32 *d = room_for(n), *xh = room_for(n);
    stats s = stats_of(q, x, n);

    for (int64_t j = 0; j < n; j++) {
        d[j] = f_mul(dy[j], scale[j]);
        xh[j] = norm_xh(x[j], s.mean, s.r);
    }
    md = is_rms(q) ? 0 : f_mul(row_sum(d, NULL, n), by);
    mdx = f_neg(f_mul(row_sum(d, xh, n), by));
    return f_mul(s.r, f_fma(mdx, xh[at], f_sub(d[at], md)));
}

/* dy of a column times xh: chains of 256, the first one added to c. */
static f32 scale_sum(const f32 *c, const f32 *d, const f32 *xh, int64_t n)
{
    f32 sum = 0;

    for (int64_t i = 0; i < n; i += 256) {
        f32 one = 0;

        for (int64_t k = i; k < n && k < i + 256; k++)
            one = f_fma(d[k], xh[k], one);
        sum = i ? f_add(sum, one) : c ? f_add(*c, one) : one;
    }
    return sum;
}

/* ------ layer norm, rms norm: a list is a vector ------ */

/* Column `at` of xh; mean: every second number from there on, or 0. */
static f32 *column_of_xh(const asked *q, place mean, place r, int64_t step)
{
    f32 *xh = room_for(q->vectors);

    for (int64_t i = 0; i < q->vectors; i++) {
        f32 x = word(q->x + i * q->width + q->at);

        xh[i] = mean ? norm_xh(x, word(mean + i * step), word(r + i * step))
                     : f_mul(x, word(r + i * step));
    }
    return xh;
}

static f32 norm_dscale(const asked *q, const f32 *xh)
{
    return scale_sum(sum_before(q), words(q->dy + q->at, q->vectors, q->width),
                     xh, q->vectors);
}

f32 vector_norm_makes(const asked *q)
{
    bool rms = is_rms(q);
    int64_t n = q->width, i = q->at / n, j = q->at % n, each = rms ? 1 : 2;
    place scale = param_of(q, 0, n), bias = rms ? 0 : param_of(q, 1, n);
    place kept = shown(q, "forward", "kept", each * q->vectors);
    stats s;

    if (!scale || (!rms && !bias) || !kept || q->size != q->in_size)
        return unknown(q->n->op);
    if (is_y() && rms)
        return f_mul(word(q->x + q->at),
                     f_mul(word(kept + i), word(scale + j)));
    if (is_y())
        return norm_y(word(q->x + q->at), kept + 2 * i, word(scale + j),
                      word(bias + j));
    if (is_what("kept")) {
        s = stats_of(q, words(q->x + q->at / each * n, n, 1), n);
        return rms || q->at % 2 ? s.r : s.mean;
    }
    if (is_dx(q, 0))
        return plus_others(q, norm_dx(q, words(q->x + i * n, n, 1),
                                      words(q->dy + i * n, n, 1),
                                      words(scale, n, 1), n, j));
    if (is_dparam(q, 0))
        return norm_dscale(q, column_of_xh(q, rms ? 0 : kept,
                                           rms ? kept : kept + 1, each));
    return !rms && is_dparam(q, 1) ? column_of(q, q->dy)
                                   : unknown(q->n->op);
}

/* ------ group norm: a list is a group of a row ------ */

typedef struct group {
    int64_t groups, run, pixels, n; /* n: run of each pixel */
    place scale, bias, kept;
} group;

/* A group of an array like x, `step` being the width, or 0 of one like its
 * channels. */
static f32 *group_of(const group *g, int64_t list, place x, int64_t step)
{
    f32 *all = room_for(g->n);

    x += list / g->groups * g->pixels * step + list % g->groups * g->run;
    for (int64_t i = 0; i < g->n; i++)
        all[i] = word(x + i / g->run * step + i % g->run);
    return all;
}

static f32 group_dx(const asked *q, const group *g, int64_t list)
{
    int64_t at = q->at % q->size / q->width * g->run + q->at % q->width %
                                                           g->run;

    return plus_others(q, norm_dx(q, group_of(g, list, q->x, q->width),
                                  group_of(g, list, q->dy, q->width),
                                  group_of(g, list % g->groups, g->scale,
                                           0), g->n, at));
}

/* The term of element `at` of x in its channel's scale or bias. */
static f32 group_gives(const asked *q, const group *g, int64_t at, bool scale)
{
    place s = g->kept + 2 * (at / q->size * g->groups +
                             at % q->width / g->run);
    f32 d = word(q->dy + at);

    return scale ? f_fma(d, norm_xh(word(q->x + at), word(s), word(s + 1)), 0)
                 : f_add(0, d);
}

/* The pixels of each row by themselves. */
static f32 group_dparam(const asked *q, const group *g, bool scale)
{
    const f32 *c = sum_before(q);
    f32 *a = room_for(g->pixels), sum = c ? *c : 0;

    for (int64_t i = 0; i < q->rows; i++) {
        for (int64_t p = 0; p < g->pixels; p++) {
            int64_t at = i * q->size + p * q->width + q->at;

            a[p] = scale ? group_gives(q, g, at, true) : word(q->dy + at);
        }
        sum = column(i || c ? &sum : NULL, a, g->pixels);
    }
    return sum;
}

/* Those of a group stand together. */
static f32 group_shown(const asked *q, const group *g, bool scale)
{
    int64_t list = q->at / g->n, i = q->at % g->n;

    return group_gives(q, g, list / g->groups * q->size +
                                 list % g->groups * g->run +
                                 i / g->run * q->width + i % g->run, scale);
}

static f32 group_stats(const asked *q, const group *g)
{
    stats s = stats_of(q, group_of(g, q->at / 2, q->x, q->width), g->n);

    return q->at % 2 ? s.r : s.mean;
}

f32 group_norm_makes(const asked *q)
{
    int64_t c = q->at % q->width, list;
    group g;

    g.groups = integer(q, "groups", 1);
    g.scale = param_of(q, 0, q->width);
    g.bias = param_of(q, 1, q->width);
    if (g.groups < 1 || q->width % g.groups || !g.scale || !g.bias ||
        q->size != q->in_size)
        return unknown("group_norm");
    g.kept = shown(q, "forward", "kept", 2 * g.groups * q->rows);
    g.run = q->width / g.groups;
    g.pixels = q->size / q->width;
    g.n = g.run * g.pixels;
    list = q->at / q->size * g.groups + c / g.run;
    if (!g.kept)
        return unknown("group_norm");
    if (is_what("kept"))
        return group_stats(q, &g);
    if (is_y())
        return norm_y(word(q->x + q->at), g.kept + 2 * list,
                      word(g.scale + c), word(g.bias + c));
    if (q->dy && is_what("dscale of pixels"))
        return group_shown(q, &g, true);
    if (q->dy && is_what("dbias of pixels"))
        return group_shown(q, &g, false);
    if (is_dx(q, 0))
        return group_dx(q, &g, list);
    return is_dparam(q, 0) || is_dparam(q, 1)
               ? group_dparam(q, &g, of->index == 0) : unknown("group_norm");
}

/* ------ batch norm by what is stored ------ */

/* All four parameters get theirs from the same two columns. */
static f32 batch_dparam(const asked *q, f32 mean, f32 r, f32 factor)
{
    const f32 *c = sum_before(q);
    const f32 *d = words(q->dy + q->at, q->vectors, q->width);
    f32 *xh = words(q->x + q->at, q->vectors, q->width), by;

    for (int64_t i = 0; i < q->vectors; i++)
        xh[i] = norm_xh(xh[i], mean, r);
    if (of->index % 3 == 0)
        by = scale_sum(NULL, d, xh, q->vectors);
    else
        by = column(NULL, d, q->vectors);
    if (of->index == 2)
        by = f_neg(f_mul(factor, by));
    if (of->index == 3)
        by = f_mul(f_mul(f_mul(F(-0.5f), factor), r), by);
    return c ? f_add(*c, by) : by;
}

f32 batch_norm_makes(const asked *q)
{
    int64_t j = is_what("dparam") ? q->at : q->at % q->width;
    f32 p[4], r, factor, x;

    if (by_rows_makes(q, &x))
        return x;
    for (int k = 0; k < 4; k++) {
        place all = param_of(q, k, q->width);

        p[k] = all ? word(all + j) : unknown("batch_norm");
    }
    r = by_deviation(p[3], real_number(q, "epsilon"));
    factor = f_mul(r, p[0]);
    if (is_y())
        return f_fma(f_sub(word(q->x + q->at), p[2]), factor, p[1]);
    if (is_dx(q, 0))
        return plus_others(q, f_mul(word(q->dy + q->at), factor));
    return is_what("dparam") && q->dy ? batch_dparam(q, p[2], r, factor)
                                      : unknown("batch_norm");
}

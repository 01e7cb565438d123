/* SPDX-License-Identifier: BSD-3-Clause */
/* Norms of a vector, and of a group of a row. */
#include "operators.h"

/* ------ a list of numbers ------ */

typedef struct stats {
    f32 mean, r; /* r: 1 / deviation */
} stats;

static bool is_rms(const asked *q) { return !strcmp(q->n->op, "rms_norm"); }

f32 by_deviation(f32 var, f32 eps)
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
        s.r = by_deviation(f_mul(row_sum(x, x, n), by), eps);
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

f32 norm_xh(f32 x, f32 mean, f32 r) { return f_mul(f_sub(x, mean), r); }

/* ------ layer, rms and group norms ------ */

/* A list is a vector, or a group of a row: `run` numbers of each of its pixels,
 * which are `width` apart.  Kept of each: mean and r, or r alone. */
typedef struct lists {
    const asked *q;
    int64_t groups, run;
    int64_t n, row, each; /* of a list, of all groups; numbers kept */
    place scale, bias, kept;
} lists;

/* Number i of a list, in x. */
static int64_t place_in(const lists *l, int64_t list, int64_t i)
{
    return list / l->groups * l->row + list % l->groups * l->run +
           i / l->run * l->q->width + i % l->run;
}

/* The list that has number `at` of x; what is kept of it. */
static int64_t list_of(const lists *l, int64_t at)
{
    return at / l->row * l->groups + at % l->q->width / l->run;
}

static stats kept_at(const lists *l, int64_t at)
{
    place k = l->kept + l->each * list_of(l, at);
    stats s = {l->each == 1 ? 0 : word(k), word(k + l->each - 1)};

    return s;
}

static f32 xh_at(const lists *l, int64_t at)
{
    stats s = kept_at(l, at);

    return norm_xh(word(l->q->x + at), s.mean, s.r);
}

static f32 list_y(const lists *l, int64_t at)
{
    int64_t c = at % l->q->width;
    stats s = kept_at(l, at);

    return f_fma(f_sub(word(l->q->x + at), s.mean),
                 f_mul(s.r, word(l->scale + c)),
                 l->bias ? word(l->bias + c) : F(-0.0f));
}

static f32 list_dx(const lists *l, int64_t at)
{
    const asked *q = l->q;
    int64_t n = l->n;
    f32 by = f_div(F(1.0f), f_int(n)), md, mdx, dy;
    f32 *d = room_for(n), *xh = room_for(n);

    for (int64_t i = 0; i < n; i++) {
        int64_t p = place_in(l, list_of(l, at), i);

        d[i] = f_mul(word(q->dy + p), word(l->scale + p % q->width));
        xh[i] = xh_at(l, p);
    }
    md = is_rms(q) ? 0 : f_mul(row_sum(d, NULL, n), by);
    mdx = f_neg(f_mul(row_sum(d, xh, n), by));
    dy = f_mul(word(q->dy + at), word(l->scale + at % q->width));
    return f_mul(kept_at(l, at).r, f_fma(mdx, xh_at(l, at), f_sub(dy, md)));
}

static f32 list_stats(const lists *l, int64_t at)
{
    f32 *x = room_for(l->n);
    stats s;

    for (int64_t i = 0; i < l->n; i++)
        x[i] = word(l->q->x + place_in(l, at / l->each, i));
    s = stats_of(l->q, x, l->n);
    return l->each == 1 || at % 2 ? s.r : s.mean;
}

/* Of the scale of vectors: down the column. */
static f32 vectors_dscale(const lists *l)
{
    const asked *q = l->q;
    f32 *xh = room_for(q->vectors);

    for (int64_t i = 0; i < q->vectors; i++)
        xh[i] = xh_at(l, i * q->width + q->at);
    return chains(sum_before(q), words(q->dy + q->at, q->vectors, q->width),
                  xh, q->vectors);
}

/* The term of element `at` of x in its channel's scale or bias. */
static f32 group_gives(const lists *l, int64_t at, bool scale)
{
    f32 d = word(l->q->dy + at);

    return scale ? f_fma(d, xh_at(l, at), 0) : f_add(0, d);
}

/* The pixels of each row by themselves. */
static f32 groups_dparam(const lists *l, bool scale)
{
    const asked *q = l->q;
    const f32 *c = sum_before(q);
    int64_t pixels = q->size / q->width;
    f32 *a = room_for(pixels), sum = c ? *c : 0;

    for (int64_t i = 0; i < q->rows; i++) {
        for (int64_t p = 0; p < pixels; p++) {
            int64_t at = i * q->size + p * q->width + q->at;

            a[p] = scale ? group_gives(l, at, true) : word(q->dy + at);
        }
        sum = column(i || c ? &sum : NULL, a, pixels);
    }
    return sum;
}

static bool find_lists(const asked *q, lists *l)
{
    bool is_group = !strcmp(q->n->op, "group_norm");

    l->q = q;
    l->groups = is_group ? integer(q, "groups", 1) : 1;
    if (l->groups < 1 || q->width % l->groups || q->size != q->in_size)
        return false;
    l->row = is_group ? q->size : q->width;
    l->run = q->width / l->groups;
    l->n = l->row / l->groups;
    l->each = is_rms(q) ? 1 : 2;
    l->scale = param_of(q, 0, q->width);
    l->bias = is_rms(q) ? 0 : param_of(q, 1, q->width);
    l->kept = shown(q, "forward", "kept", l->each * l->groups *
                                              (q->rows * q->size / l->row));
    return l->scale && (is_rms(q) || l->bias) && l->kept;
}

f32 norm_makes(const asked *q)
{
    bool is_group = !strcmp(q->n->op, "group_norm");
    lists l;

    if (!find_lists(q, &l))
        return unknown(q->n->op);
    if (is_what("kept"))
        return list_stats(&l, q->at);
    if (is_y())
        return list_y(&l, q->at);
    if (is_dx(q, 0))
        return plus_others(q, list_dx(&l, q->at));
    if (q->dy && (is_what("dscale of pixels") || is_what("dbias of pixels")))
        return group_gives(&l, place_in(&l, q->at / l.n, q->at % l.n),
                           is_what("dscale of pixels"));
    if (!is_dparam(q, 0) && (!is_dparam(q, 1) || is_rms(q)))
        return unknown(q->n->op);
    return is_group         ? groups_dparam(&l, of->index == 0)
           : of->index == 0 ? vectors_dscale(&l) : column_of(q, q->dy);
}

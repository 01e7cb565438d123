/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norms.  They go by what is stored, or by the rows of a batch: then
 * "statistics" have of each channel, as doubles, forward the sum of weights
 * (once), the means and the sums of w (x - mean)^2 of a device's rows so far,
 * back the sums of dy and of dy xh; "statistics of all" those of all
 * devices. */
#include "operators.h"

#include <stdlib.h>

static const char found[] = "statistics", joined[] = "statistics of all";

/* A channel's statistics over rows: the sum of their weights, the mean, and the
 * sum of w (x - mean)^2. */
typedef struct moments {
    f64 weight, mean, square;
} moments;

enum { ALL = -1 };

static bool is_back(const char *phase) { return !strcmp(phase, "backward"); }

/* Doubles of a state of n channels. */
static int64_t doubles(const char *phase, int64_t n)
{
    return !is_back(phase) + 2 * n;
}

/* The state after the last block of 256 vectors of a device's rows, or of all.
 * 0: there is none. */
static place last_state(const char *phase, const said *n, int64_t device,
                        int64_t micro)
{
    const char *what = device == ALL ? joined : found;
    int64_t each = 2 * doubles(phase, width(n->shape));

    device = device == ALL ? 0 : device;
    spend(of - arrays);
    for (const array *k = of; k-- > arrays;)
        if (strcmp(k->what, what) == 0 && strcmp(k->phase, phase) == 0 &&
            k->node == n->node && k->device == device && k->micro == micro)
            return k->n >= each ? k->x + k->n - each : 0;
    return 0;
}

/* That which the element's device found. */
static place own_state(const asked *q)
{
    return last_state(of->phase, q->n, of->device, of->micro);
}

static bool is_of_all(const said *n)
{
    const char *text = attribute(n, found);

    return text && strtol(text, NULL, 10) == 2;
}

/* That of the rows that count for the element's device. */
static place state_of_rows(const asked *q, const char *phase)
{
    return last_state(phase, q->n, is_of_all(q->n) ? ALL : of->device,
                      of->micro);
}

/* Of channel j of n; of no rows zeros. */
static moments moments_at(place state, int64_t n, int64_t j)
{
    moments m = {0, 0, 0};

    if (state) {
        m.weight = real_at(state);
        m.mean = real_at(state + 2 * (1 + j));
        m.square = real_at(state + 2 * (1 + n + j));
    }
    return m;
}

/* Double i of a state of n channels; the channel that it is of. */
static f64 double_of(moments m, int64_t n, int64_t i)
{
    return i == 0 ? m.weight : i <= n ? m.mean : m.square;
}

static int64_t channel_of(int64_t i, int64_t n) { return i ? (i - 1) % n : 0; }

/* Chan et al. 1979 */
static moments together(moments a, moments b)
{
    f64 all = d_add(a.weight, b.weight), part, d;

    if (d_lt(0, b.weight)) {
        part = d_div(b.weight, all);
        d = d_sub(b.mean, a.mean);
        a.mean = d_add(a.mean, d_mul(d, part));
        a.square = d_add(d_add(a.square, b.square),
                         d_mul(d_mul(d, d), d_mul(a.weight, part)));
    }
    a.weight = all;
    return a;
}

static f64 variance(moments m) { return d_div(m.square, m.weight); }

/* A channel's numbers. */
typedef struct norm {
    f32 mean, r, factor;
} norm;

static norm norm_of(const asked *q, f32 mean, f32 var, f32 scale)
{
    f32 r = by_deviation(var, real_number(q, "epsilon"));
    norm n = {mean, r, f_mul(r, scale)};

    return n;
}

static norm norm_of_rows(const asked *q, moments m, f32 scale)
{
    return norm_of(q, f_from(m.mean), f_from(variance(m)), scale);
}

/* ------ what a survey finds ------ */

/* A block of at most 256 vectors of the chunk, and the state before it, or
 * 0. */
typedef struct block {
    int64_t first, end;
    place before;
} block;

enum { BLOCK = 256 };

/* Vector i's weight, that of its row. */
static f32 weight_of(const asked *q, int64_t i)
{
    return row_weight(i / (q->vectors / q->rows));
}

/* In floats. */
static moments block_moments(const asked *q, const block *b, int64_t j)
{
    moments m = {0, 0, 0};
    f32 sum = 0, square = 0, mean;

    for (int64_t i = b->first; i < b->end; i++) {
        f32 w = weight_of(q, i);

        m.weight = d_add(m.weight, d_from(w));
        if (!f_zero(w))
            sum = f_fma(w, word(q->x + i * q->width + j), sum);
    }
    mean = f_mul(sum, f_from(d_div(D(1.0), m.weight)));
    for (int64_t i = b->first; i < b->end; i++) {
        f32 w = weight_of(q, i), d;

        d = f_sub(word(q->x + i * q->width + j), mean);
        if (!f_zero(w))
            square = f_fma(f_mul(w, d), d, square);
    }
    m.mean = d_from(mean);
    m.square = d_from(square);
    return m;
}

static f64 forward_finds(const asked *q, const block *b, int64_t i)
{
    int64_t n = q->width, j = channel_of(i, n);

    return double_of(together(moments_at(b->before, n, j),
                              block_moments(q, b, j)), n, i);
}

/* The sums of dy and of dy xh. */
static f64 backward_finds(const asked *q, const block *b, int64_t i)
{
    int64_t n = q->width, j = i % n;
    place all = state_of_rows(q, "forward");
    f32 part = 0;
    norm by;

    if (!q->dy || !all)
        return unknown("batch_norm");
    by = norm_of_rows(q, moments_at(all, n, j), F(1.0f));
    for (int64_t v = b->first; v < b->end; v++) {
        f32 d = word(q->dy + v * n + j);

        if (f_zero(weight_of(q, v)))
            continue;
        part = i < n ? f_add(part, d)
                     : f_fma(d, norm_xh(word(q->x + v * n + j), by.mean, by.r),
                             part);
    }
    return d_add(b->before ? real_at(b->before + 2 * i) : 0, d_from(part));
}

static f32 found_makes(const asked *q)
{
    int64_t each = doubles(of->phase, q->width), i = q->at / 2 % each;
    int64_t nth = q->at / 2 / each;
    block b = {nth * BLOCK, least(q->vectors, (nth + 1) * BLOCK),
               nth ? of->x + (nth - 1) * 2 * each : own_state(q)};

    if (b.first >= q->vectors)
        return unknown("batch_norm");
    return word_of((is_back(of->phase) ? backward_finds
                                       : forward_finds)(q, &b, i), q->at % 2);
}

/* Join the findings of the devices, by the tree. */
static f32 joined_makes(const asked *q)
{
    int64_t n = q->width, devices = devices_of_step(), i = q->at / 2;
    bool back = is_back(of->phase);
    f64 *sum = (f64 *)(void *)room_for(2 * devices);
    moments *m = (moments *)(void *)room_for(6 * devices);

    if (i >= doubles(of->phase, n))
        return unknown("batch_norm");
    for (int64_t d = 0; d < devices; d++) {
        place s = last_state(of->phase, q->n, d, of->micro);

        if (back)
            sum[d] = s ? real_at(s + 2 * i) : 0;
        else
            m[d] = moments_at(s, n, channel_of(i, n));
    }
    for (int64_t by = 1; by < devices; by *= 2)
        for (int64_t d = 0; d + by < devices; d += 2 * by)
            m[d] = together(m[d], m[d + by]);
    return word_of(back ? d_tree(sum, devices) : double_of(m[0], n, i),
                   q->at % 2);
}

/* ------ what goes by it ------ */

/* dy less its weight times its share of the means of dy and of dy xh. */
static f32 less_means(const asked *q, f32 d, norm by, f64 weight)
{
    place back = state_of_rows(q, "backward");
    f32 w = row_weight(q->at / q->size), mean[2];

    if (!back)
        return unknown("batch_norm");
    for (int k = 0; k < 2; k++)
        mean[k] = f_from(d_div(real_at(back + 2 * (k * q->width +
                                                   q->at % q->width)),
                               weight));
    if (f_zero(w))
        return d;
    return f_fma(f_neg(w), f_fma(norm_xh(word(q->x + q->at), by.mean, by.r),
                                 mean[1], mean[0]), d);
}

/* Scale and bias get what the device found with its first chunk, and keep it
 * through the others. */
static f32 dparam_of_rows(const asked *q)
{
    const f32 *c = sum_before(q);
    place sum = own_state(q);
    f32 by;

    if (of->first > 0 && c)
        return *c;
    if (!sum || of->index > 1)
        return unknown("batch_norm");
    by = f_from(real_at(sum + 2 * ((of->index == 0) * q->width + q->at)));
    return c ? f_add(*c, by) : by;
}

/* By what is stored: all four parameters get theirs from the same two
 * columns. */
static f32 dparam_of_stored(const asked *q, norm by)
{
    const f32 *c = sum_before(q);
    const f32 *d = words(q->dy + q->at, q->vectors, q->width);
    f32 *xh = words(q->x + q->at, q->vectors, q->width), sum;

    for (int64_t i = 0; i < q->vectors; i++)
        xh[i] = norm_xh(xh[i], by.mean, by.r);
    sum = of->index % 3 == 0 ? chains(NULL, d, xh, q->vectors)
                             : column(NULL, d, q->vectors);
    if (of->index == 2)
        sum = f_neg(f_mul(by.factor, sum));
    if (of->index == 3)
        sum = f_mul(f_mul(f_mul(F(-0.5f), by.factor), by.r), sum);
    return c ? f_add(*c, sum) : sum;
}

/* Where no row counts all goes by what is stored. */
f32 batch_norm_makes(const asked *q)
{
    bool surveys = integer(q, found, 0), counts;
    int64_t j = q->at % q->width;
    moments m;
    f32 p[4], d;
    norm by;

    if (surveys && (is_what(joined) || is_what(found)))
        return is_what(found) ? found_makes(q) : joined_makes(q);
    m = moments_at(surveys ? state_of_rows(q, "forward") : 0, q->width, j);
    counts = m.weight != 0;
    if (counts && is_what("dparam"))
        return dparam_of_rows(q);
    for (int k = 0; k < (counts ? 2 : 4); k++) {
        place of_all = param_of(q, k, q->width);

        p[k] = of_all ? word(of_all + j) : unknown("batch_norm");
    }
    by = counts ? norm_of_rows(q, m, p[0]) : norm_of(q, p[2], p[3], p[0]);
    if (is_y())
        return f_fma(f_sub(word(q->x + q->at), by.mean), by.factor, p[1]);
    if (is_what("dparam") && q->dy)
        return dparam_of_stored(q, by);
    if (!is_dx(q, 0))
        return unknown("batch_norm");
    d = word(q->dy + q->at);
    d = counts ? less_means(q, d, by, m.weight) : d;
    return plus_others(q, f_mul(d, by.factor));
}

/* ------ what is stored ------ */

/* The batch norm that stores its means (2) or variances (3) there. */
static const said *norm_that_stores(const said *slot, int *which)
{
    for (int i = 0; i < node_count; i++)
        for (*which = 2; *which < 4; ++*which)
            if (!strcmp(nodes[i].op, "batch_norm") &&
                param(&nodes[i], *which) == slot)
                return &nodes[i];
    return NULL;
}

/* Each device goes on with it from one micro-batch to the next, and their mean
 * is stored. */
static f32 running(const said *n, const said *slot, bool is_variance, f32 was)
{
    const char *momentum = attribute(n, "momentum");
    bool all = is_of_all(n);
    int64_t devices = devices_of_step(), micro = micro_of_step();
    f64 keep = d_of(real_or(momentum, 0.9)), more = d_sub(D(1.0), keep);
    f64 *next = (f64 *)(void *)room_for(2 * devices);

    for (int64_t i = 0; i < devices * micro; i++) {
        int64_t d = i / micro, m = i % micro;
        place s = last_state("forward", n, all ? ALL : d, m);
        moments at = moments_at(s, slot->floats, element - slot->at);

        if (m == 0)
            next[d] = d_from(was);
        if (d_lt(0, at.weight))
            next[d] = d_add(d_mul(keep, next[d]),
                            d_mul(more, is_variance ? variance(at) : at.mean));
    }
    return f_from(d_div(d_tree(next, devices), d_int(devices)));
}

/* Is it the parameter of a node that says so? */
static bool is_constant(const said *slot)
{
    for (int i = 0; i < node_count; i++) {
        const char *says = strcmp(nodes[i].op, "parameter")
                               ? NULL : attribute(&nodes[i], "constant");

        if (says && strcmp(says, "0") && param(&nodes[i], 0) == slot)
            return true;
    }
    return false;
}

bool stored_makes(const said *slot, f32 *x)
{
    const array *p = whole("before", "parameters");
    int which = 0;
    const said *n = norm_that_stores(slot, &which);
    const char *by = n ? attribute(n, found) : NULL;

    if (!p || element >= p->n || (!n && !is_constant(slot)))
        return false;
    *x = word(p->x + element);
    if (by && strcmp(by, "0"))
        *x = running(n, slot, which == 3, *x);
    return true;
}

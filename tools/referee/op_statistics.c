/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norms that go by the rows of a batch.  "statistics" have of each
 * channel, as doubles, forward the sum of weights (once), the means and the
 * sums of w (x - mean)^2 of a device's rows so far, back the sums of dy and of
 * dy xh; "statistics of all" those of all devices. */
#include "operators.h"

#include <stdlib.h>

static const char found[] = "statistics", joined[] = "statistics of all";

/* A channel's statistics over rows: the sum of their weights, the mean, and the
 * sum of w (x - mean)^2. */
typedef struct moments {
    f64 weight, mean, square;
} moments;

enum { ALL = -1 };

/* The state after the last block of 256 vectors, `doubles` of them, of a
 * device's rows, or of all.  0: there is none. */
static place last_state(const char *phase, int64_t node, int64_t device,
                        int64_t micro, int64_t doubles)
{
    const char *what = device == ALL ? joined : found;

    device = device == ALL ? 0 : device;
    spend(of - arrays);
    for (const array *k = of; k-- > arrays;)
        if (strcmp(k->what, what) == 0 && strcmp(k->phase, phase) == 0 &&
            k->node == node && k->device == device && k->micro == micro)
            return k->n >= 2 * doubles ? k->x + k->n - 2 * doubles : 0;
    return 0;
}

/* That which the element's device found. */
static place own_state(const asked *q, int64_t doubles)
{
    return last_state(of->phase, q->n->node, of->device, of->micro, doubles);
}

static bool is_of_all(const said *n)
{
    const char *text = attribute(n, found);

    return text && strtol(text, NULL, 10) == 2;
}

/* That of the rows that count for the element's device. */
static place state_of_rows(const asked *q, const char *phase, int64_t doubles)
{
    return last_state(phase, q->n->node, is_of_all(q->n) ? ALL : of->device,
                      of->micro, doubles);
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

/* A channel's numbers for the rows. */
typedef struct norm {
    f32 mean, r, factor;
} norm;

static norm norm_of(const asked *q, moments m, f32 scale)
{
    f32 var = f_from(variance(m));
    norm n;

    n.mean = f_from(m.mean);
    n.r = f_div(F(1.0f), f_sqrt(f_add(var, real_number(q, "epsilon"))));
    n.factor = f_mul(n.r, scale);
    return n;
}

static f32 xh_of(f32 x, norm n) { return f_mul(f_sub(x, n.mean), n.r); }

/* ------ what a survey finds ------ */

enum { BLOCK = 256 };

/* A block of a channel: at most 256 vectors of the chunk. */
typedef struct block {
    const asked *q;
    int64_t first, end, j;
    place before; /* the state before it, or 0 */
} block;

/* The block that a word is of, and its channel; `doubles` are of a state. */
static block block_of(const asked *q, bool back, int64_t doubles)
{
    int64_t nth = q->at / (2 * doubles), i = q->at / 2 % doubles - !back;
    block b;

    b.q = q;
    b.j = i < 0 ? 0 : i % q->width;
    b.first = nth * BLOCK;
    b.end = least(q->vectors, b.first + BLOCK);
    b.before = nth ? of->x + (nth - 1) * 2 * doubles
                   : own_state(q, doubles);
    return b;
}

/* Vector i's weight, that of its row. */
static f32 weight_of(const asked *q, int64_t i)
{
    return row_weight(i / (q->vectors / q->rows));
}

/* In floats. */
static moments block_moments(const block *b)
{
    const asked *q = b->q;
    moments m = {0, 0, 0};
    f32 sum = 0, square = 0, mean;

    for (int64_t i = b->first; i < b->end; i++) {
        f32 w = weight_of(q, i);

        m.weight = d_add(m.weight, d_from(w));
        if (!f_zero(w))
            sum = f_fma(w, word(q->x + i * q->width + b->j), sum);
    }
    mean = f_mul(sum, f_from(d_div(D(1.0), m.weight)));
    for (int64_t i = b->first; i < b->end; i++) {
        f32 w = weight_of(q, i), d;

        d = f_sub(word(q->x + i * q->width + b->j), mean);
        if (!f_zero(w))
            square = f_fma(f_mul(w, d), d, square);
    }
    m.mean = d_from(mean);
    m.square = d_from(square);
    return m;
}

/* Word `at` of a state of n channels. */
static f32 moments_word(moments m, int64_t n, int64_t at)
{
    int64_t i = at / 2 % (1 + 2 * n);

    return word_of(i == 0 ? m.weight : i <= n ? m.mean : m.square, at % 2);
}

static f32 forward_makes(const asked *q)
{
    int64_t n = q->width;
    block b = block_of(q, false, 1 + 2 * n);

    if (b.first >= q->vectors)
        return unknown("batch_norm");
    return moments_word(together(moments_at(b.before, n, b.j),
                                 block_moments(&b)), n, q->at);
}

/* The sums of dy and of dy xh. */
static f32 backward_makes(const asked *q)
{
    int64_t n = q->width, k = q->at / 2 % (2 * n);
    block b = block_of(q, true, 2 * n);
    place all = state_of_rows(q, "forward", 1 + 2 * n);
    f32 part = 0;
    norm by;

    if (!q->dy || !all || b.first >= q->vectors)
        return unknown("batch_norm");
    by = norm_of(q, moments_at(all, n, b.j), F(1.0f));
    for (int64_t i = b.first; i < b.end; i++) {
        f32 d = word(q->dy + i * n + b.j);

        if (f_zero(weight_of(q, i)))
            continue;
        part = k < n ? f_add(part, d)
                     : f_fma(d, xh_of(word(q->x + i * n + b.j), by), part);
    }
    return word_of(d_add(b.before ? real_at(b.before + 2 * k) : 0,
                         d_from(part)), q->at % 2);
}

/* Join the findings of the devices, by the tree. */
static f32 joined_makes(const asked *q)
{
    bool back = strcmp(of->phase, "backward") == 0;
    int64_t n = q->width, devices = devices_of_step(), i = q->at / 2 - !back;
    int64_t doubles = !back + 2 * n;
    f64 *sum = (f64 *)(void *)room_for(2 * devices);
    moments *m = (moments *)(void *)room_for(6 * devices);

    if (q->at >= 2 * doubles)
        return unknown("batch_norm");
    for (int64_t d = 0; d < devices; d++) {
        place s = last_state(of->phase, q->n->node, d, of->micro, doubles);

        sum[d] = back && s ? real_at(s + q->at / 2 * 2) : 0;
        if (!back)
            m[d] = moments_at(s, n, i < 0 ? 0 : i % n);
    }
    for (int64_t by = 1; by < devices; by *= 2)
        for (int64_t d = 0; d + by < devices; d += 2 * by)
            m[d] = together(m[d], m[d + by]);
    return back ? word_of(d_tree(sum, devices), q->at % 2)
                : moments_word(m[0], n, q->at);
}

/* ------ what goes by it ------ */

/* dy less its weight times its share of the means of dy and of dy xh. */
static f32 gradient_makes(const asked *q, norm by, f64 weight)
{
    place back = state_of_rows(q, "backward", 2 * q->width);
    int64_t j = q->at % q->width;
    f32 w = row_weight(q->at / q->size), d = word(q->dy + q->at), mean[2];

    if (!back)
        return unknown("batch_norm");
    for (int k = 0; k < 2; k++)
        mean[k] = f_from(d_div(real_at(back + 2 * (k * q->width + j)),
                               weight));
    if (!f_zero(w))
        d = f_fma(f_neg(w), f_fma(xh_of(word(q->x + q->at), by), mean[1],
                                  mean[0]), d);
    return plus_others(q, f_mul(d, by.factor));
}

/* Scale and bias get what the device found with its first chunk, and keep it
 * through the others. */
static f32 dparam_makes(const asked *q)
{
    const f32 *c = sum_before(q);
    place sum = own_state(q, 2 * q->width);
    f32 by;

    if (of->first > 0 && c)
        return *c;
    if (!sum || of->index > 1)
        return unknown("batch_norm");
    by = f_from(real_at(sum + 2 * ((of->index == 0) * q->width + q->at)));
    return c ? f_add(*c, by) : by;
}

/* A value or gradient; false: no row counts, and all goes by what is stored. */
static bool of_all_rows(const asked *q, f32 *x)
{
    place all = state_of_rows(q, "forward", 1 + 2 * q->width);
    place scale = param_of(q, 0, q->width), bias = param_of(q, 1, q->width);
    int64_t j = q->at % q->width;
    moments m;
    norm by;

    if (!all || !real_at(all))
        return false;
    if (is_what("dparam"))
        return *x = dparam_makes(q), true;
    if (!scale || !bias || (!is_y() && !is_dx(q, 0)))
        unknown("batch_norm");
    m = moments_at(all, q->width, j);
    by = norm_of(q, m, word(scale + j));
    *x = !is_y() ? gradient_makes(q, by, m.weight)
                 : f_fma(f_sub(word(q->x + q->at), by.mean), by.factor,
                         word(bias + j));
    return true;
}

bool by_rows_makes(const asked *q, f32 *x)
{
    bool back = strcmp(of->phase, "backward") == 0;

    if (!integer(q, found, 0))
        return false;
    if (is_what(joined))
        *x = joined_makes(q);
    else if (is_what(found))
        *x = back ? backward_makes(q) : forward_makes(q);
    else
        return of_all_rows(q, x);
    return true;
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
        place s = last_state("forward", n->node, all ? ALL : d, m,
                             1 + 2 * slot->floats);
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

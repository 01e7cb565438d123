/* SPDX-License-Identifier: BSD-3-Clause */
/* One number of an operator as evidence for the referee: the value, or the
 * gradient of an input or a parameter.  Here are operators without products. */
#ifndef TEST_REFEREE_ELEMENTS_H
#define TEST_REFEREE_ELEMENTS_H

#include "asked.h"
#include "op_runs.h"

enum { VALUE = -1 };

/* What is asked: number `at` of the value, of dx[which], or of
 * dparam[which - LS__MAX_INPUTS]; and what the referee said of the problem so
 * far, in arrays that its operator knows. */
typedef struct question {
    const problem *p;
    const outputs *o;
    int which;
    int64_t at;
    float **known;
} question;

typedef float answer(const question *q);

/* What is known of one problem, and what makes it up. */
enum { ROOM_OF = 1 << 23 };
static float all_room[ROOM_OF];
static int64_t room_used;

static void *room_of(int64_t n)
{
    float *x = all_room + room_used;

    room_used += (n + 1) / 2 * 2;
    ck_assert_int_le(room_used, ROOM_OF);
    return x;
}

static bool of_param(const question *q, int k)
{
    return q->which == LS__MAX_INPUTS + k;
}

static const int32_t *indices(const question *q, int k)
{
    return (const int32_t *)(const void *)q->p->x[k];
}

static int64_t width_of(const question *q)
{
    return ls__width(q->p->node);
}

static int64_t vectors_of(const question *q)
{
    return q->p->rows * ls__vectors(q->p->node);
}

static int64_t asked_integer(const question *q, const char *name)
{
    return integer_of(q->p->node, name);
}

/* Column j of n numbers a row, and of a list of rows. */
static void give_column(const char *name, int64_t count, int64_t n,
                        const float *x, int64_t j)
{
    float *to = asked_list(name, count);

    for (int64_t i = 0; i < count; i++)
        to[i] = x[i * n + j];
}

static float column_of_dy(const question *q)
{
    give_column("a", vectors_of(q), width_of(q), q->p->dy, q->at);
    return asked("column");
}

static float moved_number(float x)
{
    asked_number("x", x);
    return asked("move");
}

/* ------ terms ------ */

/* Does the rule of a term read the value, for a gradient? */
static bool reads_value(int term)
{
    return term == LS__SQRT || term == LS__EXP || term == LS__DIV;
}

static float ask_term(const char *name, const char *part)
{
    char rule[32];

    snprintf(rule, sizeof rule, "term.%s%s", name, part);
    return asked(rule);
}

/* What a product took in. */
static const char *curve_name(const problem *p)
{
    static const char *const names[] = {
        [LS__GELU] = "gelu", [LS__RELU] = "relu", [LS__TANH] = "tanh",
        [LS__SIGMOID] = "sigmoid"};

    return names[curve_of(p)];
}

static float term(const question *q)
{
    static const char *const parts[] = {"", ".a", ".b"};
    const ls_node *n = q->p->node;
    const ls__attribute *a = n->op->attributes;
    int kind = ls__term_of(n->op);

    asked_number("a", q->p->x[0][q->at]);
    if (n->op->inputs > 1)
        asked_number("b", q->p->x[1][q->at]);
    for (int i = 0; a && a[i].name; i++)
        asked_number(i ? "q" : "p",
                     (float)*(double *)ls__attribute_in(n, &a[i]));
    if (q->which >= 0)
        asked_number("dy", q->p->dy[q->at]);
    if (q->which >= 0 && reads_value(kind))
        asked_number("y", q->o->y[q->at]);
    return ask_term(n->op->name, parts[q->which + 1]);
}

static float sum_of_two(const question *q)
{
    asked_number("a", q->p->x[0][q->at]);
    asked_number("b", q->p->x[1][q->at]);
    return asked("term.add");
}

static float rounded(const question *q)
{
    asked_number("x", q->which < 0 ? q->p->x[0][q->at] : q->p->dy[q->at]);
    return asked("round_bf16");
}

/* ------ tables ------ */

/* The sum of dy, n a vector, where the index is `row`. */
static float adds_of_row(const question *q, int k, int64_t first, int64_t count,
                         int64_t n, int64_t nth, int64_t j)
{
    const int32_t *x = indices(q, k) + first;
    const float *dy = q->p->dy + first * n;
    int64_t found = 0;
    float *a;

    for (int64_t i = 0; i < count; i++)
        found += x[i] == nth;
    a = asked_list("a", found ? found : 1);
    *a = 0;
    for (int64_t i = 0; i < count; i++)
        if (x[i] == nth)
            *a++ = dy[i * n + j];
    return asked("adds");
}

static float embed(const question *q)
{
    int64_t n = width_of(q), i = q->at / n, j = q->at % n;

    if (q->which < 0)
        return moved_number(q->p->param[0][indices(q, 0)[i] * n + j]);
    return adds_of_row(q, 0, 0, vectors_of(q), n, i, j);
}

static float position(const question *q)
{
    int64_t n = q->p->node->size;

    if (q->which < 0) {
        asked_number("a", q->p->x[0][q->at]);
        asked_number("b", q->p->param[0][q->at % n]);
        return asked("term.add");
    }
    give_column("a", q->p->rows, n, q->p->dy, q->at);
    return asked("adds");
}

/* The same in every row. */
static float parameter(const question *q)
{
    int64_t n = q->p->node->size;

    if (q->which < 0)
        return moved_number(q->p->param[0][q->at % n]);
    give_column("a", q->p->rows, n, q->p->dy, q->at);
    return asked("column");
}

static float gather(const question *q)
{
    const ls_node *x = q->p->node->in[0], *at = q->p->node->in[1];
    int64_t n = x->size / x->shape[0];
    int64_t nth = q->at / (q->which < 0 ? at->size * n : x->size);
    int64_t i = q->at / n, j = q->at % n;

    if (q->which < 0)
        return moved_number(
            q->p->x[0][nth * x->size + indices(q, 1)[i] * n + j]);
    return adds_of_row(q, 1, nth * at->size, at->size, n, i % x->shape[0], j);
}

static float one_hot(const question *q)
{
    int64_t n = width_of(q);

    asked_word("index", (uint32_t)indices(q, 0)[q->at / n]);
    asked_word("at", (uint32_t)(q->at % n));
    return asked("one_hot");
}

/* ------ views ------ */

/* Which element of x is element `at` of y; both of one row. */
static int64_t view_source(const ls_node *n, int64_t at)
{
    const ls_node *x = n->in[0];
    const ls__extents *axes = ls__attribute_named(n, "axes");
    int64_t index[LS_MAX_RANK] = {0}, spot[LS_MAX_RANK] = {0}, to = 0;
    int more = n->rank - x->rank;

    for (int k = n->rank - 1; k >= 0; k--) {
        index[k] = at % n->shape[k];
        at /= n->shape[k];
    }
    for (int k = 0; k < x->rank; k++)
        if (n->op == &ls__op_transpose)
            spot[axes->of[k]] = index[k];
        else
            spot[k] = x->shape[k] == 1 && n->op == &ls__op_broadcast
                           ? 0 : index[k + more];
    if (n->op == &ls__op_slice)
        spot[integer_of(n, "axis")] +=
            integer_of(n, "first");
    for (int k = 0; k < x->rank; k++)
        to = to * x->shape[k] + spot[k];
    return to;
}

static float view(const question *q)
{
    const ls_node *n = q->p->node;
    int64_t size = q->which < 0 ? n->size : n->in[0]->size, count = 0;
    int64_t nth = q->at / size, at = q->at % size;
    float *a;

    if (q->which < 0)
        return moved_number(
            q->p->x[0][nth * n->in[0]->size + view_source(n, at)]);
    a = asked_list("a", n->size + 1);
    for (int64_t i = 0; i < n->size; i++)
        if (view_source(n, i) == at)
            a[count++] = q->p->dy[nth * n->size + i];
    while (count <= n->size)
        a[count++] = 0;
    return asked("adds");
}

/* Steps the other way round, values and gradients alike. */
static float reversed(const question *q)
{
    const ls_node *n = q->p->node;
    int64_t width = n->size / n->shape[0], t = q->at / width % n->shape[0];
    int64_t count = n->in[1] ? indices(q, 1)[q->at / n->size] : n->shape[0];
    int64_t at = t < count ? q->at + (count - 1 - 2 * t) * width : q->at;

    return moved_number(q->which < 0 ? q->p->x[0][at] : q->p->dy[at]);
}

static float flat(const question *q)
{
    return moved_number(q->p->x[0][q->at]);
}

static float concat(const question *q)
{
    const ls_node *n = q->p->node;
    int64_t axis = asked_integer(q, "axis"), inner = 1, outer, i, j, k;
    int64_t first = n->in[0]->shape[axis], extent;

    for (int a = (int)axis + 1; a < n->rank; a++)
        inner *= n->shape[a];
    extent = q->which < 0 ? n->shape[axis] : n->in[q->which]->shape[axis];
    j = q->at % inner;
    i = q->at / inner % extent;
    outer = q->at / inner / extent;
    if (q->which >= 0) {
        i += q->which ? first : 0;
        return moved_number(
            q->p->dy[(outer * n->shape[axis] + i) * inner + j]);
    }
    k = i >= first;
    extent = n->in[k]->shape[axis];
    i -= k ? first : 0;
    return moved_number(q->p->x[k][(outer * extent + i) * inner + j]);
}

/* ------ reductions ------ */

typedef struct span {
    int64_t n, inner;
} span;

static span span_of(const question *q)
{
    const ls_node *x = q->p->node->in[0];
    int64_t axis = asked_integer(q, "axis"), axes = asked_integer(q, "axes");
    span s = {1, 1};

    for (int k = (int)axis; k < x->rank; k++)
        *(k < axis + axes ? &s.n : &s.inner) *= x->shape[k];
    return s;
}

static float reduced(const question *q)
{
    bool is_sum = q->p->op == &ls__op_sum;
    span s = span_of(q);
    int64_t of = q->which < 0 ? q->at : q->at / s.inner / s.n * s.inner +
                                            q->at % s.inner;
    const float *x = q->p->x[0] + of / s.inner * s.n * s.inner + of % s.inner;

    if (is_sum && q->which >= 0)
        return moved_number(q->p->dy[of]);
    give_column(is_sum ? "a" : "x", s.n, s.inner, x, 0);
    if (q->which < 0)
        return asked(!is_sum ? "max" : s.inner == 1 ? "row_sum" : "column");
    asked_number("dy", q->p->dy[of]);
    asked_word("at", (uint32_t)(q->at / s.inner % s.n));
    return asked("max.back");
}

/* The row that a number is in, as a list. */
static void give_row(const question *q, const char *name, const float *x)
{
    int64_t n = width_of(q);

    asked_copy(name, n, x + q->at / n * n);
}

static float row_wise(const question *q)
{
    bool is_log = q->p->op == &ls__op_log_softmax;

    asked_word("at", (uint32_t)(q->at % width_of(q)));
    if (q->which < 0) {
        give_row(q, "x", q->p->x[0]);
        return asked(is_log ? "log_softmax" : "softmax");
    }
    give_row(q, is_log ? "y" : "p", q->o->y);
    give_row(q, is_log ? "dy" : "dp", q->p->dy);
    return asked(is_log ? "log_softmax.back" : "softmax.back");
}

/* ------ poolings ------ */

/* The pixels of window (i,j) of image `row` that are in it, and which of them
 * is pixel (y,x); -1: none. */
static int64_t window_pixels(const question *q, int64_t nth, int64_t i,
                             int64_t j, int64_t pixel_at, int64_t *spot)
{
    const ls_node *x = q->p->node->in[0];
    const ls__window *w = ls__window_of(q->p->node);
    int64_t n = 0;

    *spot = -1;
    for (int64_t t = 0; t < w->kh * w->kw; t++) {
        int64_t at = pixel(w, nth, x->shape[0], x->shape[1], x->shape[2], i, j,
                           t / w->kw, t % w->kw);

        if (at < 0)
            continue;
        if (at == pixel_at)
            *spot = n;
        n++;
    }
    return n;
}

static void take_window(const question *q, int64_t nth, int64_t i, int64_t j,
                        int64_t c, float *to)
{
    const ls_node *x = q->p->node->in[0];
    const ls__window *w = ls__window_of(q->p->node);

    for (int64_t t = 0; t < w->kh * w->kw; t++) {
        int64_t at = pixel(w, nth, x->shape[0], x->shape[1], x->shape[2], i, j,
                           t / w->kw, t % w->kw);

        if (at >= 0)
            *to++ = q->p->x[0][at + c];
    }
}

/* How many of k taps, `gap` apart from `at` on, lie before `end`; inside: and
 * not before 0. */
static int64_t taps(int64_t at, int64_t gap, int64_t k, int64_t end,
                    bool inside)
{
    int64_t n = 0;

    for (int64_t i = 0; i < k; i++)
        n += at + i * gap < end && (!inside || at + i * gap >= 0);
    return n;
}

/* What the mean over window (i,j) divides by. */
static uint32_t divisor(const question *q, int64_t i, int64_t j)
{
    const ls_node *x = q->p->node->in[0];
    const ls__window *w = ls__window_of(q->p->node);
    ls__pooling p = ls__pooling_of(w, x->shape[0], x->shape[1], x->shape[2]);
    int64_t end_y = w->inside ? p.in_h : p.end_y;
    int64_t end_x = w->inside ? p.in_w : p.end_x;

    return (uint32_t)(taps(i * w->sy - w->top, w->dy, w->kh, end_y, w->inside) *
                      taps(j * w->sx - w->left, w->dx, w->kw, end_x,
                           w->inside));
}

static float pooled(const question *q)
{
    const ls_node *n = q->p->node;
    const ls__window *w = ls__window_of(n);
    int64_t c = q->at % width_of(q), p = q->at / width_of(q), here;
    int64_t count = window_pixels(q, p / w->w / w->h, p / w->w % w->h, p % w->w,
                                  -2, &here);

    take_window(q, p / w->w / w->h, p / w->w % w->h, p % w->w, c,
                asked_list("x", count));
    if (n->op == &ls__op_max_pool)
        return asked("max");
    asked_word("size", divisor(q, p / w->w % w->h, p % w->w));
    return asked("avg_pool");
}

/* All windows that a pixel is in. */
static float pooled_back(const question *q)
{
    const ls_node *x = q->p->node->in[0];
    const ls__window *w = ls__window_of(q->p->node);
    int64_t c = q->at % width_of(q), nth = q->at / x->size, all = 0, count = 0;
    bool is_max = q->p->op == &ls__op_max_pool;
    static uint32_t parts[4096], in[4096], size[4096];
    static float dy[4096], values[1 << 16];

    for (int64_t o = 0; o < w->h * w->w; o++) {
        int64_t spot, n = window_pixels(q, nth, o / w->w, o % w->w, q->at - c,
                                         &spot);

        if (spot < 0)
            continue;
        take_window(q, nth, o / w->w, o % w->w, c, values + all);
        all += n;
        parts[count] = (uint32_t)n;
        in[count] = (uint32_t)spot;
        size[count] = divisor(q, o / w->w, o % w->w);
        dy[count++] = q->p->dy[(nth * w->h * w->w + o) * width_of(q) + c];
    }
    if (count == 0)
        return moved_number(0);
    asked_copy("dy", count, dy);
    if (!is_max) {
        memcpy(asked_list("size", count), size, (size_t)count * sizeof *size);
        return asked("avg_pool.back");
    }
    asked_copy("x", all, values);
    memcpy(asked_list("parts", count), parts, (size_t)count * sizeof *parts);
    memcpy(asked_list("in", count), in, (size_t)count * sizeof *in);
    return asked("max_pool.back");
}

static float pooling(const question *q)
{
    return q->which < 0 ? pooled(q) : pooled_back(q);
}

/* ------ dropout ------ */

static float dropped(const question *q)
{
    uint32_t key[2];

    for (uint32_t i = 0; i < 2; i++) {
        memcpy(asked_list("key", 2), REF_ROOT.word, 8);
        asked_words("place", REF_CALL);
        asked_word("at", i);
        key[i] = asked_bits("random.key");
    }
    memcpy(asked_list("key", 2), key, sizeof key);
    asked_words("place",
                (uint64_t)(REF_FIRST * q->p->node->size + q->at));
    asked_number("keep", (float)(1 - REF_RATE));
    asked_number("x", q->which < 0 ? q->p->x[0][q->at] : q->p->dy[q->at]);
    return asked("dropout");
}

#endif

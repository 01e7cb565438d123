/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators, what goes along rows, and losses. */
#include "operators.h"

/* ------ elementwise ------ */

f32 term_makes(const asked *q)
{
    const term *t = term_of(q->n->op);
    place b = input_of(q, 1);
    given g;

    memset(&g, 0, sizeof g);
    g.a = word(q->x + q->at);
    g.b = b ? word(b + q->at) : 0;
    g.p = real_number(q, "p");
    g.q = real_number(q, "q");
    if (is_y())
        return t->y(g);
    if (!is_dx(q, 0) && !(is_dx(q, 1) && t->b))
        return unknown(q->n->op);
    g.y = q->y ? word(q->y + q->at) : 0;
    g.d = word(q->dy + q->at);
    return plus_others(q, (of->index ? t->b : t->a)(g));
}

f32 dropout_makes(const asked *q)
{
    drops d;

    if (!find_drops(q, attribute(q->n, "rate"), &d))
        return unknown("dropout");
    if (is_what("kept"))
        return kept_bits(&d, q->size, 0, q->at, q->rows * q->size);
    if (is_y())
        return dropped(&d, word(q->x + q->at), q->size, q->at);
    return is_dx(q, 0) ? plus_others(q, dropped(&d, word(q->dy + q->at),
                                                q->size, q->at))
                       : unknown("dropout");
}

/* ------ softmax ------ */

static f32 row_top(const f32 *x, int64_t n)
{
    f32 top = f_neg(INF32);

    for (int64_t j = 0; j < n; j++)
        top = f_max(x[j], top);
    return top;
}

/* The sum of the exponentials, which become e. */
static f32 row_exp(const f32 *x, int64_t n, f32 top, f32 *e)
{
    for (int64_t j = 0; j < n; j++)
        e[j] = e_exp(f_sub(x[j], top));
    return row_sum(e, NULL, n);
}

f32 softmax_of(const f32 *x, int64_t n, int64_t at)
{
    f32 *e = room_for(n), sum = row_exp(x, n, row_top(x, n), e);

    return f_mul(e[at], f_div(F(1.0f), sum));
}

f32 softmax_back(const f32 *p, const f32 *dp, int64_t n, int64_t at)
{
    return f_mul(p[at], f_sub(dp[at], row_sum(p, dp, n)));
}

static f32 log_softmax_of(const f32 *x, int64_t n, int64_t at)
{
    f32 top = row_top(x, n), sum = row_exp(x, n, top, room_for(n));

    return f_sub(f_sub(x[at], top), e_log_any(sum));
}

f32 softmax_makes(const asked *q)
{
    int64_t n = q->width, at = q->at % n, first = q->at - at;
    bool is_log = strcmp(q->n->op, "log_softmax") == 0;
    const f32 *y, *dy;

    if (is_y())
        return (is_log ? log_softmax_of : softmax_of)(
            words(q->x + first, n, 1), n, at);
    if (!is_dx(q, 0) || !q->y)
        return unknown(q->n->op);
    y = words(q->y + first, n, 1);
    dy = words(q->dy + first, n, 1);
    return plus_others(q, !is_log ? softmax_back(y, dy, n, at)
                                  : f_fma(e_exp(y[at]),
                                          f_neg(row_sum(dy, NULL, n)),
                                          dy[at]));
}

/* ------ sums and maxima over axes ------ */

/* dy is shared by all that reach the maximum. */
static f32 max_back(const f32 *x, int64_t n, int64_t at, f32 dy)
{
    f32 top = x[top_at(x, n)];
    int64_t reach = 0;

    for (int64_t i = 0; i < n; i++)
        reach += f_equal(x[i], top);
    return f_equal(x[at], top) ? f_div(dy, f_int(reach)) : 0;
}

f32 reduced_makes(const asked *q)
{
    bool is_sum = strcmp(q->n->op, "sum") == 0;
    int64_t axis = integer(q, "axis", 0), count = integer(q, "axes", 1);
    int64_t each[MOST_RANK], n = 1, inner = 1, to = q->at;
    int rank = axes(q->from->shape, each);
    const f32 *x;

    for (int k = (int)axis; k >= 0 && k < rank; k++)
        *(k < axis + count ? &n : &inner) *= each[k];
    if (axis < 0 || q->size * n != q->in_size || (!is_y() && !is_dx(q, 0)))
        return unknown(q->n->op);
    if (!is_y())
        to = q->at / inner / n * inner + q->at % inner;
    if (is_sum && !is_y())
        return plus_others(q, f_add(0, word(q->dy + to)));
    x = words(q->x + to / inner * n * inner + to % inner, n, inner);
    if (is_y())
        return !is_sum      ? x[top_at(x, n)]
               : inner == 1 ? row_sum(x, NULL, n)
                            : column(NULL, x, n);
    return plus_others(q, max_back(x, n, q->at / inner % n,
                                   word(q->dy + to)));
}

/* ------ losses ------ */

static f32 squared_error(const asked *q, place t)
{
    int64_t n = q->in_size, row = q->at / n;
    f32 *d, y;

    if (is_what("dx")) {
        y = f_sub(word(q->x + q->at), word(t + q->at));
        y = f_mul(f_mul(F(2.0f), row_weight(row)), of->index ? f_neg(y) : y);
        return of->index ? plus_others(q, y) : y;
    }
    d = room_for(n);
    for (int64_t i = 0; i < n; i++)
        d[i] = f_sub(word(q->x + q->at * n + i), word(t + q->at * n + i));
    return row_sum(d, d, n);
}

/* The term, or what it gives to number `at` of the logits; weight: of the
 * row. */
static f32 cross_entropy(const f32 *x, int64_t n, int64_t label)
{
    f32 top = row_top(x, n), sum = row_exp(x, n, top, room_for(n));

    return f_sub(e_log(sum), f_sub(x[label], top));
}

static f32 cross_entropy_back(const f32 *x, int64_t n, int64_t label,
                              f32 weight, int64_t at)
{
    f32 d = softmax_of(x, n, at);

    return f_mul(at == label ? f_sub(d, F(1.0f)) : d, weight);
}

/* A term of a row by its label, which is none below 0, or what it gives. */
static f32 by_label(const asked *q, place labels)
{
    bool next = strcmp(q->n->op, "next token") == 0, is_term = is_what("terms");
    int64_t vectors = q->in_size / q->in, terms = vectors - next;
    int64_t nth = is_term ? q->at : q->at / q->in;
    int64_t each = is_term ? terms : vectors;
    int64_t i, t, label;
    const f32 *x;

    if (each < 1)
        return unknown(q->n->op);
    i = nth / each;
    t = nth % each;
    if (t == terms) /* behind the last: no gradient */
        return 0;
    label = (int32_t)word(labels + i * vectors + t + next);
    x = words(q->x + (i * vectors + t) * q->in, q->in, 1);
    if (label >= q->in)
        return unknown("a label beyond the classes");
    if (label < 0)
        return 0;
    return is_term ? cross_entropy(x, q->in, label)
                : cross_entropy_back(x, q->in, label, row_weight(i),
                                     q->at % q->in);
}

f32 loss_makes(const asked *q)
{
    place other = input_of(q, 1);

    if (!other || (!is_what("dx") && !is_what("terms")))
        return unknown(q->n->op);
    return strcmp(q->n->op, "squared error") ? by_label(q, other)
                                             : squared_error(q, other);
}

f32 mean_loss_makes(const asked *q)
{
    place v = input_of(q, 1);
    f32 d;

    if (!is_what("dx"))
        return unknown(q->n->op);
    d = row_weight(q->at / q->in_size);
    if (v)
        d = f_mul(d, word((of->index ? q->x : v) + q->at));
    return plus_others(q, d);
}

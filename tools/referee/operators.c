/* SPDX-License-Identifier: BSD-3-Clause */
/* See operators.h: which function answers for an operator, and what they all
 * use. */
#include "operators.h"
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>

/* ------ what is asked ------ */

bool is_what(const char *what) { return strcmp(of->what, what) == 0; }
bool is_y(void) { return is_what("y"); }

bool is_dx(const asked *q, int k)
{
    return q->dy && is_what("dx") && of->index == k;
}

bool is_dparam(const asked *q, int k)
{
    return q->dy && is_what("dparam") && of->index == k;
}

/* ------ operands ------ */

place input_of(const asked *q, int k) { return value(input(q->n, k)); }

place shown(const asked *q, const char *phase, const char *what, int64_t n)
{
    const array *k = array_of(phase, what, q->n->node, 0);

    return k && k->n == n ? k->x : 0;
}

place param_of(const asked *q, int k, int64_t floats)
{
    const said *s = param(q->n, k);
    const array *all = whole("before", "parameters");

    return s && all && s->floats == floats && s->at <= all->n - floats
               ? all->x + s->at : 0;
}

int64_t integer(const asked *q, const char *name, int64_t usual)
{
    const char *text = attribute(q->n, name);
    int64_t n = text ? strtoll(text, NULL, 10) : usual;

    return n < -ATTRIBUTE || n > ATTRIBUTE ? usual : n;
}

f32 real_number(const asked *q, const char *name)
{
    return f_from(d_of(real_or(attribute(q->n, name), 0)));
}

f32 row_weight(int64_t row)
{
    const array *w = rows_of("weights of rows");

    return w ? word(w->x + of->first + row) : F(1.0f);
}

/* ------ products and sums ------ */

static bool is_precision(const char *name)
{
    const char *precision = option("precision");

    return precision && strcmp(precision, name) == 0;
}

bool is_bf16(void) { return is_precision("bf16"); }

f32 multiplied(const f32 *c, const f32 *a, const f32 *b, int64_t n)
{
    return (is_bf16()               ? bf16_product
            : is_precision("f32x3") ? f32x3_product
                                    : f32_product)(c, a, b, n);
}

f32 after_layer(f32 x) { return is_bf16() ? to_bf16(x) : x; }

const f32 *sum_before(const asked *q)
{
    const array *c = before(of, of->micro, of->name);

    return c ? words(c->x + q->at, 1, 1) : NULL;
}

f32 plus_others(const asked *q, f32 x)
{
    place other = gradient(input(q->n, (int)of->index), q->n->node);

    return other ? f_add(x, word(other + q->at)) : x;
}

f32 column_of(const asked *q, place d)
{
    return column(sum_before(q), words(d + q->at, q->vectors, q->width),
                  q->vectors);
}

/* ------ dropout ------ */

/* The node's key and first row are among what its shard is given. */
bool find_drops(const asked *q, const char *rate, drops *d)
{
    const array *k, *share = whole("rule", "share of dropout");
    bool has_share = option("dropout_schedule") != NULL;
    char what[40];
    f64 left;

    snprintf(what, sizeof what, "key of node %lld", (long long)q->n->node);
    k = rows_of(what);
    if (!k || k->n != 3 || !rate || (has_share && !share))
        return false;
    left = d_of(real_or(rate, 0));
    if (has_share)
        left = d_mul(left, d_from(word(share->x)));
    d->keep = f_from(d_sub(D(1.0), left));
    d->key[0] = word(k->x);
    d->key[1] = word(k->x + 1);
    d->row = (uint64_t)word(k->x + 2) + (uint64_t)of->first;
    d->some = true;
    return true;
}

static bool is_kept(const drops *d, int64_t size, int64_t at)
{
    uint64_t stream = d->row * (uint64_t)size + (uint64_t)at;

    return f_lt(from_0_to_1(random_bits(d->key, stream)), d->keep);
}

f32 dropped(const drops *d, f32 x, int64_t size, int64_t at)
{
    return is_kept(d, size, at) ? f_mul(x, f_div(F(1.0f), d->keep)) : 0;
}

uint32_t kept_bits(const drops *d, int64_t size, int64_t at, int64_t w,
                   int64_t n)
{
    int64_t end = (n + 15) / 16 * 16; /* whole lanes are drawn */
    uint32_t bits = 0;

    for (int64_t i = 32 * w; i < end && i < 32 * w + 32; i++)
        bits |= (uint32_t)is_kept(d, size, at + i) << i % 32;
    return bits;
}

/* ------ who answers ------ */

static const struct {
    const char *op;
    answer *makes;
} answers[] = {
    {"dense", dense_makes}, {"matmul", matmul_makes}, {"conv2d", conv_makes},
    {"max_pool", pool_makes}, {"avg_pool", pool_makes},
    {"layer_norm", norm_makes}, {"rms_norm", norm_makes},
    {"group_norm", norm_makes}, {"batch_norm", batch_norm_makes},
    {"dropout", dropout_makes},
    {"softmax", softmax_makes}, {"log_softmax", softmax_makes},
    {"sum", reduced_makes}, {"max_over", reduced_makes},
    {"cross entropy", loss_makes}, {"next token", loss_makes},
    {"squared error", loss_makes}, {"mean_loss", mean_loss_makes},
    {"weighted_mean_loss", mean_loss_makes}, {"parameter", position_makes},
    {"embed", embed_makes}, {"position", position_makes},
    {"gather", view_makes}, {"one_hot", one_hot_makes},
    {"flatten", view_makes}, {"reshape", view_makes},
    {"transpose", view_makes}, {"slice", view_makes},
    {"broadcast", view_makes}, {"concat", view_makes},
    {"reverse", view_makes}, {"reverse_lengths", view_makes},
    {"sparse_dense", bag_makes}, {"sparse_dense_values", bag_makes},
    {"embed_bag", bag_makes}, {"attention", attention_makes},
    {"rotary", rotary_makes}, {"lstm", steps_makes},
    {"lstm_from", steps_makes}, {"lstm_lengths", steps_makes},
    {"lstm_from_lengths", steps_makes}, {"gru", steps_makes},
    {"gru_from", steps_makes}, {"gru_lengths", steps_makes},
    {"gru_from_lengths", steps_makes}};

enum { ANSWERS = sizeof answers / sizeof *answers };

static answer *answer_of(const char *op)
{
    for (int i = 0; i < ANSWERS; i++)
        if (strcmp(answers[i].op, op) == 0)
            return answers[i].makes;
    return term_of(op) ? term_makes : NULL;
}

const char *operator_name(int i)
{
    return i < ANSWERS ? answers[i].op : term_name(i - ANSWERS);
}

/* Is the element's array as large as what it is of?  What a node keeps or shows
 * of itself is its rule's to know. */
static bool has_its_size(const asked *q)
{
    int k = (int)of->index;
    const said *s;

    if (of->n > ATTRIBUTE)
        return false;
    if (is_y())
        return has_rows(of, q->rows, q->size);
    if (is_what("dx")) {
        s = node_of(input(q->n, k));
        return s && has_rows(of, q->rows, size(s->shape));
    }
    if (!is_what("dparam"))
        return true;
    s = param(q->n, k);
    return s && of->n == s->floats;
}

static bool is_bounded(int64_t rows, int64_t each)
{
    return each <= ATTRIBUTE && rows <= ATTRIBUTE / each;
}

/* False: its shapes are none that the element could be of. */
static bool fill(asked *q)
{
    q->n = node_of(of->node);
    q->from = q->n && input(q->n, 0) >= 0 ? node_of(input(q->n, 0)) : q->n;
    if (!q->from || !(q->in = width(q->from->shape)) ||
        !(q->width = width(q->n->shape)) || !(q->size = size(q->n->shape)) ||
        !(q->in_size = size(q->from->shape)))
        return false;
    q->at = element;
    q->rows = of->rows;
    if (!has_its_size(q) || !is_bounded(q->rows, q->size) ||
        !is_bounded(q->rows, q->in_size))
        return false;
    q->vectors = q->rows * (q->size / q->width);
    q->y = value(q->n->node);
    q->x = q->from == q->n ? 0 : value(q->from->node);
    q->dy = gradient(q->n->node, q->n->node);
    return q->x || q->from == q->n || !q->rows;
}

f32 operator_makes(void)
{
    asked q = {NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    answer *makes = answer_of(of->op);

    if (!makes || !fill(&q) || strcmp(q.n->op, of->op) != 0)
        unknown(of->op);
    return makes(&q);
}

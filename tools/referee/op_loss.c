/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over a device's rows: its loss, of terms or of means, and the weight of
 * the terms.  In double, in order of rows, micro-batches by
 * themselves. */
#include "operators.h"

/* ------ rows ------ */

static bool is_mine(const array *k, const char *phase, int64_t micro)
{
    return k->device == of->device && k->micro == micro &&
           strcmp(k->phase, phase) == 0;
}

/* The first array of what the device is given as a micro-batch, of that name or
 * any; NULL: there is none. */
static const array *given_rows(int64_t micro, const char *what)
{
    for (const array *k = arrays; k < of; k++)
        if (is_mine(k, "rows", micro) && (!what || !strcmp(k->what, what)))
            return k;
    return NULL;
}

/* The weight of a row; w NULL: 1. */
static f64 weight_of(const array *w, int64_t row)
{
    return w ? d_from(word(w->x + row)) : D(1.0);
}

/* Place of row `row` of what a node, or an input, gave to a micro-batch. */
static place row_of(const said *n, int64_t micro, int64_t row)
{
    bool is_input = strcmp(n->op, "input") == 0;
    int64_t each = size(n->shape);

    spend(of - arrays);
    for (const array *a = arrays; a < of; a++) {
        int64_t first = is_input ? 0 : a->first;

        if (is_mine(a, is_input ? "rows" : "forward", micro) &&
            strcmp(a->what, is_input ? n->name : "y") == 0 &&
            (is_input || a->node == n->node) && row >= first &&
            row - first < a->n / each)
            return a->x + (row - first) * each;
    }
    return unknown("a loss without the values that it is of");
}

/* ------ terms ------ */

/* The next terms of the device's loss after k, or the first; a node that shows
 * them again shows the same. */
static const array *next_terms(const array *k)
{
    const array *was = k;

    for (k = k ? k + 1 : arrays; k < of; k++)
        if (strcmp(k->what, "terms") == 0 && k->device == of->device &&
            (!was || k->micro != was->micro || k->first != was->first))
            return k;
    return NULL;
}

/* Sums of micro-batches, one after the other. */
typedef struct parts {
    f64 all, part;
    bool has_part, begun;
} parts;

static void add(parts *s, f64 x)
{
    s->part = d_add(s->has_part ? s->part : 0, x);
    s->has_part = true;
}

static void end_part(parts *s)
{
    if (s->has_part)
        s->all = s->begun ? d_add(s->all, s->part) : s->part;
    s->begun = s->begun || s->has_part;
    s->has_part = false;
}

static f64 of_terms(void)
{
    parts s = {0, 0, false, false};
    int64_t micro = -1;

    for (const array *k = NULL; (k = next_terms(k));) {
        const array *w = given_rows(k->micro, "weights of rows");
        int64_t each = k->rows > 0 ? k->n / k->rows : 1;

        if (k->micro != micro)
            end_part(&s);
        micro = k->micro;
        for (int64_t i = 0; i < k->n; i++)
            add(&s, d_mul(weight_of(w, k->first + i / (each ? each : 1)),
                          d_from(word(k->x + i))));
    }
    end_part(&s);
    return s.all;
}

/* ------ rows of means, and what terms weigh ------ */

typedef struct loss {
    const said *n, *in[2];
    int64_t each[2];
} loss;

/* A row's part of the loss: the sum of its numbers, times those of input 1
 * where it has one. */
static f64 mean_row(const loss *l, int64_t micro, int64_t row)
{
    place y = row_of(l->in[0], micro, row);
    place v = l->in[1] ? row_of(l->in[1], micro, row) : 0;
    f64 sum = 0;

    for (int64_t i = 0; i < l->each[0]; i++) {
        f64 x = d_from(word(y + i));

        sum = d_add(sum, v ? d_mul(d_from(word(v + i)), x) : x);
    }
    return sum;
}

/* The weight of a row's terms: their count, or of labels those not below 0. */
static f64 row_terms(const loss *l, int64_t micro, int64_t row)
{
    bool next = strcmp(l->n->op, "next token") == 0;
    f64 sum = 0;
    place x;

    if (!strcmp(l->n->op, "mean_loss") || !strcmp(l->n->op, "squared error"))
        return d_int(l->each[0]);
    if (!l->in[1])
        return unknown(l->n->op);
    x = row_of(l->in[1], micro, row);
    for (int64_t i = next; i < l->each[1]; i++)
        sum = d_add(sum, !strcmp(l->n->op, "weighted_mean_loss")
                             ? d_from(word(x + i))
                             : D(word(x + i) >> 31 ? 0 : 1.0));
    return sum;
}

static bool is_loss(const said *n)
{
    static const char *const all[] = {"cross entropy", "next token",
                                      "squared error", "mean_loss",
                                      "weighted_mean_loss"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(n->op, all[i]) == 0)
            return true;
    return false;
}

static f64 of_rows(f64 (*row)(const loss *l, int64_t micro, int64_t row))
{
    loss l = {NULL, {NULL, NULL}, {0, 0}};
    parts s = {0, 0, false, false};

    for (int i = 0; i < node_count; i++)
        l.n = is_loss(&nodes[i]) ? &nodes[i] : l.n;
    for (int k = 0; l.n && k < 2; k++) {
        l.in[k] = node_of(input(l.n, k));
        l.each[k] = l.in[k] ? size(l.in[k]->shape) : 1;
    }
    if (!l.n || !l.in[0] || !l.each[0] || !l.each[1] || !given_rows(0, NULL) ||
        (row == mean_row && (!strstr(l.n->op, "mean_loss") ||
                             (l.in[1] && l.each[1] != l.each[0]))))
        return unknown("sums of a loss without terms, or of another device "
                       "than the record's");
    for (int64_t m = 0; m < micro_of_step(); m++) {
        const array *w = given_rows(m, "weights of rows");
        const array *rows = given_rows(m, NULL);

        for (int64_t i = 0; rows && i < rows->rows; i++) {
            spend(1);
            add(&s, d_mul(weight_of(w, i), row(&l, m, i)));
        }
        end_part(&s);
    }
    return s.all;
}

f32 sums_make(void)
{
    bool weight = is_what("weight");

    return word_of(weight                ? of_rows(row_terms)
                   : next_terms(NULL) ? of_terms()
                                         : of_rows(mean_row),
                   element);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of elementwise operators, of what goes along rows, and of losses. */
#include "record/evidence_rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------ elementwise ------ */

int ls__evidence_term(const ls__asked *q)
{
    const uint32_t *b = ls__asked_x(q, 1);
    bool back = ls__asked_dx(q, 0) || ls__asked_dx(q, 1);
    char rule[64];

    if (!ls__evidence_of(q->n, "term") || (!back && !ls__asked_y(q)))
        return ls__asked_unknown(q->n->op);
    snprintf(rule, sizeof rule, "term.%s%s", q->n->op,
             !back ? "" : q->e->of->place.index ? ".b" : ".a");
    ls__asked_rule(q, rule);
    ls__evidence_number(q->e, "a", &q->x[q->at]);
    if (b)
        ls__evidence_number(q->e, "b", &b[q->at]);
    for (int k = 0; k < 2; k++)
        if (ls__evidence_of(q->n, k ? "q" : "p"))
            ls__evidence_word(q->e, k ? "q" : "p",
                              ls__asked_real(q, k ? "q" : "p"));
    if (!back)
        return 0;
    if (q->y)
        ls__evidence_number(q->e, "y", &q->y[q->at]);
    ls__evidence_number(q->e, "dy", &q->dy[q->at]);
    ls__asked_addend(q);
    return 0;
}

int ls__evidence_round(const ls__asked *q)
{
    if (!ls__asked_y(q) && !ls__asked_dx(q, 0))
        return ls__asked_unknown("round_bf16");
    ls__asked_rule(q, "round_bf16");
    ls__evidence_number(q->e, "x", ls__asked_y(q) ? &q->x[q->at]
                                                  : &q->dy[q->at]);
    if (!ls__asked_y(q))
        ls__asked_addend(q);
    return 0;
}

/* ------ dropout ------ */

/* The node's key and first row are among what its shard is given. */
bool ls__asked_find_drops(const ls__asked *q, const char *rate, ls__drops *d)
{
    const ls__kept *k;
    char what[40];

    snprintf(what, sizeof what, "key of node %" PRId64, q->n->node);
    k = ls__evidence_rows(q->e, what);
    if (!k || k->n != 3 || !rate)
        return false;
    *d = (ls__drops){.key = k->x, .rate = strtod(rate, NULL)};
    if (!ls__evidence_option(q->e, "dropout_schedule"))
        return true;
    d->share = ls__evidence_whole(q->e, "rule", "share of dropout");
    return d->share != NULL;
}

void ls__asked_drops(const ls__asked *q, const ls__drops *d, int64_t size,
                     int64_t at)
{
    uint64_t row = (uint64_t)d->key[2] + (uint64_t)q->e->of->place.first;
    uint64_t place = row * (uint64_t)size + (uint64_t)at;

    ls__evidence_list(q->e, "key", 2, d->key, 1);
    ls__evidence_begin(q->e, "place");
    ls__evidence_say(q->e, (uint32_t)(place >> 32));
    ls__evidence_say(q->e, (uint32_t)place);
    ls__evidence_end(q->e);
    if (d->share) {
        ls__evidence_real(q->e, "rate", d->rate);
        ls__evidence_number(q->e, "share", d->share->x);
    } else {
        ls__evidence_word(q->e, "keep", ls__asked_bits((float)(1 - d->rate)));
    }
}

int ls__evidence_dropout(const ls__asked *q)
{
    ls__drops d;

    if (ls__asked_what(q, "kept"))
        return ls__asked_unknown("which numbers dropout keeps: that is no "
                                 "float");
    if (!ls__asked_find_drops(q, ls__evidence_of(q->n, "rate"), &d) ||
        (!ls__asked_y(q) && !ls__asked_dx(q, 0)))
        return ls__asked_unknown("dropout");
    ls__asked_rule(q, "dropout");
    ls__asked_drops(q, &d, q->size, q->at);
    ls__evidence_number(q->e, "x", ls__asked_y(q) ? &q->x[q->at]
                                                  : &q->dy[q->at]);
    if (!ls__asked_y(q))
        ls__asked_addend(q);
    return 0;
}

/* ------ softmax ------ */

static void give_row(const ls__asked *q, const char *name, const uint32_t *x)
{
    ls__evidence_list(q->e, name, q->width, x + q->at - q->at % q->width, 1);
}

int ls__evidence_softmax(const ls__asked *q)
{
    bool is_log = strcmp(q->n->op, "log_softmax") == 0;

    if (!ls__asked_y(q) && (!ls__asked_dx(q, 0) || !q->y))
        return ls__asked_unknown(q->n->op);
    if (ls__asked_y(q)) {
        ls__asked_rule(q, is_log ? "log_softmax" : "softmax");
        give_row(q, "x", q->x);
    } else {
        ls__asked_rule(q, is_log ? "log_softmax.back" : "softmax.back");
        give_row(q, is_log ? "y" : "p", q->y);
        give_row(q, is_log ? "dy" : "dp", q->dy);
        ls__asked_addend(q);
    }
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % q->width));
    return 0;
}

/* ------ sums and maxima over axes ------ */

int ls__evidence_reduced(const ls__asked *q)
{
    bool is_sum = strcmp(q->n->op, "sum") == 0, is_y = ls__asked_y(q);
    int64_t axis = ls__asked_of(q, "axis", 0), axes = ls__asked_of(q, "axes",
                                                                   1);
    int64_t size[LS_MAX_RANK], n = 1, inner = 1, of;
    int rank = ls__evidence_axes(q->from->shape, size);

    for (int k = (int)axis; k >= 0 && k < rank; k++)
        *(k < axis + axes ? &n : &inner) *= size[k];
    if (axis < 0 || (!is_y && !ls__asked_dx(q, 0)))
        return ls__asked_unknown(q->n->op);
    of = is_y ? q->at : q->at / inner / n * inner + q->at % inner;
    if (is_sum && !is_y) {
        ls__asked_rule(q, "adds");
        ls__evidence_number(q->e, "a", &q->dy[of]);
        ls__asked_addend(q);
        return 0;
    }
    ls__asked_rule(q, !is_y ? "max.back"
                      : !is_sum ? "max" : inner == 1 ? "row_sum" : "column");
    ls__evidence_list(q->e, is_sum ? "a" : "x", n,
                      q->x + of / inner * n * inner + of % inner, inner);
    if (is_y)
        return 0;
    ls__evidence_number(q->e, "dy", &q->dy[of]);
    ls__evidence_word(q->e, "at", (uint32_t)(q->at / inner % n));
    ls__asked_addend(q);
    return 0;
}

/* ------ losses ------ */

/* Give the weight of a row; without weights 1. */
static void give_weight(const ls__asked *q, int64_t row)
{
    const ls__kept *w =
        ls__evidence_rows(q->e, "weights of rows");

    if (w)
        ls__evidence_number(q->e, "weight",
                            &w->x[q->e->of->place.first + row]);
    else
        ls__evidence_word(q->e, "weight", LS__ONE);
}

static int squared_error(const ls__asked *q, const uint32_t *t)
{
    int k = (int)q->e->of->place.index;

    if (ls__asked_what(q, "terms")) {
        ls__asked_rule(q, "squared_error");
        ls__evidence_list(q->e, "y", q->in_size, q->x + q->at * q->in_size, 1);
        ls__evidence_list(q->e, "t", q->in_size, t + q->at * q->in_size, 1);
        return 0;
    }
    ls__asked_rule(q, "squared_error.back");
    ls__evidence_number(q->e, "y", k ? &t[q->at] : &q->x[q->at]);
    ls__evidence_number(q->e, "t", k ? &q->x[q->at] : &t[q->at]);
    give_weight(q, q->at / q->in_size);
    if (k)
        ls__asked_addend(q);
    return 0;
}

/* Judge a term of a row by its label, or what it gives to the logits. */
static int by_label(const ls__asked *q, const uint32_t *label)
{
    bool next = strcmp(q->n->op, "next token") == 0;
    bool is_term = ls__asked_what(q, "terms");
    int64_t vectors = q->in_size / q->in, terms = vectors - next;
    int64_t nth = is_term ? q->at : q->at / q->in;
    int64_t each = is_term ? terms : vectors, i, t;

    if (each < 1)
        return ls__asked_unknown(q->n->op);
    i = nth / each;
    t = nth % each;
    if (t == terms) { /* behind the last: no gradient */
        ls__asked_rule(q, "move");
        ls__evidence_word(q->e, "x", 0);
        return 0;
    }
    ls__asked_rule(q, is_term ? "cross_entropy" : "cross_entropy.back");
    ls__evidence_list(q->e, "x", q->in, q->x + (i * vectors + t) * q->in, 1);
    ls__evidence_number(q->e, "label", &label[i * vectors + t + next]);
    if (is_term)
        return 0;
    give_weight(q, i);
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % q->in));
    return 0;
}

int ls__evidence_loss(const ls__asked *q)
{
    const uint32_t *other = ls__asked_x(q, 1);
    bool is_dx = ls__asked_what(q, "dx");

    if (!other || (!is_dx && !ls__asked_what(q, "terms")))
        return ls__asked_unknown(q->n->op);
    return strcmp(q->n->op, "squared error") ? by_label(q, other)
                                             : squared_error(q, other);
}

int ls__evidence_mean_loss(const ls__asked *q)
{
    const uint32_t *v = ls__asked_x(q, 1);

    if (!ls__asked_what(q, "dx"))
        return ls__asked_unknown(q->n->op);
    ls__asked_rule(q, "mean_loss.back");
    give_weight(q, q->at / q->in_size);
    if (v)
        ls__evidence_number(q->e, "v", q->e->of->place.index ? &q->x[q->at]
                                                             : &v[q->at]);
    ls__asked_addend(q);
    return 0;
}

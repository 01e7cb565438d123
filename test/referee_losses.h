/* SPDX-License-Identifier: BSD-3-Clause */
/* The same of losses. */
#ifndef TEST_REFEREE_LOSSES_H
#define TEST_REFEREE_LOSSES_H

#include "referee_elements.h"

static float row_weight(const question *q, int64_t nth)
{
    return q->p->weights ? q->p->weights[nth] : 1.0f;
}

/* How far the labels are ahead, and how many terms a row has. */
static int64_t terms_of(const question *q, int64_t *first)
{
    bool next = q->p->op == &ls__op_next_token;

    *first = next;
    return q->p->op == &ls__op_squared_error ? 1
                                             : q->p->node->in[1]->size - next;
}

/* The loss of term t of a row, as a double. */
static double term_loss(const question *q, int64_t nth, int64_t t)
{
    const ls_node *x = q->p->node->in[0];
    int64_t first, v = ls__width(x);

    terms_of(q, &first);
    if (q->p->op == &ls__op_squared_error) {
        asked_copy("y", x->size, q->p->x[0] + nth * x->size);
        asked_copy("t", x->size, q->p->x[1] + nth * x->size);
        return (double)asked("squared_error");
    }
    asked_copy("x", v, q->p->x[0] + nth * x->size + t * v);
    asked_word("label",
               (uint32_t)indices(q, 1)[nth * q->p->node->in[1]->size + t +
                                       first]);
    return (double)asked("cross_entropy");
}

static double mean_row(const question *q, int64_t nth)
{
    int64_t n = q->p->node->in[0]->size;
    uint64_t word[2];
    double x;

    for (uint32_t k = 0; k < 2; k++) {
        asked_copy("y", n, q->p->x[0] + nth * n);
        if (q->p->op == &ls__op_weighted_loss)
            asked_copy("v", n, q->p->x[1] + nth * n);
        asked_word("at", k);
        word[k] = asked_bits("mean_loss");
    }
    word[0] = word[0] << 32 | word[1];
    memcpy(&x, word, sizeof x);
    return x;
}

static bool is_mean(const question *q)
{
    return q->p->op == &ls__op_mean_loss || q->p->op == &ls__op_weighted_loss;
}

/* The sum of the losses, `at` its first word or its second. */
static uint32_t loss_word(const question *q)
{
    int64_t first, each = is_mean(q) ? 1 : terms_of(q, &first);
    int64_t n = q->p->rows * each;
    double *l = room_of(2 * n);
    float *w;

    for (int64_t i = 0; i < n; i++)
        l[i] = is_mean(q) ? mean_row(q, i) : term_loss(q, i / each, i % each);
    w = asked_list("w", n);
    for (int64_t i = 0; i < n; i++)
        w[i] = row_weight(q, i / each);
    w = asked_list("l", 2 * n);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        uint32_t word[2];

        memcpy(&bits, &l[i], sizeof bits);
        word[0] = (uint32_t)(bits >> 32);
        word[1] = (uint32_t)bits;
        memcpy(w + 2 * i, word, sizeof word);
    }
    asked_word("at", (uint32_t)q->at);
    return asked_bits("loss.sum");
}

static float loss_gradient(const question *q)
{
    const ls_node *x = q->p->node->in[0];
    int64_t nth = q->at / x->size, v = ls__width(x), first;
    int64_t t = q->at % x->size / v, terms;
    const float *other = q->p->x[1 - q->which];

    asked_number("weight", row_weight(q, nth));
    if (is_mean(q)) {
        if (q->p->op == &ls__op_weighted_loss)
            asked_number("v", other[q->at]);
        return asked("mean_loss.back");
    }
    terms = terms_of(q, &first);
    if (q->p->op == &ls__op_squared_error) {
        asked_number("y", q->p->x[q->which][q->at]);
        asked_number("t", other[q->at]);
        return asked("squared_error.back");
    }
    asked_copy("x", v, q->p->x[0] + q->at / v * v);
    asked_word("label", t < terms ? (uint32_t)indices(q, 1)
                            [nth * q->p->node->in[1]->size + t + first]
                                  : (uint32_t)-1);
    asked_word("at", (uint32_t)(q->at % v));
    return asked("cross_entropy.back");
}

#endif

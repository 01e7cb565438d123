/* SPDX-License-Identifier: BSD-3-Clause */
/* The same of bags and of lists of what is not zero. */
#ifndef TEST_REFEREE_BAGS_H
#define TEST_REFEREE_BAGS_H

#include "referee_elements.h"

/* What a list has of each index, in rising order of them; how many. */
static int64_t bag_list(const question *q, int64_t bag, uint32_t *index,
                           float *value)
{
    const ls_node *n = q->p->node;
    int64_t places = ls__width(n->in[0]), count = 0, there = 0;
    const int32_t *x = indices(q, 0) + bag * places;
    bool mean = n->op == &ls__op_embed_bag && asked_integer(q, "mean");

    for (int64_t i = 0; i < places; i++)
        there += x[i] >= 0;
    for (int64_t k = 0; k < asked_integer(q, "count"); k++) {
        int64_t found = 0;

        for (int64_t i = 0; i < places; i++) {
            float v = mean ? 1.0f / (float)there
                      : n->op->inputs > 1 ? q->p->x[1][bag * places + i] : 1;

            if (x[i] != k)
                continue;
            if (found++) {
                asked_number("c", value[count]);
                asked_number("a", v);
                v = asked("adds");
            }
            index[count] = (uint32_t)k;
            value[count] = v;
        }
        count += found > 0;
    }
    return count;
}

static float bag_y(const question *q, uint32_t *index, float *value)
{
    int64_t n = width_of(q), j = q->at % n;
    int64_t count = bag_list(q, q->at / n, index, value);
    float *w;

    if (count == 0) {
        asked_number("c", 0);
        asked_number("a", q->p->node->params > 1 ? q->p->param[1][j] : 0);
        return asked("adds");
    }
    w = asked_list("w", count);
    for (int64_t i = 0; i < count; i++)
        w[i] = q->p->param[0][index[i] * n + j];
    asked_copy("value", count, value);
    memcpy(asked_list("index", count), index, (size_t)count * sizeof *index);
    if (q->p->node->params > 1)
        asked_number("bias", q->p->param[1][j]);
    return asked("bag");
}

/* The rows of K are bags. */
static float bag_table(const question *q, uint32_t *index, float *value)
{
    int64_t n = width_of(q), all = 0, bags = vectors_of(q);
    float *v = room_of(bags + 1), *d = room_of(bags + 1);
    uint32_t *bag = room_of(bags + 1);

    for (int64_t b = 0; b < bags; b++) {
        int64_t count = bag_list(q, b, index, value);

        for (int64_t i = 0; i < count; i++)
            if (index[i] == q->at / n) {
                v[all] = value[i];
                d[all] = q->p->dy[b * n + q->at % n];
                bag[all++] = (uint32_t)b;
            }
    }
    if (all == 0)
        return moved_number(0);
    asked_copy("value", all, v);
    asked_copy("w", all, d);
    memcpy(asked_list("index", all), bag, (size_t)all * sizeof *bag);
    return asked("bag");
}

static float bag(const question *q)
{
    int64_t places = ls__width(q->p->node->in[0]), n = width_of(q), b, i;
    uint32_t *index = room_of(places + 1);
    float *value = room_of(places + 1);

    if (q->which < 0)
        return bag_y(q, index, value);
    if (of_param(q, 0))
        return bag_table(q, index, value);
    if (of_param(q, 1))
        return column_of_dy(q);
    b = q->at / places;
    i = indices(q, 0)[q->at];
    if (i < 0)
        return moved_number(0);
    asked_copy("a", n, q->p->dy + b * n);
    asked_copy("b", n, q->p->param[0] + i * n);
    return asked("product");
}

#endif

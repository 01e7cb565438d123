/* SPDX-License-Identifier: BSD-3-Clause */
/* A node of the library in a record that the referee is asked of. */
#ifndef TEST_ASKED_NODE_H
#define TEST_ASKED_NODE_H

#include "asked_record.h"
#include "base/real_text.h"
#include "graph/graph.h"
#include "op/op_table.h"
#include "support.h"

static inline const char *shape_text(const ls_node *n)
{
    static char text[80];
    int at = 0;

    *text = 0;
    for (int k = 0; k < n->rank; k++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld",
                       k ? "x" : "", (long long)n->shape[k]);
    return text;
}

static inline void tell_sizes(int node, const char *name, const ls__extents *of)
{
    ls_node n = {.rank = of->rank};

    memcpy(n.shape, of->of, sizeof n.shape);
    asked_attribute(node, name, shape_text(&n));
}

static inline void tell_attribute(int node, const char *name, const ls_node *n,
                                  const ls__attribute *a)
{
    const void *at = ls__attribute_in(n, a);
    char text[LS__REAL_TEXT];

    if (a->type == LS__SIZES) {
        tell_sizes(node, name, at);
        return;
    }
    if (a->type == LS__NUMBER)
        ls__real_text(text, *(const double *)at);
    else
        snprintf(text, sizeof text, "%lld",
                 a->type == LS__INTEGER  ? (long long)*(const int64_t *)at
                 : a->type == LS__YES_NO ? *(const bool *)at
                                         : *(const int *)at);
    asked_attribute(node, name, text);
}

static inline void tell_attributes(int node, const ls_node *n)
{
    const ls__attribute *a = n->op->file.attributes;

    for (int i = 0; a && a[i].name; i++)
        tell_attribute(node, !n->op->term ? a[i].name : i ? "q" : "p", n,
                       &a[i]);
    if (ls__is_transposed(n))
        asked_attribute(node, "transposed", "1");
}

/* Returns the number of the node, of inputs by theirs, with its attributes. */
static inline int asked_of(const ls_node *n, int inputs, const int *input)
{
    int node = asked_node(n->op->name, shape_text(n), inputs, input,
                          n->op->plan.passes);

    tell_attributes(node, n);
    return node;
}

/* Has x the referee's bits? */
static inline bool asked_is(float x, uint32_t is)
{
    float of = asked_word(is);

    return memcmp(&x, &of, sizeof x) == 0 || (x != x && of != of);
}

/* One number in five of an array of the node is the referee's, from number
 * `first` on: whole numbers take their time. */
static inline void asked_are(const char *phase, const char *what, int node,
                             int index, int64_t n, const float *x, int first)
{
    enum { EVERY = 5 };

    for (int64_t i = first % EVERY; i < n; i += EVERY) {
        uint32_t is = asked_element(phase, what, node, index, n, i);

        HOLDS(asked_is(x[i], is), "%s, %s %d, %lld: %a, and %a by the referee",
              phase, what, index, (long long)i, (double)x[i],
              (double)asked_word(is));
    }
}

#endif

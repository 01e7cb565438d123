/* SPDX-License-Identifier: BSD-3-Clause */
/* An operator without a plan around it: it decides for itself as it would in
 * one, and sees a chunk of its own. */
#ifndef TEST_ALONE_H
#define TEST_ALONE_H

#include "op/conv.h"
#include "support.h"

typedef struct alone {
    ls__instr in;
    ls__chunk chunk;
    int64_t scratch; /* floats that it asked for */
} alone;

/* An operator's value, zeros at first, in its graph's arena. */
static inline void *made_for(const ls_node *n)
{
    void *made = NULL;

    if (n->op->plan.made) {
        made = ls__arena_new(&n->graph->arena, 1, n->op->plan.made);
        ck_assert_ptr_nonnull(made);
    }
    return made;
}

static inline alone alone_of(const ls_node *n)
{
    return (alone){.in = {.node = n, .inputs = ls__inputs_of(n),
                          .made = made_for(n)}};
}

/* The same of a convolution under a max pooling, whose shape is the node's. */
static inline alone alone_pooled(ls_node *conv, const ls_node *pooling)
{
    alone a = alone_of(conv);

    ck_assert(conv->op->plan.folds(conv, a.in.made, pooling));
    conv->size = pooling->size;
    memcpy(conv->shape, pooling->shape, sizeof conv->shape);
    return a;
}

static inline void alone_packs(alone *a, const ls__bench *b, const ls__run *r)
{
    float *packed = b->packed ? fenced(b->packed) : NULL;

    for (int i = 0; i < b->packs; i++)
        b->pack[i].write(&b->pack[i], b->backend, 0, b->pack[i].n, r->param[0],
                         packed + b->pack[i].offset);
    a->chunk.packed = packed;
    a->chunk.backward = true;
}

/* Decide all that is open, for a run with node, rows, backend and parameters
 * set: it gets scratch, packed weights, and a stash unless it has one. */
static inline void alone_start(alone *a, ls__run *r)
{
    ls__pack room[2];
    ls__bench b = {.arena = &r->node->graph->arena, .backend = r->backend,
                   .rows = r->rows, .backward = true, .instr = &a->in,
                   .count = 1, .pack = room};

    r->in = &a->in;
    r->of = &a->chunk;
    if (r->node->op->plan.stash)
        a->in.kept = r->node->op->plan.stash(&b, &a->in);
    if (r->node->op->plan.decide)
        ck_assert_int_eq(r->node->op->plan.decide(&b, &a->in), 0);
    a->scratch = b.scratch;
    r->scratch = b.scratch ? fenced(b.scratch) : NULL;
    if (a->in.kept && !r->stash)
        r->stash = fenced(r->rows * a->in.kept);
    alone_packs(a, &b, r);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling over images, one by one; the formulas stand in kernel/k_pooling.h. */
#include "op/op_table.h"
#include "op/window.h"

static int pooling_shape(ls_node *n)
{
    return ls__window_fit(n, LS_CAUSAL, 0);
}

static ls__pooling pooling_of(const ls_node *n)
{
    const int64_t *x = n->in[0]->shape;

    return ls__pooling_of(ls__window_of(n), x[0], x[1], x[2]);
}

/* dx += addend, over image i. */
static void add_to(const ls__run *r, int64_t i)
{
    int64_t size = r->node->in[0]->size;

    if (r->addend[0])
        r->kernels->add(size, r->addend[0] + i * size, r->dx[0] + i * size,
                        r->dx[0] + i * size);
}

/* The numbers of the largest. */
static int64_t max_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return in->node->size;
}

static void max_fwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);
    int64_t in = r->node->in[0]->size, out = r->node->size;

    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->max_pool(&p, 0, p.h, (const float *)r->x[0] + i * in,
                             false, r->y + i * out, r->stash + i * out);
}

static void max_bwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);
    int64_t in = r->node->in[0]->size, out = r->node->size;

    for (int64_t i = 0; i < r->rows; i++) {
        r->kernels->max_pool_grad(&p, r->stash + i * out, r->dy + i * out,
                                  r->dx[0] + i * in);
        add_to(r, i);
    }
}

static const ls__attribute attributes[] = {LS__WINDOW_ATTRIBUTES, {0}};

const ls__op ls__op_max_pool = {
    .name = "max_pool", .inputs = 1, .of = sizeof(ls__window),
    .attributes = attributes, .shape = pooling_shape, .stash = max_stash,
    .forward = max_fwd, .backward = max_bwd};

static void avg_fwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);

    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->avg_pool(&p,
                             (const float *)r->x[0] + i * r->node->in[0]->size,
                             r->y + i * r->node->size);
}

static void avg_bwd(const ls__run *r)
{
    ls__pooling p = pooling_of(r->node);

    for (int64_t i = 0; i < r->rows; i++) {
        r->kernels->avg_pool_grad(&p, r->dy + i * r->node->size,
                                  r->dx[0] + i * r->node->in[0]->size);
        add_to(r, i);
    }
}

const ls__op ls__op_avg_pool = {
    .name = "avg_pool", .inputs = 1, .of = sizeof(ls__window),
    .attributes = attributes, .shape = pooling_shape, .forward = avg_fwd,
    .backward = avg_bwd};

static ls_node *pooling(const ls__op *op, ls_node *x, const ls_window *window)
{
    ls_node *y = ls__node_unnamed(op, x, NULL);

    if (y)
        *(ls__window *)y->of = ls__window_new(window);
    return ls__node_done(y);
}

ls_node *ls_max_pool(ls_node *x, ls_window window)
{
    return pooling(&ls__op_max_pool, x, &window);
}

ls_node *ls_avg_pool(ls_node *x, ls_window window)
{
    return pooling(&ls__op_avg_pool, x, &window);
}

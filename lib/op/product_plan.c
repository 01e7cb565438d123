/* SPDX-License-Identifier: BSD-3-Clause */
/* See product_plan.h. */
#include "op/product_plan.h"
#include "base/assert.h"
#include "op/op_table.h"

/* ------ what is taken in ------ */

bool ls__product_folds(const ls_node *n, void *made, const ls_node *reader)
{
    ls__product_made *m = made;

    (void)n;
    if (m->closed)
        return false;
    if (ls__activation_of(reader->op) && !m->activation) {
        m->activation = ls__activation_of(reader->op);
        return true;
    }
    m->residual = m->closed = reader->op->term == LS__ADD;
    return m->residual;
}

bool ls__bf16_fits(const ls_node *n, int64_t heads)
{
    return ls__vectors(n) % LS__BF16_STEP == 0 &&
           ls__width(n) / heads % LS__BF16_STEP == 0;
}

/* ------ the slope of the activation ------ */

int64_t ls__product_stash(const ls__bench *b, const ls__instr *in)
{
    const ls__product_made *m = in->made;

    return m->activation && b->backward ? in->node->size : 0;
}

int64_t ls__product_reads_kept(const ls__instr *in)
{
    const ls__product_made *m = in->made;

    return (m->dy_is_pre ? 0 : in->kept) +
           (m->slope_of_x < 0 ? 0 : in->node->in[0]->size);
}

static bool is_product(const ls_node *n)
{
    return n->op == &ls__op_dense || n->op == &ls__op_conv;
}

/* dx can go through the slope of the activation that made x, where x has no
 * other reader. */
static void take_slope(const ls__bench *b, const ls__instr *in)
{
    ls__product_made *m = in->made, *before;

    m->slope_of_x = -1;
    if (in->dy < 0 || !b->maker || !is_product(b->maker->node))
        return;
    before = b->maker->made;
    LS__ASSERT(b->maker < in);
    if (!before->activation || before->closed)
        return;
    m->slope_of_x = b->maker->stash;
    before->dy_is_pre = true;
}

/* ------ packed weights ------ */

/* The operand of y, or of dx, as it stands in the weights. */
static ls__pack operand(const ls_node *n, bool transposed)
{
    int64_t i = ls__width(n->in[0]), o = ls__width(n);
    bool is_tied = ls__is_transposed(n);
    int64_t width = is_tied ? i : o; /* of a row of the weights */

    return (ls__pack){.node = n, .backward = transposed,
                      .k = transposed ? o : i, .n = transposed ? i : o,
                      .row = transposed != is_tied ? 1 : width,
                      .col = transposed != is_tied ? width : 1};
}

int ls__product_plan(ls__bench *b, ls__instr *in, ls__product_pack *how)
{
    ls__product_made *m = in->made;

    take_slope(b, in);
    m->packed[0] = m->packed[1] = -1;
    for (int t = 0; t < 2; t++) {
        ls__pack q = operand(in->node, t);
        int status = 0;

        if (how && (!t || in->dx[0] >= 0))
            status = how(b, in->node, t, &q);
        if (status < 0)
            return status;
        if (q.write)
            ls__bench_pack(b, q, &m->packed[t]);
    }
    return 0;
}

/* ------ in a run ------ */

void ls__product_move(ls__product *g, int64_t by)
{
    g->c += by;
    g->slope += g->slope ? by : 0;
    g->times += g->times ? by : 0;
    g->add += g->add ? by : 0;
}

const float *ls__product_packed(const ls__run *r, bool transposed)
{
    int64_t at = ls__product_of(r)->packed[transposed];

    return at < 0 ? NULL : r->of->packed + at;
}

const float *ls__product_slope_of_x(const ls__run *r)
{
    int64_t at = ls__product_of(r)->slope_of_x;

    return at < 0 ? NULL : r->of->memory + at +
                           r->of->skipped * r->node->in[0]->size;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that operators read and write, by shapes: inputs, the value, what
 * is kept for backward, gradients and what they are added to.
 *
 * Nothing here is about single operators.  Their structs say what backward
 * reads, what is passed on, what shares memory, and which array is read only in
 * part (picks). */
#include "plan/traffic.h"
#include "base/assert.h"
#include "base/dtype.h"

static double bytes_of(const ls_node *n)
{
    return (double)n->size * (double)ls__dtype_size(n->dtype);
}

static double floats(int64_t n)
{
    return (double)n * (double)sizeof(float);
}

/* The value is the memory of the input. */
static bool is_in_place(const ls__instr *in)
{
    return ls__is_view(in->node->op) && in->x[0].input < 0 &&
           in->x[0].offset == in->y;
}

/* A parameter whose rows are picked is read and written with the rows. */
static bool is_picked(const ls_node *n, int k)
{
    return k == 0 && n->op->run.picks;
}

/* Input k as far as it is read. */
static double input_bytes(const ls__instr *in, int k)
{
    const ls_node *n = in->node;

    if (in->x[k].is_bf16)
        return bytes_of(n->in[k]) / 2;
    return is_picked(n, k) && !n->params ? floats(n->op->run.picks(n))
                                         : bytes_of(n->in[k]);
}

/* Bytes kept for backward beside the value, some of them where x was. */
static double kept_bytes(const ls__instr *in)
{
    LS__ASSERT(in->kept >= 0 && (!in->over_x || in->node->in[0]->op));
    return floats(in->kept) + (in->over_x ? bytes_of(in->node->in[0]) : 0);
}

/* Bytes that backward reads of that, and of what another forward has left. */
static double read_bytes(const ls__instr *in)
{
    const ls__op_rare *rare = in->node->op->rare;

    return rare && rare->reads_kept ? floats(rare->reads_kept(in))
                                    : kept_bytes(in);
}

static double param_bytes(const ls__plan *plan, const ls_node *n, int k)
{
    return floats(plan->param[n->param[k]].size);
}

/* ------ Forward ------ */

static void count_forward(const ls__plan *plan, const ls__instr *in,
                          ls__traffic *t)
{
    const ls_node *n = in->node;

    for (int k = 0; k < in->inputs; k++)
        t->forward += input_bytes(in, k);
    if (!n->op->is_loss)
        t->forward += in->is_bf16 ? bytes_of(n) / 2 : bytes_of(n);
    t->forward += kept_bytes(in);
    for (int k = 0; k < n->params; k++)
        if (is_picked(n, k))
            t->forward += floats(n->op->run.picks(n));
        else
            t->chunk_forward += param_bytes(plan, n, k);
}

/* ------ Backward ------ */

/* Count what x[k] gets; where dy is passed on, the executor's addition. */
static void count_gradient(const ls__instr *in, int k, ls__traffic *t)
{
    double bytes = bytes_of(in->node->in[k]);

    if (in->dx[k] < 0)
        return;
    t->backward += bytes;
    if (in->addend[k] >= 0)
        t->backward += bytes;
    if (in->node->op->plan.passes >> k & 1)
        t->backward += bytes; /* dy */
}

static bool wants_param(const ls__plan *plan, const ls_node *n, int k)
{
    return !plan->left_out || !plan->left_out[n->param[k]];
}

/* Does the operator itself compute anything backward: a gradient of a parameter
 * or one that it does not pass on? */
static bool works_backward(const ls__plan *plan, const ls__instr *in, bool *dx)
{
    const ls_node *n = in->node;
    bool works = false;

    *dx = false;
    for (int k = 0; k < in->inputs; k++)
        *dx |= in->dx[k] >= 0 && !(n->op->plan.passes >> k & 1);
    for (int k = 0; k < n->params; k++)
        works |= wants_param(plan, n, k);
    return works || *dx;
}

static void count_params(const ls__plan *plan, const ls__instr *in, bool dx,
                         ls__traffic *t)
{
    const ls_node *n = in->node;

    for (int k = 0; k < n->params; k++) {
        bool picked = is_picked(n, k);
        double bytes =
            picked ? floats(n->op->run.picks(n)) : param_bytes(plan, n, k);
        double *to = picked ? &t->backward : &t->chunk_backward;

        if (dx && k == 0) /* kernel, scale: what dx is made with */
            *to += bytes;
        if (wants_param(plan, n, k))
            *to += picked ? 2 * bytes : bytes; /* rows are added to */
    }
}

/* A loss has read its inputs when it computed its value. */
static void count_backward(const ls__plan *plan, const ls__instr *in,
                           ls__traffic *t)
{
    const ls_node *n = in->node;
    bool dx;

    if (in->dy < 0 && !n->op->is_loss)
        return;
    for (int k = 0; k < in->inputs; k++)
        count_gradient(in, k, t);
    if (!works_backward(plan, in, &dx) || n->op->is_loss)
        return;
    t->backward += bytes_of(n); /* dy */
    for (int k = 0; k < in->inputs; k++)
        if (n->op->plan.reads >> k & 1)
            t->backward += input_bytes(in, k);
    if (n->op->plan.reads_y && !in->lends)
        t->backward += bytes_of(n);
    t->backward += read_bytes(in);
    count_params(plan, in, dx, t);
}

ls__traffic ls__instr_traffic(const ls__plan *plan, const ls__instr *in)
{
    ls__traffic t = {0};

    if (!is_in_place(in)) {
        if (!in->lends)
            count_forward(plan, in, &t);
        count_backward(plan, in, &t);
    }
    return t;
}

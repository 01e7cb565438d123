/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators and losses of the user's: their functions behind the interface of
 * our own.  Addends are ours to add, so that a user's function only writes, and
 * no memory is shared between what it reads and what it writes. */
#include "op/op_table.h"

#include <string.h>

_Static_assert((int)LS_OWN_INPUTS <= (int)LS__MAX_INPUTS, "inputs of a node");

/* Its attributes are what the user gave, but for the name, which the node
 * has. */
static const ls_own_op *own_of(const ls_node *n)
{
    return n->of;
}

/* ------ running ------ */

/* Call one of the two functions; the first failure counts. */
static bool call(const ls__run *r, ls_own_fn *fn, float *const *dx,
                 ls_sums *sums)
{
    int64_t size[LS_OWN_INPUTS] = {0};
    bool is_loss = r->node->op->is_loss;
    ls_own_run run = {.rows = r->rows, .x_size = size, .x = r->x, .y = r->y,
                      .y_size = is_loss ? 0 : r->node->size,
                      .stash = r->stash, .dy = r->dy, .dx = dx,
                      .weights = r->of->weights, .sums = sums};
    int status;

    for (int k = 0; k < r->node->op->inputs; k++)
        size[k] = r->node->in[k]->size;
    status = fn(own_of(r->node)->user, &run);
    if (status < 0)
        *r->of->failure = (ls__failure){status, r->node};
    return status >= 0;
}

/* dx[k] = addend[k] + what the user wrote there; in rising k, because an input
 * that stands there twice has the first as the addend of the second. */
static void add_addends(const ls__run *r)
{
    for (int k = 0; k < r->node->op->inputs; k++)
        if (r->dx[k] && r->addend[k])
            r->kernels->add(r->rows * r->node->in[k]->size, r->addend[k],
                            r->dx[k], r->dx[k]);
}

static void own_fwd(const ls__run *r)
{
    (void)call(r, own_of(r->node)->forward, r->dx, NULL);
}

static void own_bwd(const ls__run *r)
{
    if (call(r, own_of(r->node)->backward, r->dx, NULL))
        add_addends(r);
}

static void own_loss(const ls__run *r)
{
    ls_sums sums = {.correct = __builtin_nan("")}, *total = r->of->sums;

    if (!call(r, own_of(r->node)->forward, r->dx, &sums))
        return;
    total->loss += sums.loss;
    total->weight += sums.weight;
    if (sums.correct == sums.correct) /* not NaN: classes are counted */
        total->correct = sums.correct +
                         (total->correct == total->correct ? total->correct
                                                           : 0);
    add_addends(r);
}

/* ------ building ------ */

static ls_array_spec spec_of(const ls_node *n)
{
    ls_array_spec s = {.name = n->name, .dtype = n->dtype, .rank = n->rank};

    memcpy(s.shape, n->shape, sizeof s.shape);
    return s;
}

static int own_shape(ls_node *n)
{
    const ls_own_op *own = own_of(n);
    ls_array_spec x[LS_OWN_INPUTS], y = spec_of(n->in[0]);
    char text[LS__SHAPE_TEXT];
    int status;

    for (int k = 0; k < own->inputs; k++)
        x[k] = spec_of(n->in[k]);
    y.name = n->name;
    y.dtype = LS_F32;
    if (own->shape && (status = own->shape(own->user, x, &y)) < 0)
        return ls__fail(status, "operator \"%s\": its shape function refuses "
                        "its inputs, the first %s a row, with status %d",
                        n->name, ls__shape_text(text, x[0].rank, x[0].shape),
                        status);
    if (y.rank < 0 || y.rank >= LS_MAX_RANK || y.dtype != LS_F32)
        return ls__fail(LS_EINVAL, "operator \"%s\": its shape function made "
                        "rank %d, dtype %d; it must be 0..%d and LS_F32",
                        n->name, y.rank, (int)y.dtype, LS_MAX_RANK - 1);
    return ls__node_set_shape(n, LS_F32, y.rank, y.shape);
}

static int64_t own_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return own_of(in->node)->stash;
}

/* One for each number of inputs. */
#define OWN(n) \
    {.name = "own operator", .inputs = n, .of = sizeof(ls_own_op), \
     .shape = own_shape, \
     .plan = {.reads = ~0u, .reads_y = true, .stash = own_stash}, \
     .run = {.forward = own_fwd, .backward = own_bwd}, \
     .rare = LS__RARE(.is_own = true)}
#define OWN_LOSS(n) \
    {.name = "own loss", .inputs = n, .is_loss = true, \
     .of = sizeof(ls_own_op), .shape = ls__loss_shape, \
     .plan = {.reads = ~0u}, \
     .run = {.forward = own_loss, .backward = own_loss}, \
     .rare = LS__RARE(.is_own = true)}

static const ls__op operators[LS_OWN_INPUTS] = {OWN(1), OWN(2), OWN(3)};
static const ls__op losses[LS_OWN_INPUTS] = {OWN_LOSS(1), OWN_LOSS(2),
                                             OWN_LOSS(3)};

static int check(const ls_own_op *op, bool is_loss)
{
    const char *name = op->name ? op->name : "";

    if (op->inputs < 1 || op->inputs > LS_OWN_INPUTS)
        return ls__fail(LS_EINVAL, "operator \"%s\": %d inputs; there must be "
                        "1 to %d", name, op->inputs, LS_OWN_INPUTS);
    if (!op->forward || !op->backward != is_loss)
        return ls__fail(LS_EINVAL, "operator \"%s\": %s", name,
                        is_loss ? "a loss has forward and no backward"
                                : "it needs forward and backward");
    if (op->stash < 0 || op->stash > INT32_MAX ||
        (is_loss && (op->stash || op->shape)))
        return ls__fail(LS_EINVAL, "operator \"%s\": a stash of %lld floats a "
                        "row%s", name, (long long)op->stash,
                        is_loss ? ", or a shape, for a loss" : "");
    return 0;
}

static ls_node *own_node(const ls_own_op *op, const ls__op *table,
                         bool is_loss, ls_node *const *in)
{
    ls_node *a = in[0];
    ls_own_op of;
    int status;

    if (!ls__node_stands(a))
        return NULL;
    if ((status = check(op, is_loss)) < 0)
        return ls__graph_failed(a->graph, status);
    of = *op;
    of.name = NULL;
    return ls__node_with(ls__node_new(&table[op->inputs - 1], op->name, a,
                                      op->inputs > 1 ? in[1] : NULL,
                                      op->inputs > 2 ? in[2] : NULL), &of);
}

ls_node *ls_own(const ls_own_op *op, ls_node *const *in)
{
    LS__NEED_OR(in, NULL);
    LS__NEED_NODE(in[0], op);
    return own_node(op, operators, false, in);
}

ls_node *ls_own_loss(const ls_own_op *op, ls_node *const *in)
{
    LS__NEED_OR(in, NULL);
    LS__NEED_NODE(in[0], op);
    return own_node(op, losses, true, in);
}

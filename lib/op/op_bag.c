/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags: sparse dense layers, x being lists of its nonzeros, and embedding bags,
 * sums and means of rows of a table: the same with values of one.
 *
 *     y[..,:] = sum_k value[..,k] w[index[..,k],:] + bias
 *
 * An index below 0 is padding.  Forward sorts each list and adds up the values
 * of equal indices.  Backward sorts the entries of all bags of the chunk by
 * index: it reads and writes a row of the gradient (a sparse update) once a
 * chunk, or once in many of them (op/bag_update.h).
 * Both are chains in the order of the dense layer's products
 * (kernel/k_bag.h). */
#include "base/error.h"
#include "base/least.h"
#include "op/bag_list.h"
#include "op/bag_update.h"
#include "op/op_table.h"
#include <lockstep/sparse.h>

#include <string.h>

/* ------ The node ------ */

static int values_shape(const ls_node *n)
{
    const ls_node *x = n->in[0], *v = n->in[1];
    char is[LS__SHAPE_TEXT], wanted[LS__SHAPE_TEXT];

    if (n->op->inputs == 1)
        return 0;
    if (ls__want(n, 1, LS_F32, 1) < 0)
        return LS_ESHAPE;
    if (v->rank == x->rank &&
        !memcmp(v->shape, x->shape, (size_t)x->rank * sizeof *x->shape))
        return 0;
    return ls__fail(LS_ESHAPE, "%s \"%s\": indices are %s, their values %s",
                    n->op->name, n->name,
                    ls__shape_text(wanted, x->rank, x->shape),
                    ls__shape_text(is, v->rank, v->shape));
}

static int bag_shape(ls_node *n)
{
    const ls__bag_of *of = n->of;
    const ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK];

    if (ls__want(n, 0, LS_I32, 1) < 0 || values_shape(n) < 0)
        return LS_ESHAPE;
    if (of->count < 1 || of->count > INT32_MAX)
        return ls__fail(LS_ESHAPE, "%s \"%s\": %lld inputs; there must be 1 to "
                        "%d", n->op->name, n->name, (long long)of->count,
                        INT32_MAX);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = of->features;
    return ls__node_set_shape(n, LS_F32, x->rank, shape);
}

static ls_node *dense_declare(ls_node *n)
{
    const ls__bag_of *of = n->of;
    int64_t in = of->count, out = of->features;

    ls__limit(n->in[0], of->count);
    n = ls__node_table(n, "kernel", LS__INIT_LECUN_NORMAL, in, out, in, out);
    return n && of->bias ? ls__node_param(n, "bias", LS__INIT_ZEROS, in, out, 1,
                                          &out)
                         : n;
}

static ls_node *embed_declare(ls_node *n)
{
    const ls__bag_of *of = n->of;

    ls__limit(n->in[0], of->count);
    return ls__node_table(n, "embedding", LS__INIT_NORMAL, of->features,
                          of->count, of->count, of->features);
}

/* ------ Forward ------ */

static int64_t bags(const ls__run *r)
{
    return r->rows * ls__vectors(r->node);
}

static int64_t bag_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return ls__vectors(in->node) * ls__bag_list_floats(in->node);
}

/* The list of a bag that forward leaves to backward. */
static float *list_at(const ls__run *r, int64_t bag)
{
    return r->stash + bag * ls__bag_list_floats(r->node);
}

/* Forward: a list; backward: all entries, twice. */
static int bag_plan(ls__bench *b, ls__instr *in)
{
    const ls_node *n = in->node;

    ls__bench_scratch(b, 2 * LS__BAG_ENTRY * b->rows * ls__vectors(n) *
                             ls__bag_places(n));
    return ls__lot_plan(b, in);
}

/* Lots are for backward: without it each chunk is by itself. */
static bool has_lot(const ls__run *r)
{
    const ls__bag_made *made = r->in->made;

    return made->lot && r->of->backward;
}

static void bag_fwd(const ls__run *r)
{
    int64_t n = ls__width(r->node);
    ls__bag_entry *e = (ls__bag_entry *)(void *)r->scratch;

    if (has_lot(r)) {
        ls__lot_forward(r);
        return;
    }
    for (int64_t i = 0; i < bags(r); i++) {
        ls__bag bag;

        ls__bag_list_make(r, i, e, list_at(r, i));
        bag = ls__bag_list(r, list_at(r, i));
        r->kernels->bag_sum(&bag, r->y + i * n);
    }
}

/* ------ Backward ------ */

/* dw (+)= sum over bags of value d, for each index that occurs. */
static void table_grad(const ls__run *r)
{
    ls__bag_entry *e = (ls__bag_entry *)(void *)r->scratch;
    ls__bag_entry *other = e + bags(r) * ls__bag_places(r->node);
    int64_t n = 0, next;

    for (int64_t i = 0; i < bags(r); i++) {
        ls__bag of = ls__bag_list(r, list_at(r, i));

        for (int64_t k = 0; k < of.count; k++)
            e[n++] = (ls__bag_entry){of.index[k], (uint32_t)i, of.value[k]};
    }
    LS__ASSERT(e + n <= other);
    next = ls__bag_table_grad(r, 0, n,
                              ls__bag_sort(ls__bag_bits(r->node), n, e, other),
                              r->dy, r->add);
    if (!r->add)
        ls__bag_clear(r, next, ls__bag_of_node(r->node)->count);
}

/* The gradients of a bag's values, 16 at a time; out[i] is that of place[i]. */
static void dots(const ls__run *r, int64_t bag, int count,
                 const int64_t place[16])
{
    int64_t at = bag * ls__bag_places(r->node), n = ls__width(r->node);
    const int32_t *index = (const int32_t *)r->x[0] + at;
    const float *addend = r->addend[1], *row[16] = {NULL};
    float out[16];

    LS__ASSERT(count >= 1 && count <= 16);
    for (int i = 0; i < count; i++)
        row[i] = r->param[0] + index[place[i]] * n;
    r->kernels->bag_dots(n, count, row, r->dy + bag * n, out);
    for (int i = 0; i < count; i++)
        r->dx[1][at + place[i]] =
            (addend ? addend[at + place[i]] : 0) + out[i];
}

/* dvalue[k] = dy w[index[k],:], and 0 where there is no index. */
static void values_grad(const ls__run *r, int64_t bag)
{
    int64_t k = ls__bag_places(r->node), at = bag * k, place[16];
    const int32_t *index = (const int32_t *)r->x[0] + at;
    int count = 0;

    for (int64_t i = 0; i < k; i++) {
        if (index[i] >= 0)
            place[count++] = i;
        else
            r->dx[1][at + i] = r->addend[1] ? r->addend[1][at + i] : 0;
        if (count == 16 || (count && i == k - 1)) {
            dots(r, bag, count, place);
            count = 0;
        }
    }
}

static void bag_bwd(const ls__run *r)
{
    const ls_node *n = r->node;

    if (r->dparam[0] && has_lot(r))
        ls__lot_backward(r);
    else if (r->dparam[0])
        table_grad(r);
    if (n->params > 1 && r->dparam[1])
        r->kernels->column_sum(bags(r), ls__width(n), r->dy, r->add,
                               r->dparam[1]);
    for (int64_t i = 0; i < bags(r) && r->dx[1]; i++)
        values_grad(r, i);
}

/* Operations where all lists are full. */
static double bag_flops(const ls_node *n)
{
    return 2.0 * (double)n->size * (double)ls__bag_places(n);
}

static int64_t bag_picks(const ls_node *n)
{
    return n->size * ls__bag_places(n);
}

/* ------ The operators ------ */

static const ls__attribute dense_attributes[] = {
    LS__FIELD("count", LS__INTEGER, ls__bag_of, count),
    LS__FIELD("features", LS__INTEGER, ls__bag_of, features),
    LS__FIELD("bias", LS__YES_NO, ls__bag_of, bias),
    {0}};

static const ls__attribute embed_attributes[] = {
    LS__FIELD("count", LS__INTEGER, ls__bag_of, count),
    LS__FIELD("features", LS__INTEGER, ls__bag_of, features),
    LS__FIELD("mean", LS__YES_NO, ls__bag_of, mean),
    {0}};

/* Members that all of them have. */
#define BAG(read) \
    .ignores = 1, .of = sizeof(ls__bag_of), .shape = bag_shape, \
    .plan = {.reads = read, .made = sizeof(ls__bag_made), \
             .wish = ls__wish_vectors, .stash = bag_stash, \
             .decide = bag_plan}, \
    .run = {.forward = bag_fwd, .backward = bag_bwd, .leaves_params = true, \
            .flops = bag_flops, .picks = bag_picks}

const ls__op ls__op_sparse_dense = {
    .name = "sparse_dense", .inputs = 1, .declare = dense_declare, BAG(0),
    .file = {.attributes = dense_attributes}};

const ls__op ls__op_sparse_dense_values = {
    .name = "sparse_dense_values", .inputs = 2, .declare = dense_declare,
    BAG(1), .file = {.attributes = dense_attributes},
    .rare = LS__RARE(.finite = 2)};

const ls__op ls__op_embed_bag = {
    .name = "embed_bag", .inputs = 1, .declare = embed_declare, BAG(0),
    .file = {.attributes = embed_attributes}};

static ls_node *sparse_dense(ls_node *indices, ls_node *values, int64_t inputs,
                             int64_t n, bool bias, const char *name)
{
    const ls__op *op = values ? &ls__op_sparse_dense_values
                              : &ls__op_sparse_dense;

    return ls__node_with(ls__node_new(op, name, indices, values, NULL),
                         &(ls__bag_of){inputs, n, bias, false});
}

ls_node *ls_sparse_dense(ls_node *indices, ls_node *values, int64_t inputs,
                         int64_t n, const char *name)
{
    return sparse_dense(indices, values, inputs, n, true, name);
}

ls_node *ls_sparse_dense_with(ls_node *indices, ls_node *values,
                              int64_t inputs, int64_t n,
                              const ls_dense_options *options,
                              const char *name)
{
    ls_dense_options o = ls_dense_defaults();

    return ls__node_takes(indices, "dense", &o, sizeof o, options)
               ? sparse_dense(indices, values, inputs, n, !o.no_bias, name)
               : NULL;
}

ls_node *ls_embed_bag(ls_node *indices, ls_bag bag, int64_t count,
                      int64_t width, const char *name)
{
    ls_node *y = ls__node_new(&ls__op_embed_bag, name, indices, NULL, NULL);

    if (y && (int)bag != LS_BAG_SUM && bag != LS_BAG_MEAN)
        return ls__graph_failed(
            y->graph, ls__fail(LS_EINVAL, "embed_bag \"%s\": bag %d is neither "
                               "a sum nor a mean", y->name, (int)bag));
    return ls__node_with(
        y, &(ls__bag_of){count, width, false, bag == LS_BAG_MEAN});
}

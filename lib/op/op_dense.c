/* SPDX-License-Identifier: BSD-3-Clause */
/* y = activation(x w + bias) + residual, for every vector of x.
 *
 *     dw = x^T d,  dbias = column sums of d,  dx = d w^T,
 *     d = dy activation'(x w + bias)
 *
 * The weights may be another layer's, and then transposed: w (out,in), dw =
 * d^T x.
 *
 * An activation and an add that follow are fused into the product's epilogue
 * (op/product_plan.h).  dx goes through the slope of the activation that made
 * x, kept by its forward.  In dw, K runs over the vectors of the chunk. */
#include "backend/backend.h"
#include "base/assert.h"
#include "base/least.h"
#include "base/range.h"
#include "base/sized.h"
#include "op/op_table.h"
#include "op/layer_parts.h"
#include "op/product_plan.h"

#include <string.h>

typedef struct dense {
    int64_t features;
    bool bias;
    ls__extents kernel; /* shape of the weights */
} dense;

static int check_kernel(const ls_node *n)
{
    const dense *of = n->of;
    int64_t in = ls__width(n->in[0]), size;
    char text[LS__SHAPE_TEXT];

    size = ls__count(of->kernel.rank, of->kernel.of);
    if (size >= 0 && size / in == of->features && size % in == 0)
        return 0;
    return ls__fail(LS_ESHAPE, "dense \"%s\": weights of %s do not take %lld "
                    "to %lld", n->name,
                    ls__shape_text(text, of->kernel.rank, of->kernel.of),
                    (long long)in, (long long)of->features);
}

static int dense_shape(ls_node *n)
{
    const dense *of = n->of;
    int64_t shape[LS_MAX_RANK];
    int status;

    if (ls__want(n, 0, LS_F32, 1) < 0)
        return LS_ESHAPE;
    memcpy(shape, n->in[0]->shape, sizeof shape);
    shape[n->in[0]->rank - 1] = of->features;
    status = ls__node_set_shape(n, LS_F32, n->in[0]->rank, shape);
    return status < 0 ? status : check_kernel(n);
}

static ls_node *dense_declare(ls_node *n)
{
    const dense *of = n->of;
    int64_t in = ls__width(n->in[0]), out = of->features;

    n = ls__node_param(n, "kernel", LS__INIT_LECUN_NORMAL, in, out,
                       of->kernel.rank, of->kernel.of);
    return n && of->bias ? ls__node_param(n, "bias", LS__INIT_ZEROS, in, out, 1,
                                          &out)
                         : n;
}

/* A value with nothing but an activation in its epilogue, an operand that
 * stands as it is. */
static bool dense_bf16(const ls__instr *in, int k)
{
    const ls__product_made *m = in->made;

    return k == LS__VALUE ? !m->closed && ls__bf16_fits(in->node, 1)
                          : k == 0 && !ls__is_transposed(in->node);
}

static int64_t dense_scratch(const ls__bench *b, const ls__instr *instr)
{
    const ls__product_made *m = instr->made;
    const ls_node *n = instr->node;
    int64_t in = ls__width(n->in[0]), out = ls__width(n), rows = b->rows;
    const ls__products *of = b->backend->products;
    int64_t deep = rows * ls__vectors(n); /* K of dw, in pieces */
    int64_t dw = of->scratch(ls__least(deep, LS__DEEP),
                             ls__is_transposed(n) ? in : out);
    int64_t others = ls__most(of->scratch(in, out), of->scratch(out, in));

    return (m->activation ? rows * n->size + 16 : 0) + ls__most(dw, others);
}

static void write_pack(const ls__pack *q, const ls__backend *backend,
                       int64_t first, int64_t last, const float *weights,
                       float *to)
{
    const ls__products *of = backend->products;

    of->pack(q->k, last - first, weights + first * q->col, q->row, q->col,
             to + of->packed_size(q->k, first));
}

static int pack_how(const ls__bench *b, const ls_node *n, bool transposed,
                    ls__pack *q)
{
    (void)n;
    (void)transposed;
    q->whole = LS__PACK_CUT;
    q->floats = b->backend->products->packed_size(q->k, q->n);
    q->write = write_pack;
    return 0;
}

static int dense_plan(ls__bench *b, ls__instr *in)
{
    ls__bench_scratch(b, dense_scratch(b, in));
    return ls__product_plan(b, in, b->backend->products->pack ? pack_how
                                                              : NULL);
}

/* Row-major (m,n) = A (m,k) B (k,n) of matrices that stand as they are, or
 * transposed. */
static ls__product product(int64_t m, int64_t n, int64_t k, bool a_transposed,
                           bool b_transposed)
{
    return (ls__product){.m = m, .n = n, .k = k,
                         .a_row = a_transposed ? 1 : k,
                         .a_col = a_transposed ? m : 1,
                         .b_row = b_transposed ? 1 : n,
                         .b_col = b_transposed ? k : 1,
                         .c_row = n, .scale = 1};
}

static ls__product of_y(const ls_node *n, int64_t rows)
{
    return product(rows * ls__vectors(n), ls__width(n), ls__width(n->in[0]),
                   false, ls__is_transposed(n));
}

/* The product d^T x, for weights (out,in). */
static ls__product of_weights(const ls_node *n, int64_t rows)
{
    int64_t in = ls__width(n->in[0]), out = ls__width(n);
    bool transposed = ls__is_transposed(n);

    return product(transposed ? out : in, transposed ? in : out,
                   rows * ls__vectors(n), true, false);
}

static ls__product of_x(const ls_node *n, int64_t rows)
{
    return product(rows * ls__vectors(n), ls__width(n->in[0]), ls__width(n),
                   false, !ls__is_transposed(n));
}

/* This member's columns of C: none needs another. */
static void take_columns(const ls__run *r, ls__product *g)
{
    ls__range mine = ls__range_part((ls__range){0, g->n}, r->parts, r->part,
                                    LS__PACK_CUT);
    int64_t j = mine.first;

    LS__ASSERT(!g->c_bf16 && !g->accumulate);
    g->n = mine.last - j;
    g->b += j * g->b_col;
    if (g->packed)
        g->packed = (const float *)g->packed +
                    r->backend->products->packed_size(g->k, j);
    g->bias += g->bias ? j : 0;
    ls__product_move(g, j);
}

static void dense_fwd(const ls__run *r)
{
    const ls__product_made *m = r->in->made;
    const ls_node *n = r->node;
    ls__product g = of_y(n, r->rows);

    g.a = r->x[0];
    g.b = r->param[0];
    g.packed = ls__product_packed(r, false);
    g.c = r->y;
    g.bias = n->params > 1 ? r->param[1] : NULL;
    g.round = r->backend->bf16;
    g.activation = m->activation;
    g.slope = m->activation ? r->stash : NULL;
    g.add = m->residual ? r->x[1] : NULL;
    g.a_bf16 = r->in->x[0].is_bf16;
    g.c_bf16 = r->in->is_bf16;
    if (r->parts > 1)
        take_columns(r, &g);
    if (g.n)
        r->backend->products->gemm(&g, r->scratch);
}

/* Some columns of dw (+)= x^T d */
static void weights_grad(const ls__run *r, const float *d, ls__range columns,
                         float *scratch)
{
    ls__product g = of_weights(r->node, r->rows);
    bool transposed = ls__is_transposed(r->node);

    LS__ASSERT(columns.first >= 0 && columns.last <= g.n);
    g.n = columns.last - columns.first;
    g.a = transposed ? d : r->x[0];
    g.b = (transposed ? (const float *)r->x[0] : d) + columns.first;
    g.c = r->dparam[0] + columns.first;
    g.a_bf16 = r->in->x[0].is_bf16;
    g.accumulate = r->add;
    ls__multiply_deep(r->backend, &g, scratch);
}

/* A turn is a panel of dw's columns, not less than these: no column needs
 * another. */
enum { PANEL = 64 };

static int64_t columns_of(const ls_node *n)
{
    return ls__width(ls__is_transposed(n) ? n->in[0] : n);
}

static unsigned dense_turns(const ls__instr *in, unsigned most)
{
    return (unsigned)ls__most(1, ls__least(most,
                                           columns_of(in->node) / PANEL));
}

/* The parameters, dbias with the last of the panels. */
static void params_grad(const ls__run *r, const float *d, float *scratch)
{
    const ls_node *n = r->node;
    ls__range all = {0, columns_of(n)};
    int panels = (int)dense_turns(r->in, r->of->turns ? r->of->turns->most
                                                      : 1);

    for (int i = 0; i < panels; i++) {
        if (!ls__take_turn(r))
            continue;
        if (r->dparam[0])
            weights_grad(r, d, ls__range_part(all, panels, i, LS__PACK_CUT),
                         scratch);
        if (i == panels - 1 && n->params > 1 && r->dparam[1])
            r->kernels->column_sum(r->rows * ls__vectors(n), ls__width(n), d,
                                   r->add, r->dparam[1]);
        ls__end_turn(r);
    }
}

/* dx = (d w^T) slope + addend */
static void input_grad(const ls__run *r, const float *d, float *scratch)
{
    ls__product g = of_x(r->node, r->rows);

    g.a = d;
    g.b = r->param[0];
    g.packed = ls__product_packed(r, true);
    g.c = r->dx[0];
    g.times = ls__product_slope_of_x(r);
    g.add = r->addend[0];
    r->backend->products->gemm(&g, scratch);
}

static void dense_bwd(const ls__run *r)
{
    const ls__product_made *m = r->in->made;
    const ls_node *n = r->node;
    const float *d = r->dy;
    float *scratch = r->scratch;

    if (m->activation && !m->dy_is_pre) {
        r->kernels->slope_grad(r->rows * n->size, r->stash, d, scratch);
        d = scratch;
        scratch += (r->rows * n->size + 15) / 16 * 16;
    }
    if (ls__wants_params(r))
        params_grad(r, d, scratch);
    if (r->dx[0])
        input_grad(r, d, scratch);
}

static const ls__attribute attributes[] = {
    LS__FIELD("features", LS__INTEGER, dense, features),
    LS__FIELD("bias", LS__YES_NO, dense, bias),
    LS__FIELD("kernel", LS__SIZES, dense, kernel),
    {0}};

const ls__op ls__op_dense = {
    .name = "dense", .inputs = 1, .of = sizeof(dense), .step = &ls__op_dense,
    .shape = dense_shape, .declare = dense_declare,
    .plan = {.reads = 1, .passes = 2, .made = sizeof(ls__product_made),
             .folds = ls__product_folds, .may_bf16 = dense_bf16,
             .wish = ls__wish_vectors, .stash = ls__product_stash,
             .decide = dense_plan},
    .run = {.forward = dense_fwd, .backward = dense_bwd, .cuts = 1,
            .leaves_params = true, .flops = ls__flops_of_width},
    .file = {.attributes = attributes},
    .rare = LS__RARE(.may_transpose = true, .splits = true,
                     .turns = dense_turns,
                     .reads_kept = ls__product_reads_kept)};

/* Weights under a shape of their own. */
static ls_node *build(ls_node *x, int64_t n, const char *name, bool bias,
                      int rank, const int64_t *kernel)
{
    dense of = {n, bias, {.rank = rank}};

    memcpy(of.kernel.of, kernel, (size_t)rank * sizeof *kernel);
    return ls__node_with(ls__node_new(&ls__op_dense, name, x, NULL, NULL), &of);
}

ls_node *ls__projection(ls_node *x, int64_t n, const char *name,
                        const char *part, bool bias, int rank,
                        const int64_t *kernel)
{
    char *path = ls__node_stands(x) ? ls__path(x->graph, name, part) : NULL;

    return path ? build(x, n, path, bias, rank, kernel) : NULL;
}

static ls_node *layer(ls_node *x, int64_t n, const char *name, bool bias)
{
    int64_t matrix[] = {x ? ls__width(x) : 0, n};

    return build(x, n, name, bias, 2, matrix);
}

ls_node *ls_dense(ls_node *x, int64_t n, const char *name)
{
    return layer(x, n, name, true);
}

LS__DEFAULTS(ls_dense_options, ls_dense_defaults_bytes)

ls_node *ls_dense_with(ls_node *x, int64_t n, const ls_dense_options *options,
                       const char *name)
{
    ls_dense_options o = ls_dense_defaults();

    return ls__node_takes(x, "dense", &o, sizeof o, options)
               ? layer(x, n, name, !o.no_bias) : NULL;
}

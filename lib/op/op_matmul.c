/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of two nodes: y = a b for each pair of matrices, a (..,m,k) and b
 * (..,k,n).
 *
 *     da = dy b^T,  db = a^T dy */
#include "backend/backend.h"
#include "op/layer_parts.h"
#include "op/op_table.h"

typedef struct sizes {
    int64_t count, m, k, n; /* matrices a row, and their extents */
} sizes;

static sizes sizes_of(const ls_node *node)
{
    const ls_node *a = node->in[0];
    int64_t k = ls__width(a), m = a->shape[a->rank - 2];

    LS__ASSERT(k == node->in[1]->shape[a->rank - 2]);
    return (sizes){a->size / (m * k), m, k, ls__width(node)};
}

static int matmul_shape(ls_node *n)
{
    const ls_node *a = n->in[0], *b = n->in[1];
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];
    int64_t shape[LS_MAX_RANK];
    bool fits = a->rank == b->rank;

    if (ls__want(n, 0, LS_F32, 2) < 0 || ls__want(n, 1, LS_F32, 2) < 0)
        return LS_ESHAPE;
    for (int i = 0; fits && i < a->rank - 2; i++)
        fits = a->shape[i] == b->shape[i];
    if (!fits || ls__width(a) != b->shape[b->rank - 2])
        return ls__fail(LS_ESHAPE, "matmul: %s by %s; they must be (..,m,k) "
                        "and (..,k,n), with leading axes that are equal or 1",
                        ls__shape_text(left, a->rank, a->shape),
                        ls__shape_text(right, b->rank, b->shape));
    for (int i = 0; i < a->rank - 1; i++)
        shape[i] = a->shape[i];
    shape[a->rank - 1] = ls__width(b);
    return ls__node_set_shape(n, LS_F32, a->rank, shape);
}

static int matmul_plan(ls__bench *b, ls__instr *in)
{
    const ls__products *of = b->backend->products;
    sizes s = sizes_of(in->node);

    ls__bench_scratch(b, of->scratch(s.k, s.n));
    ls__bench_scratch(b, of->scratch(s.n, s.k));
    ls__bench_scratch(b, of->scratch(s.m, s.n));
    return 0;
}

/* The products of all rows (batched GEMM), operand after operand. */
static void multiply(const ls__run *r, ls__product g)
{
    int64_t count = r->rows * sizes_of(r->node).count;

    for (int64_t i = 0; i < count; i++) {
        r->backend->products->gemm(&g, r->scratch);
        g.a += g.m * g.k;
        g.b += g.k * g.n;
        g.c += g.m * g.n;
        g.add = g.add ? g.add + g.m * g.n : NULL;
    }
}

static void matmul_fwd(const ls__run *r)
{
    sizes s = sizes_of(r->node);

    multiply(r, (ls__product){.m = s.m, .n = s.n, .k = s.k, .a = r->x[0],
                              .a_row = s.k, .a_col = 1, .b = r->x[1],
                              .b_row = s.n, .b_col = 1, .c = r->y,
                              .c_row = s.n, .scale = 1});
}

/* da (m,k) = dy (m,n) b^T */
static void matmul_da(const ls__run *r, sizes s)
{
    multiply(r, (ls__product){.m = s.m, .n = s.k, .k = s.n, .a = r->dy,
                              .a_row = s.n, .a_col = 1, .b = r->x[1],
                              .b_row = 1, .b_col = s.n, .c = r->dx[0],
                              .c_row = s.k, .scale = 1, .add = r->addend[0]});
}

/* db (k,n) = a^T dy */
static void matmul_db(const ls__run *r, sizes s)
{
    multiply(r, (ls__product){.m = s.k, .n = s.n, .k = s.m, .a = r->x[0],
                              .a_row = 1, .a_col = s.k, .b = r->dy,
                              .b_row = s.n, .b_col = 1, .c = r->dx[1],
                              .c_row = s.n, .scale = 1, .add = r->addend[1]});
}

static void matmul_bwd(const ls__run *r)
{
    sizes s = sizes_of(r->node);

    if (r->dx[0])
        matmul_da(r, s);
    if (r->dx[1])
        matmul_db(r, s);
}

const ls__op ls__op_matmul = {
    .name = "matmul", .inputs = 2, .shape = matmul_shape,
    .plan = {.reads = 3, .decide = matmul_plan},
    .run = {.forward = matmul_fwd, .backward = matmul_bwd, .cuts = 1,
            .flops = ls__flops_of_width}};

ls_node *ls__matmul(ls_node *a, ls_node *b)
{
    return ls__node_done(ls__node_unnamed(&ls__op_matmul, a, b));
}

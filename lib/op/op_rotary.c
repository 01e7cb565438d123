/* SPDX-License-Identifier: BSD-3-Clause */
/* Rotary position embedding (RoPE, Su et al. 2021): the two halves of each head
 * are pairs, and position t rotates each by t times its own angle.
 *
 *     a' = a cos - b sin,  b' = b cos + a sin,  angle = t base^(-2i/d)
 *
 * Backward turns back.  The angles are rounded to float as PyTorch's and JAX's
 * programs do, 1 / base^(2i/d) first; their cosines and sines are constants of
 * the plan. */
#include "base/assert.h"
#include "base/scalar.h"
#include "op/op_table.h"

typedef struct rotary {
    int64_t heads;
    double base;
} rotary;

static int64_t head_width(const ls_node *n)
{
    const rotary *of = n->of;

    LS__ASSERT(n->shape[1] % (2 * of->heads) == 0);
    return n->shape[1] / of->heads;
}

static int rotary_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    const rotary *of = n->of;
    char text[LS__SHAPE_TEXT];

    if (ls__want(n, 0, LS_F32, 2) < 0)
        return LS_ESHAPE;
    if (x->rank != 2 || of->heads < 1 || x->shape[1] % of->heads ||
        x->shape[1] / of->heads % 2)
        return ls__fail(LS_ESHAPE, "rotary \"%s\": %s does not divide into "
                        "%lld heads of an even width", n->name,
                        ls__shape_text(text, x->rank, x->shape),
                        (long long)of->heads);
    if (!(of->base > 0 && of->base < 0x1p127))
        return ls__fail(LS_EINVAL, "rotary \"%s\": the base %g is not above 0",
                        n->name, of->base);
    return ls__same_shape(n);
}

static int64_t positions_of(const ls_node *n)
{
    return n->positions ? n->positions : n->shape[0];
}

/* A table: for each position cosines of a head's pairs, then their sines. */
static int rotary_plan(ls__bench *b, ls__instr *in)
{
    const rotary *of = in->node->of;
    int64_t d = head_width(in->node), steps = positions_of(in->node);
    float *table = ls__arena_new(b->arena, (size_t)(steps * d), sizeof *table);
    const float **made = in->made;

    if (!(*made = table))
        return LS_ENOMEM;
    ls__angles(table, steps, d, (float)of->base);
    return 0;
}

/* Turn every head of a vector at position t; sign -1: back. */
static void turn_vector(const ls__run *r, int64_t t, float sign, const float *x,
                        const float *addend, float *y)
{
    int64_t d = head_width(r->node), half = d / 2;
    const float *const *made = r->in->made, *table = *made + t * d;

    for (int64_t h = 0; h < r->node->shape[1]; h += d)
        r->kernels->turn(half, x + h, x + h + half, table, table + half, sign,
                         addend ? addend + h : NULL,
                         addend ? addend + h + half : NULL, y + h,
                         y + h + half);
}

static void turn_all(const ls__run *r, float sign, const float *x,
                     const float *addend, float *y)
{
    int64_t t = positions_of(r->node), d = r->node->shape[1];
    int64_t first = r->node->positions ? r->of->first : 0, vectors;

    vectors = r->rows * r->node->shape[0];
    for (int64_t v = 0; v < vectors; v++)
        turn_vector(r, (first + v) % t, sign, x + v * d,
                    addend ? addend + v * d : NULL, y + v * d);
}

static void rotary_fwd(const ls__run *r)
{
    turn_all(r, 1, r->x[0], NULL, r->y);
}

static void rotary_bwd(const ls__run *r)
{
    turn_all(r, -1, r->dy, r->addend[0], r->dx[0]);
}

static const ls__attribute attributes[] = {
    LS__FIELD("heads", LS__INTEGER, rotary, heads),
    LS__FIELD("base", LS__NUMBER, rotary, base),
    {0}};

const ls__op ls__op_rotary = {
    .name = "rotary", .inputs = 1, .of = sizeof(rotary), .step = &ls__op_rotary,
    .shape = rotary_shape,
    .plan = {.over = LS__OVER_ADDEND | LS__OVER_DY,
             .made = sizeof(const float *), .decide = rotary_plan},
    .run = {.forward = rotary_fwd, .backward = rotary_bwd, .cuts = 1},
    .file = {.attributes = attributes}};

ls_node *ls_rotary(ls_node *x, int heads, double base)
{
    return ls__node_with(ls__node_unnamed(&ls__op_rotary, x, NULL),
                         &(rotary){heads, base});
}

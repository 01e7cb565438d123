/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators, and the chains of them that a plan makes: formulas.
 *
 * A formula runs in blocks that stay in the first-level cache: all terms of one
 * block, then the next block, so memory is read and written once however long
 * the chain is.  Backward computes the values of the terms again, block by
 * block, and keeps nothing.
 *
 * Gradients are added in the order in which single operators would add them:
 * from the last term to the first, a's before b's, each onto the addend. */
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

#include <string.h>

enum { BLOCK = 256 };

/* One block: the values and gradients of all places, those of inputs where the
 * run has them.  A gradient stands there once its place `has` one. */
typedef struct block {
    const ls__run *r;
    const ls__formula *f;
    int64_t at, n;
    const float *value[LS__TERM_INPUTS + LS__TERMS];
    float *grad[LS__TERM_INPUTS + LS__TERMS];
    float *made[LS__TERMS]; /* where a term writes its value */
    bool has[LS__TERM_INPUTS + LS__TERMS];
    float *spare; /* a block */
} block;

/* What terms have that have constants. */
typedef struct constants {
    double by[2];
} constants;

ls__term ls__term_from(const ls_node *n, int a, int b)
{
    const constants *c = n->of;
    ls__term t = {.kind = ls__term_of(n->op), .a = a,
                  .b = n->op->inputs == 2 ? b : a};

    if (c) {
        t.by[0] = (float)c->by[0];
        t.by[1] = (float)c->by[1];
    }
    return t;
}

/* The formula of an instruction: the chain that the plan made, or its operator
 * as the only term. */
static const ls__formula *formula_of(const ls__instr *in, ls__formula *one)
{
    const ls_node *n = in->node;

    if (in->made)
        return in->made;
    one->inputs = n->op->inputs;
    one->terms = 1;
    one->term[0] = ls__term_from(n, 0, 1);
    return one;
}

/* Value and gradient of a block for each term, and one block more. */
static int formula_plan(ls__bench *b, ls__instr *in)
{
    const ls__formula *f = in->made;

    ls__bench_scratch(b, (2 * (f ? f->terms : 1) + 1) * BLOCK);
    return 0;
}

/* Lay out the memory that all blocks use. */
static block start(const ls__run *r, const ls__formula *f)
{
    block b = {.r = r, .f = f, .spare = r->scratch};
    float *next = b.spare + BLOCK;

    for (int t = 0; t < f->terms; t++, next += 2 * BLOCK) {
        b.value[f->inputs + t] = b.made[t] = next;
        b.grad[f->inputs + t] = next + BLOCK;
    }
    return b;
}

/* Move to the block at element `at` of `total`. */
static void move_to(block *b, int64_t at, int64_t total)
{
    b->at = at;
    b->n = total - at < BLOCK ? total - at : BLOCK;
    for (int k = 0; k < b->f->inputs; k++) {
        b->value[k] = (const float *)b->r->x[k] + at;
        b->grad[k] = b->r->dx[k] ? b->r->dx[k] + at : NULL;
    }
}

static ls__term_run run_of(const block *b, int t)
{
    const ls__term *term = &b->f->term[t];

    return (ls__term_run){.n = b->n, .a = b->value[term->a],
                          .b = b->value[term->b], .y = b->made[t],
                          .dy = b->grad[b->f->inputs + t]};
}

static void values(const block *b)
{
    for (int t = 0; t < b->f->terms; t++) {
        ls__term_run run = run_of(b, t);

        b->r->kernels->term_value(&b->f->term[t], &run);
    }
}

static void formula_fwd(const ls__run *r)
{
    ls__formula one;
    const ls__formula *f = formula_of(r->in, &one);
    int64_t total = r->rows * r->node->size;
    block b = start(r, f);

    for (int64_t at = 0; at < total; at += BLOCK) {
        move_to(&b, at, total);
        b.made[f->terms - 1] = r->y + at;
        values(&b);
    }
}

/* What a place's gradient is to be added to; NULL: nothing yet. */
static const float *before(const block *b, int place)
{
    if (b->has[place])
        return b->grad[place];
    return place < b->f->inputs && b->r->addend[place]
               ? b->r->addend[place] + b->at : NULL;
}

/* Give one operand of a term its share of the term's gradient. */
static void give(block *b, int t, int place, bool second)
{
    ls__term_run run = run_of(b, t);
    const float *old = before(b, place);
    float *to = old ? b->spare : b->grad[place];

    if (!b->grad[place])
        return; /* not wanted */
    run.da = second ? NULL : to;
    run.db = second ? to : NULL;
    b->r->kernels->term_grad(&b->f->term[t], &run);
    if (old)
        b->r->kernels->add(b->n, old, to, b->grad[place]);
    b->has[place] = true;
}

/* dy is copied first, since a dx may lie over it. */
static void gradients(block *b)
{
    int last = b->f->terms - 1;

    memset(b->has, 0, sizeof b->has);
    memcpy(b->grad[b->f->inputs + last], b->r->dy + b->at,
           (size_t)b->n * sizeof(float));
    for (int t = last; t >= 0; t--) {
        const ls__term *term = &b->f->term[t];

        give(b, t, term->a, false);
        if (ls__term_inputs(term->kind) == 2)
            give(b, t, term->b, true);
    }
}

static void formula_bwd(const ls__run *r)
{
    ls__formula one;
    const ls__formula *f = formula_of(r->in, &one);
    int64_t total = r->rows * r->node->size;
    block b = start(r, f);

    for (int64_t at = 0; at < total; at += BLOCK) {
        move_to(&b, at, total);
        if (r->node->op->reads)
            values(&b);
        gradients(&b);
    }
}

/* ------ the operators ------ */

/* The attributes of those that have constants. */
#define BY(in_files, i) LS__FIELD(in_files, LS__NUMBER, constants, by[i])

static const ls__attribute none[] = {{0}};
static const ls__attribute scale_shift[] = {BY("scale", 0), BY("shift", 1),
                                            {0}};
static const ls__attribute low_high[] = {BY("low", 0), BY("high", 1), {0}};
static const ls__attribute exponent[] = {BY("power", 0), {0}};
static const ls__attribute slope_of[] = {BY("slope", 0), {0}};
static const ls__attribute alpha_of[] = {BY("alpha", 0), {0}};

static int clamp_shape(ls_node *n)
{
    const constants *c = n->of;

    if (c->by[0] > c->by[1])
        return ls__fail(LS_EINVAL, "clamp \"%s\": low %g is above high %g",
                        n->name, c->by[0], c->by[1]);
    return ls__same_shape(n);
}

#define ELEMENTWISE \
    .dx_over_addend = true, .dx_over_dy = true, .plan = formula_plan, \
    .cuts = 1, .forward = formula_fwd, .backward = formula_bwd
#define OPERATOR(kind, text, count, read, rows, its_shape, type) \
    [kind] = {.name = text, .inputs = count, .reads = read, .term = kind, \
              .onnx = type, .of = sizeof(constants), .attributes = rows, \
              .shape = its_shape, ELEMENTWISE},
#define OF_UNARY(kind, function, name, reads, onnx, value, by_a) \
    OPERATOR(kind, name, 1, reads, none, ls__same_shape, onnx)
#define OF_BINARY(kind, function, name, reads, onnx, value, by_a, by_b) \
    OPERATOR(kind, name, 2, reads, none, ls__equal_shapes, onnx)
#define OF_OTHER(kind, name, inputs, reads, constants, shape, onnx, value, \
                 by_a, by_b) \
    OPERATOR(kind, name, inputs, reads, constants, shape, onnx)

const ls__op ls__op_term[LS__TERM_KINDS] = {
    LS__TERM_ROWS(OF_UNARY, OF_BINARY, OF_OTHER)};

/* A chain that the plan has made; its node says how many inputs it has. */
const ls__op ls__op_formula = {.name = "formula", .reads = ~0u, ELEMENTWISE};

int ls__term_inputs(int kind)
{
    return kind == LS__ADD || ls__op_term[kind].inputs == 2 ? 2 : 1;
}

/* ------ building ------ */

static ls_node *term(int kind, ls_node *a, ls_node *b)
{
    return ls__node_done(ls__node_unnamed(&ls__op_term[kind], a, b));
}

/* A term with constants, which must be numbers. */
static ls_node *term_by(int kind, ls_node *x, double p, double q)
{
    if (!ls__node_stands(x))
        return NULL;
    if (p != p || q != q)
        return ls__graph_failed(
            x->graph, ls__fail(LS_EINVAL, "%s \"%s\": a constant is NaN",
                               ls__op_term[kind].name, x->name));
    return ls__node_with(ls__node_unnamed(&ls__op_term[kind], x, NULL),
                         &(constants){{p, q}});
}

#define BUILD_UNARY(kind, function, ...) \
    ls_node *function(ls_node *x) \
    { \
        return term(kind, x, NULL); \
    }
#define BUILD_BINARY(kind, function, ...) \
    ls_node *function(ls_node *a, ls_node *b) \
    { \
        return term(kind, a, b); \
    }
#define BUILD_NONE(...)

LS__TERM_ROWS(BUILD_UNARY, BUILD_BINARY, BUILD_NONE)

ls_node *ls_scale_shift(ls_node *x, double scale, double shift)
{
    return term_by(LS__SCALE, x, scale, shift);
}

ls_node *ls_clamp(ls_node *x, double low, double high)
{
    return term_by(LS__CLAMP, x, low, high);
}

ls_node *ls_pow(ls_node *x, double power)
{
    return term_by(LS__POW, x, power, 0);
}

ls_node *ls_leaky_relu(ls_node *x, double slope)
{
    return term_by(LS__LEAKY_RELU, x, slope, 0);
}

ls_node *ls_elu(ls_node *x, double alpha)
{
    return term_by(LS__ELU, x, alpha, 0);
}

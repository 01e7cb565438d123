/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operators, and the chains of them that a plan makes: formulas,
 * which formula_run.c runs. */
#include "op/formula_run.h"
#include "op/layer_parts.h"
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

/* Constants of the terms that have any. */
typedef struct constants {
    double by[2];
} constants;

ls__term ls__term_from(const ls_node *n, int a, int b)
{
    const constants *c = n->of;
    ls__term t = {.kind = n->op->term, .a = a,
                  .b = n->op->inputs == 2 ? b : a};

    if (c) {
        t.by[0] = (float)c->by[0];
        t.by[1] = (float)c->by[1];
    }
    return t;
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

#define RUN(...) \
    .run = {.forward = ls__formula_forward, \
            .backward = ls__formula_backward, .cuts = 1, __VA_ARGS__}
#define OPERATOR(kind, text, count, read, rows, its_shape) \
    [kind] = {.name = text, .inputs = count, .term = kind, \
              .of = sizeof(constants), .shape = its_shape, \
              .plan = {.reads = read, .over = LS__OVER_ADDEND | LS__OVER_DY, \
                       .decide = ls__formula_plan}, \
              RUN(), .file = {.attributes = rows}},
#define OF_UNARY(kind, function, name, reads, onnx, value, by_a) \
    OPERATOR(kind, name, 1, reads, none, ls__same_shape)
#define OF_BINARY(kind, function, name, reads, onnx, value, by_a, by_b) \
    OPERATOR(kind, name, 2, reads, none, ls__equal_shapes)
#define OF_OTHER(kind, name, inputs, reads, constants, shape, onnx, value, \
                 by_a, by_b) \
    OPERATOR(kind, name, inputs, reads, constants, shape)

const ls__op ls__op_term[LS__TERM_KINDS] = {
    LS__TERM_ROWS(OF_UNARY, OF_BINARY, OF_OTHER)};

/* A chain that the plan has made; its node says its numbers of inputs and
 * parameters.  In one that is not whole, places of dx are not those of dy. */
#define CHAIN(memory) \
    {.name = "formula", \
     .plan = {.reads = ~0u, .over = memory, .decide = ls__formula_plan}, \
     RUN(.leaves_params = true), .rare = LS__RARE(.turns = ls__formula_turns)}
const ls__op ls__op_formula[2] = {CHAIN(0),
                                  CHAIN(LS__OVER_ADDEND | LS__OVER_DY)};

int ls__term_inputs(int kind)
{
    LS__ASSERT(kind > 0 && kind < LS__TERM_KINDS);
    return kind == LS__ADD || ls__op_term[kind].inputs == 2 ? 2 : 1;
}

/* ------ building ------ */

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
    LS__BUILD_UNARY(function, &ls__op_term[kind])
#define BUILD_BINARY(kind, function, ...) \
    ls_node *function(ls_node *a, ls_node *b) \
    { \
        return ls__node_done(ls__node_unnamed(&ls__op_term[kind], a, b)); \
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

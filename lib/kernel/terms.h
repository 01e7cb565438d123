/* SPDX-License-Identifier: BSD-3-Clause */
/* The elementwise operators: one row each, which is all that makes one what it
 * is.  The kinds of terms (formula.h), the kernels (k_formula.h), the operators
 * and the functions that build them (op/op_formula.c), their list
 * (op/op_table.c) and the tests walk over this table.
 *
 *     UNARY(kind, function, name, reads, onnx, value, by_a)
 *     BINARY(kind, function, name, reads, onnx, value, by_a, by_b)
 *     OTHER(kind, name, inputs, reads, constants, shape, onnx, value, by_a,
 *           by_b)
 *
 * The function of arithmetic.h, or of op/layer_parts.h, builds a node of the
 * first two; of the others a function of its own does.  The name is that in
 * files, for ever.  Bit k of reads: backward reads input k; bit 2: the value,
 * which it computes again.  onnx: what computes the same in ONNX, as
 * data/export/onnx_pieces.h has it.
 * constants: the attributes, p and q in formulas.  The value y is a formula of
 * operands a and b; by_a and by_b are what the gradient d of y gives to them.
 */
#ifndef LS_KERNEL_TERMS_H
#define LS_KERNEL_TERMS_H

/* clang-format off */
#define LS__TERM_ROWS(UNARY, BINARY, OTHER) \
    BINARY(LS__SUB, ls_sub, "sub", 0, "Sub(*)", v16_sub(a, b), d, v16_neg(d)) \
    BINARY(LS__MUL, ls_mul, "mul", 3, "Mul(*)", v16_mul(a, b), v16_mul(d, b), \
        v16_mul(d, a)) \
    BINARY(LS__DIV, ls_div, "div", 7, "Div(*)", v16_div(a, b), v16_div(d, b), \
        v16_neg(v16_div(v16_mul(d, y), b))) \
    BINARY(LS__MIN, ls_min, "min", 3, "Min(*)", lesser(a, b), \
        share(d, v16_lt(a, b), a, b), share(d, v16_lt(b, a), a, b)) \
    BINARY(LS__MAX, ls_max, "max", 3, "Max(*)", greater(a, b), \
        share(d, v16_lt(b, a), a, b), share(d, v16_lt(a, b), a, b)) \
    OTHER(LS__SCALE, "scale", 1, 0, scale_shift, ls__same_shape, \
        "Add(Mul(x0, scale), shift)", \
        v16_fma(SET(p), a, SET(q)), v16_mul(d, SET(p)), NONE) \
    UNARY(LS__SQUARE, ls_square, "square", 1, "Mul(x0, x0)", v16_mul(a, a), \
        v16_mul(d, v16_add(a, a))) \
    UNARY(LS__SQRT, ls_sqrt, "sqrt", 5, "Sqrt(*)", v16_sqrt(a), \
        v16_div(v16_mul(d, SET(0.5f)), y)) \
    UNARY(LS__EXP, ls_exp, "exp", 5, "Exp(*)", v16_exp(a), v16_mul(d, y)) \
    UNARY(LS__LOG, ls_log, "log", 1, "Log(*)", v16_log(a), v16_div(d, a)) \
    UNARY(LS__SIN, ls_sin, "sin", 1, "Sin(*)", v16_sin(a), \
        v16_mul(d, v16_cos(a))) \
    UNARY(LS__COS, ls_cos, "cos", 1, "Cos(*)", v16_cos(a), \
        v16_mul(v16_neg(d), v16_sin(a))) \
    UNARY(LS__ABS, ls_abs, "abs", 1, "Abs(*)", v16_abs(a), signed_by(d, a)) \
    OTHER(LS__CLAMP, "clamp", 1, 1, low_high, clamp_shape, \
        "Clip(x0, low, high)", \
        flushed(v16_clamp(a, p, q)), \
        v16_select(m16_and(v16_lt(SET(p), a), v16_lt(a, SET(q))), d, NONE), \
        NONE) \
    OTHER(LS__POW, "pow", 1, 1, exponent, ls__same_shape, \
        "Pow(x0, power)", power(a, p), \
        v16_mul(d, power_slope(a, p)), NONE) \
    OTHER(LS__LEAKY_RELU, "leaky_relu", 1, 1, slope_of, ls__same_shape, \
        "LeakyRelu(x0; alpha=slope)", \
        v16_select(v16_lt(a, NONE), v16_mul(SET(p), a), flushed(a)), \
        v16_select(v16_lt(a, NONE), v16_mul(SET(p), d), flushed(d)), NONE) \
    OTHER(LS__ELU, "elu", 1, 1, alpha_of, ls__same_shape, \
        "Elu(x0; alpha=alpha)", \
        v16_select(v16_lt(NONE, a), a, v16_mul(SET(p), v16_expm1(a))), \
        v16_select(v16_lt(NONE, a), d, \
                   v16_mul(d, v16_mul(SET(p), v16_exp(a)))), NONE) \
    UNARY(LS__SOFTPLUS, ls_softplus, "softplus", 1, "Softplus(*)", \
        v16_add(v16_max(NONE, a), log_tail(a)), v16_mul(d, sigmoid_of(a))) \
    UNARY(LS__SILU, ls_silu, "silu", 1, "Mul(x0, Sigmoid(x0))", \
        v16_mul(a, sigmoid_of(a)), v16_mul(d, silu_slope(a))) \
    UNARY(LS__SELU, ls_selu, "selu", 1, "Selu(*)", \
        v16_select(v16_lt(NONE, a), v16_mul(SET(SELU_SCALE), a), \
                   v16_mul(SET(SELU_BELOW), v16_expm1(a))), \
        v16_select(v16_lt(NONE, a), v16_mul(d, SET(SELU_SCALE)), \
                   v16_mul(d, v16_mul(SET(SELU_BELOW), v16_exp(a))))) \
    UNARY(LS__MISH, ls_mish, "mish", 1, "Mish(*)", v16_mul(a, mish_part(a)), \
        v16_mul(d, mish_slope(a))) \
    UNARY(LS__HARD_SWISH, ls_hard_swish, "hard_swish", 1, "HardSwish(*)", \
        v16_mul(a, v16_max(NONE, v16_min(SET(1.0f), \
                v16_fma(a, SET(0x1.555556p-3f), SET(0.5f))))), \
        v16_mul(d, v16_select(v16_lt(v16_abs(a), SET(3.0f)), \
                              v16_fma(a, SET(0x1.555556p-2f), SET(0.5f)), \
                              v16_select(v16_lt(NONE, a), SET(1.0f), NONE)))) \
    UNARY(LS__GELU_EXACT, ls_gelu_exact, "gelu_exact", 1, "Gelu(*)", \
        gelu_exact(a), \
        v16_mul(d, gelu_exact_slope(a))) \
    BINARY(LS__BINARY_ENTROPY, ls__binary_entropy, "binary_entropy", 3, \
        "Sub(Softplus(x0), Mul(x0, x1))", \
        binary_entropy(a, b), v16_mul(d, binary_entropy_slope(a, b)), \
        v16_neg(v16_mul(d, a))) \
    BINARY(LS__DIVERGENCE, ls__divergence, "divergence", 3, \
        "Mul(x1, Sub(Log(Max(x1, 0x1p-126)), x0))", \
        unless_zero(b, v16_mul(b, v16_sub(v16_log(b), a))), \
        v16_neg(v16_mul(d, b)), \
        unless_zero(b, v16_mul(d, \
                               v16_sub(v16_add(v16_log(b), SET(1.0f)), a)))) \
    BINARY(LS__LESS, ls_less, "less", 0, "Cast(Less(x0, x1); to=1)", \
        truth(v16_lt(a, b)), NONE, NONE) \
    BINARY(LS__LESS_EQUAL, ls_less_equal, "less_equal", 0, \
        "Cast(LessOrEqual(x0, x1); to=1)", truth(v16_ge(b, a)), NONE, NONE) \
    BINARY(LS__EQUAL, ls_equal, "equal", 0, "Cast(Equal(x0, x1); to=1)", \
        truth(v16_eq(a, b)), NONE, NONE) \
    BINARY(LS__KEEP, ls__keep, "keep", 2, "Where(Equal(x1, 0), -0x0p0, x0)", \
        v16_select(v16_eq(b, NONE), SET(-0.0f), flushed(a)), \
        unless_zero(b, d), NONE) \
    BINARY(LS__KEEP_ELSE, ls__keep_else, "keep_else", 2, \
        "Where(Equal(x1, 0), x0, -0x0p0)", \
        v16_select(v16_eq(b, NONE), flushed(a), SET(-0.0f)), \
        v16_select(v16_eq(b, NONE), d, NONE), NONE)
/* clang-format on */

/* All rows alike, by their kind. */
#define LS__TERMS_BY_KIND(DO) LS__TERM_ROWS(DO, DO, DO)

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic on nodes: what a unit, a loss or an attention of one's own is made
 * of.  Gradients follow by themselves.
 *
 * Elementwise operators take nodes of equal shapes and give a node of that
 * shape.  A chain of them that nothing else reads is fused into one pass over
 * memory; that changes no bit.  Every operation is rounded to float once, in
 * the order in which it is written, and results do not depend on the CPU. */
#ifndef LOCKSTEP_ARITHMETIC_H
#define LOCKSTEP_ARITHMETIC_H

#include <lockstep/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ Arithmetic ------ */

/* y = a - b. */
LS_API ls_node *ls_sub(ls_node *a, ls_node *b);

/* y = a b, element by element. */
LS_API ls_node *ls_mul(ls_node *a, ls_node *b);

/* y = a / b, element by element. */
LS_API ls_node *ls_div(ls_node *a, ls_node *b);

/* y = the lesser of a and b, NaN where either is.  Where they are equal each
 * gets half of the gradient, as in JAX. */
LS_API ls_node *ls_min(ls_node *a, ls_node *b);

/* y = the greater of a and b; otherwise as ls_min. */
LS_API ls_node *ls_max(ls_node *a, ls_node *b);

/* y = 1 where a < b, or a <= b, or a = b, else 0, as where one is NaN; there is
 * no gradient.  On such y ls_min is and, ls_max is or, 1 - y is not. */
LS_API ls_node *ls_less(ls_node *a, ls_node *b);
LS_API ls_node *ls_less_equal(ls_node *a, ls_node *b);
LS_API ls_node *ls_equal(ls_node *a, ls_node *b);

/* y = a where the condition is not 0, else b, and so are their gradients: what
 * is not chosen, NaN too, has no part in either. */
LS_API ls_node *ls_where(ls_node *condition, ls_node *a, ls_node *b);

/* y = scale x + shift, rounded once.  LS_EINVAL when a constant is NaN, here
 * and below. */
LS_API ls_node *ls_scale_shift(ls_node *x, double scale, double shift);

/* y = -x, and +0 for 0. */
LS_API ls_node *ls_neg(ls_node *x);

/* y = x x. */
LS_API ls_node *ls_square(ls_node *x);

/* y = the square root of x, NaN below 0. */
LS_API ls_node *ls_sqrt(ls_node *x);

/* y = e^x. */
LS_API ls_node *ls_exp(ls_node *x);

/* y = the natural logarithm of x: -infinity for 0, NaN below. */
LS_API ls_node *ls_log(ls_node *x);

/* y = the sine of x in radians, of any size; NaN for the infinities.  Within 2
 * units in the last place. */
LS_API ls_node *ls_sin(ls_node *x);

/* y = the cosine of x, as ls_sin. */
LS_API ls_node *ls_cos(ls_node *x);

/* y = |x|; its derivative at 0 is 0. */
LS_API ls_node *ls_abs(ls_node *x);

/* y = x within [low, high], else the nearer of the two; either may be infinite.
 * The derivative is 1 between them and 0 elsewhere, both ends included, as
 * jax.lax.clamp has it.  LS_EINVAL when low is above high.  Within [0, 6] it is
 * relu6, within [0, 1] the activation of efficiently updated game
 * evaluators. */
LS_API ls_node *ls_clamp(ls_node *x, double low, double high);

/* y = x^power.  For a whole power products alone, of any x; else
 * e^(power log x), which is NaN below 0. */
LS_API ls_node *ls_pow(ls_node *x, double power);

/* ------ More activations ------ */

/* y = x from 0 on, slope x below. */
LS_API ls_node *ls_leaky_relu(ls_node *x, double slope);

/* y = x above 0, alpha (e^x - 1) elsewhere (Clevert et al. 2016). */
LS_API ls_node *ls_elu(ls_node *x, double alpha);

/* y = log(1 + e^x), computed as max(0,x) + log(1 + e^-|x|). */
LS_API ls_node *ls_softplus(ls_node *x);

/* y = x / (1 + e^-x), also called swish: jax.nn.silu. */
LS_API ls_node *ls_silu(ls_node *x);

/* y = 1.0507 x above 0, 1.0507 1.67326 (e^x - 1) elsewhere, with more digits of
 * both (Klambauer et al. 2017): jax.nn.selu. */
LS_API ls_node *ls_selu(ls_node *x);

/* y = x tanh(log(1 + e^x)) (Misra 2019), computed as x n / (n + 2) with n =
 * e^x (e^x + 2): jax.nn.mish. */
LS_API ls_node *ls_mish(ls_node *x);

/* y = x times x/6 + 1/2 within [0, 1]; its derivative is 0 up to -3 and 1 from
 * 3 on, where it jumps (Howard et al. 2019): torch's hardswish. */
LS_API ls_node *ls_hard_swish(ls_node *x);

/* y = x/2 (1 + erf(x / sqrt 2)): torch's gelu as it is without approximate=
 * "tanh", which is ls_gelu; jax.nn.gelu(approximate=False).  Within 6 units in
 * the last place, far below 0 too, where 1 + erf would lose all digits. */
LS_API ls_node *ls_gelu_exact(ls_node *x);

/* ------ Other shapes of the same numbers ------ */

/* Axes are counted from 0, or from the end by negative numbers: -1 is the last.
 * The axis of a batch's rows is none of them. */

/* y has x's elements in their order, under another shape of the same size. */
LS_API ls_node *ls_reshape(ls_node *x, int rank, const int64_t *shape);

/* Axis k of y is axis axes[k] of x; NULL: the last two change places.
 * LS_EINVAL unless each axis stands there once. */
LS_API ls_node *ls_transpose(ls_node *x, const int *axes);

/* y is x[.., first:first+count, ..] along an axis. */
LS_API ls_node *ls_slice(ls_node *x, int axis, int64_t first, int64_t count);

/* x[0], x[1], .. one after the other along an axis; all other extents must be
 * equal.  count from 1 up. */
LS_API ls_node *ls_concat(ls_node *const *x, int count, int axis);

/* y is x broadcast to that shape, as by NumPy's broadcast_to: axes that x lacks
 * at its front, and its axes of one element, are repeated. */
LS_API ls_node *ls_broadcast_to(ls_node *x, int rank, const int64_t *shape);

/* y is x (T,..) with its first axis reversed.  lengths (NULL: none), one LS_I32
 * a row from 0 to T: only that many steps are reversed, and the others stay,
 * as ONNX's ReverseSequence has it. */
LS_API ls_node *ls_reverse(ls_node *x, ls_node *lengths);

/* ------ Reductions ------ */

/* The sum over `count` axes, which y does not have; count 0 with NULL: over
 * all, y being one number a row.  Axes that follow each other are summed in one
 * go, the last ones first. */
LS_API ls_node *ls_sum_over(ls_node *x, int count, const int *axes);

/* The mean: that sum times 1 / (elements of each sum). */
LS_API ls_node *ls_mean_over(ls_node *x, int count, const int *axes);

/* The greatest over `count` axes, NaN where one is.  Of several that are equal
 * each gets the same share of the gradient, as in JAX. */
LS_API ls_node *ls_max_over(ls_node *x, int count, const int *axes);

/* e^x / sum e^x along the last axis, shifted by its maximum first. */
LS_API ls_node *ls_softmax(ls_node *x);

/* The logarithm of that, without its loss of digits. */
LS_API ls_node *ls_log_softmax(ls_node *x);

/* ------ Products and indices ------ */

/* y = a b for each pair of matrices: a (..,m,k) and b (..,k,n) give (..,m,n).
 * Leading axes that one lacks, or has only one element of, are repeated, as
 * NumPy's matmul does. */
LS_API ls_node *ls_matmul(ls_node *a, ls_node *b);

/* y[..,j] = 1 where j is indices[..], else 0: (..) of LS_I32 below count gives
 * (..,count).  It has no gradient. */
LS_API ls_node *ls_one_hot(ls_node *indices, int64_t count);

/* y[s,..] = x[indices[s],..]: of x (n,..) the vectors that indices of any shape
 * (s) name, each below n; a vector that is named twice gets both gradients. */
LS_API ls_node *ls_gather(ls_node *x, ls_node *indices);

/* ------ Losses of arithmetic ------ */

/* The loss that is the mean of all elements of all rows of terms, any node; or
 * with weights (NULL: none), of the shape of terms, sum of weights x terms /
 * sum of weights.  Weights are data: 0 leaves a term out (an ignored label),
 * and a class's weight is put where its labels are.  Weights of rows
 * (ls_batch_set_weights) multiply both sums too.  Several heads: add what
 * ls_mean_over makes of each one's terms, scaled, and take the mean loss. */
LS_API ls_node *ls_mean_loss(ls_node *terms, ls_node *weights);

/* The mean of |y - target|. */
LS_API ls_node *ls_mean_absolute_error(ls_node *y, ls_node *target);

/* The mean of d^2 / 2 where |d| is at most delta, d = y - target, and of
 * delta (|d| - delta / 2) elsewhere: optax.huber_loss. */
LS_API ls_node *ls_huber_loss(ls_node *y, ls_node *target, double delta);

/* The mean of -t log s(x) - (1 - t) log(1 - s(x)) with s the sigmoid, x the
 * logits, t the target in [0,1]: optax.sigmoid_binary_cross_entropy. */
LS_API ls_node *ls_binary_cross_entropy(ls_node *logits, ls_node *target);

/* The sum along the last axis of t (log t - x), 0 where t is, x being
 * logarithms of probabilities (ls_log_softmax) and t the target's
 * probabilities; then its mean: optax.kl_divergence. */
LS_API ls_node *ls_kl_divergence(ls_node *log_predicted, ls_node *target);

/* The mean of (log v + (mean - target)^2 / v) / 2 with v = the variance, but
 * 1e-6 at least: torch's GaussianNLLLoss.  Below 1e-6 the variance gets no
 * gradient. */
LS_API ls_node *ls_gaussian_loss(ls_node *mean, ls_node *variance,
                                 ls_node *target);

/* Cross entropy as terms for ls_mean_loss, one for each label: logits (..,C),
 * labels (..) of LS_I32 below C give (..).  Smoothing s in [0,1) moves s of
 * the label's probability to all classes alike, as optax.smooth_labels does. */
LS_API ls_node *ls_label_terms(ls_node *logits, ls_node *labels,
                               double smoothing);

#ifdef __cplusplus
}
#endif

#endif

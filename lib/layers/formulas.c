/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic and losses made of operators: each is a formula, so that it is one
 * pass over memory and needs no gradient of its own. */
#include "base/error.h"
#include "graph/standing.h"
#include "layers/shape.h"
#include "op/layer_parts.h"

#include <lockstep/arithmetic.h>
#include <lockstep/ops.h>

ls_node *ls_neg(ls_node *x)
{
    return ls_scale_shift(x, -1, 0);
}

ls_node *ls_where(ls_node *condition, ls_node *a, ls_node *b)
{
    return ls_add(ls__keep(a, condition), ls__keep_else(b, condition));
}

/* ------ losses ------ */

ls_node *ls_mean_absolute_error(ls_node *y, ls_node *target)
{
    return ls_mean_loss(ls_abs(ls_sub(y, target)), NULL);
}

/* Huber's loss is q^2 / 2 + delta (|d| - q), with q = min(|d|, delta). */
ls_node *ls_huber_loss(ls_node *y, ls_node *target, double delta)
{
    ls_node *size = ls_abs(ls_sub(y, target));
    ls_node *q = ls_clamp(size, 0, delta);
    ls_node *line = ls_scale_shift(ls_sub(size, q), delta, 0);

    return ls_mean_loss(ls_add(ls_scale_shift(ls_square(q), 0.5, 0), line),
                        NULL);
}

/* (log v + (y - t)^2 / v) / 2 with v = max(variance, 1e-6) */
ls_node *ls_gaussian_loss(ls_node *mean, ls_node *variance, ls_node *target)
{
    ls_node *v = ls_clamp(variance, 1e-6, __builtin_inf());
    ls_node *far = ls_div(ls_square(ls_sub(mean, target)), v);

    return ls_mean_loss(ls_scale_shift(ls_add(ls_log(v), far), 0.5, 0), NULL);
}

ls_node *ls_binary_cross_entropy(ls_node *logits, ls_node *target)
{
    return ls_mean_loss(ls__binary_entropy(logits, target), NULL);
}

ls_node *ls_kl_divergence(ls_node *log_predicted, ls_node *target)
{
    ls_node *terms = ls__divergence(log_predicted, target);

    return ls_mean_loss(ls_sum_over(terms, 1, (int[]){-1}), NULL);
}

/* -sum_j t_j log softmax(x)_j with t the one-hot label, smoothed. */
ls_node *ls_label_terms(ls_node *logits, ls_node *labels, double smoothing)
{
    ls_node *log_p = ls_log_softmax(logits), *t;
    int64_t classes = log_p ? ls__last_of(log_p) : 1;

    if (log_p && !(smoothing >= 0 && smoothing < 1)) {
        ls__fail(LS_EINVAL, "label terms \"%s\": smoothing %g is not in [0,1)",
                 ls_node_name(logits), smoothing);
        return ls__graph_failed(ls__graph_of(logits), LS_EINVAL);
    }
    t = ls_scale_shift(ls_one_hot(labels, classes), smoothing - 1,
                       -smoothing / (double)classes);
    return ls_sum_over(ls_mul(t, log_p), 1, (int[]){-1});
}

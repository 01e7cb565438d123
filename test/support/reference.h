/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operator, and whole graphs of them, in double and as plainly as the
 * formulas stand: what tests compare the library to.
 *
 * test_ops.c proves these gradients by central differences of these values;
 * test_graph.c uses them on whole graphs.  Indices are doubles here too.
 * Gradients are added to what is there, so that a value with several readers
 * needs nothing special. */
#ifndef LS_TEST_REFERENCE_H
#define LS_TEST_REFERENCE_H

#include "attribute_of.h"
#include "op/conv.h"
#include "op/op_table.h"
#include "op/recurrent_layer.h"
#include "op/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ref {
    const ls_node *node;
    int64_t rows;
    const double *x[LS__MAX_INPUTS], *param[LS__MAX_PARAMS];
    const float *weights; /* losses: of rows; NULL: all 1 */
    double *y;            /* a loss: its weighted sum, one number */
    const double *dy;     /* NULL for a loss */
    double *dx[LS__MAX_INPUTS], *dparam[LS__MAX_PARAMS];
    const void *made; /* products: what they took in; NULL: nothing */
} ref;

/* The fusion in a product. */
static inline ls__product_made taken_in(const ref *r)
{
    return r->made ? *(const ls__product_made *)r->made
                   : (ls__product_made){0};
}

/* The pooling that a convolution took in; NULL: none. */
static inline const ls__window *pooling_in(const ref *r)
{
    const ls__conv_made *m = r->made;

    return m && m->pooled ? &m->pooling : NULL;
}

/* Attributes by their names in files. */
static inline int64_t groups_of(const ref *r)
{
    return integer_of(r->node, "groups");
}

static inline int64_t heads_of(const ref *r)
{
    return integer_of(r->node, "heads");
}

typedef struct reference {
    const ls__op *op;
    void (*forward)(const ref *r);
    void (*backward)(const ref *r);
} reference;

#include "reference_shapes.h"
#include "reference_terms.h"

#include "reference_sequences.h"

/* ------ activations, add ------ */

static inline double gelu_arg(double x)
{
    return sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
}

static inline double gelu_slope(double x)
{
    double t = tanh(gelu_arg(x));
    double du = sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x);

    return (1 + t) / 2 + x / 2 * (1 - t * t) * du;
}

static inline double activation_value(ls__activation kind, double x)
{
    switch (kind) {
    case LS__GELU: return x / 2 * (1 + tanh(gelu_arg(x)));
    case LS__RELU: return x > 0 ? x : 0;
    case LS__TANH: return tanh(x);
    case LS__SIGMOID: return 1 / (1 + exp(-x));
    default: return x;
    }
}

static inline double activation_slope(ls__activation kind, double x)
{
    switch (kind) {
    case LS__GELU: return gelu_slope(x);
    case LS__RELU: return x > 0;
    case LS__TANH: return 1 - tanh(x) * tanh(x);
    case LS__SIGMOID: return exp(-x) / ((1 + exp(-x)) * (1 + exp(-x)));
    default: return 1;
    }
}

static inline void ref_activation(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = activation_value(ls__activation_of(r->node->op), r->x[0][i]);
}

static inline void ref_activation_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->dx[0][i] +=
            r->dy[i] *
            activation_slope(ls__activation_of(r->node->op), r->x[0][i]);
}

static inline void ref_add(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = r->x[0][i] + r->x[1][i];
}

static inline void ref_add_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++) {
        r->dx[0][i] += r->dy[i];
        r->dx[1][i] += r->dy[i];
    }
}

/* ------ dropout, rounding to bf16 ------ */

/* The key of a dropout: what the layer has, for a call of the model. */
#define REF_ROOT ((ls_key){{3, 4}})
enum { REF_CALL = 5 };
#define REF_KEY ls_key_fold_in(REF_ROOT, REF_CALL)
#define REF_RATE 0.3
enum { REF_FIRST = 1000 }; /* the first row's number in its micro-batch */

/* Add a times what was kept, over what is the chance of it, to `to`. */
static inline void ref_drop(const ref *r, const double *a, double *to)
{
    int64_t n = r->node->size;

    for (int64_t i = 0; i < r->rows * n; i++) {
        float u;

        ls_random_uniform(REF_KEY, (uint64_t)(REF_FIRST * n + i), 1, 0, 1, &u);
        to[i] += u < (float)(1 - REF_RATE) ? a[i] / (1 - REF_RATE) : 0;
    }
}

static inline void ref_dropout(const ref *r)
{
    memset(r->y, 0, (size_t)(r->rows * r->node->size) * sizeof *r->y);
    ref_drop(r, r->x[0], r->y);
}

static inline void ref_dropout_grad(const ref *r)
{
    ref_drop(r, r->dy, r->dx[0]);
}

/* x to eight bits of mantissa; rint takes ties to even. */
static inline double bf16_value(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);

    return ldexp(rint(ldexp(mantissa, 8)), exponent - 8);
}

static inline void ref_bf16(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->y[i] = bf16_value(r->x[0][i]);
}

static inline void ref_bf16_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->dx[0][i] += bf16_value(r->dy[i]);
}

/* ------ dense, with what a plan may have folded into it ------ */

/* The place of weight (i,j). */
static inline int64_t dense_at(const ref *r, int64_t i, int64_t j)
{
    return ls__is_transposed(r->node) ? j * ls__width(r->node->in[0]) + i
                               : i * ls__width(r->node) + j;
}

static inline double dense_pre(const ref *r, int64_t v, int64_t j)
{
    int64_t in = ls__width(r->node->in[0]);
    double sum = r->node->params > 1 ? r->param[1][j] : 0;

    for (int64_t i = 0; i < in; i++)
        sum += r->x[0][v * in + i] * r->param[0][dense_at(r, i, j)];
    return sum;
}

static inline void ref_dense(const ref *r)
{
    int64_t out = ls__width(r->node);

    for (int64_t at = 0; at < r->rows * r->node->size; at++) {
        double y = dense_pre(r, at / out, at % out);

        r->y[at] = activation_value(taken_in(r).activation, y) +
                   (taken_in(r).residual ? r->x[1][at] : 0);
    }
}

static inline void ref_dense_grad(const ref *r)
{
    int64_t in = ls__width(r->node->in[0]), out = ls__width(r->node);

    for (int64_t at = 0; at < r->rows * r->node->size; at++) {
        int64_t v = at / out, j = at % out;
        double d = r->dy[at];

        if (taken_in(r).residual)
            r->dx[1][at] += d;
        if (taken_in(r).activation)
            d *= activation_slope(taken_in(r).activation, dense_pre(r, v, j));
        for (int64_t i = 0; i < in; i++) {
            r->dparam[0][dense_at(r, i, j)] += r->x[0][v * in + i] * d;
            r->dx[0][v * in + i] += r->param[0][dense_at(r, i, j)] * d;
        }
        if (r->node->params > 1)
            r->dparam[1][j] += d;
    }
}

/* ------ images: convolution (with what was folded into it), pools ------ */

/* The place of pixel (a,b) of window (i,j) in an image (h,w,c) of a row; -1:
 * outside. */
static inline int64_t pixel(const ls__window *w, int64_t row, int64_t h,
                            int64_t width, int64_t c, int64_t i, int64_t j,
                            int64_t a, int64_t b)
{
    int64_t y = i * w->sy + a * w->dy - w->top;
    int64_t x = j * w->sx + b * w->dx - w->left;

    return y < 0 || y >= h || x < 0 || x >= width
               ? -1 : ((row * h + y) * width + x) * c;
}

/* Channels of a group of a convolution, and the first of those that output o
 * sees. */
static inline int64_t group_of(const ls_node *n, int64_t o, int64_t *first)
{
    int64_t c = n->in[0]->shape[2] / ls__conv_groups(n);

    *first = o / (ls__width(n) / ls__conv_groups(n)) * c;
    return c;
}

/* Output channel o of pixel (i,j): x w + bias; or, with d, its gradients. */
static inline double conv_pre(const ref *r, int64_t row, int64_t i, int64_t j,
                              int64_t o, const double *d)
{
    const ls_node *n = r->node, *x = n->in[0];
    int64_t first, c = group_of(n, o, &first), out = ls__width(n);
    double sum = n->params > 1 ? r->param[1][o] : 0;

    for (int64_t t = 0; t < ls__window_of(n)->kh * ls__window_of(n)->kw; t++) {
        int64_t at = pixel(ls__window_of(n), row, x->shape[0], x->shape[1],
                           x->shape[2], i, j, t / ls__window_of(n)->kw,
                           t % ls__window_of(n)->kw);

        for (int64_t k = 0; at >= 0 && k < c; k++) {
            int64_t w = (t * c + k) * out + o, p = at + first + k;

            sum += r->x[0][p] * r->param[0][w];
            if (d) {
                r->dx[0][p] += *d * r->param[0][w];
                r->dparam[0][w] += *d * r->x[0][p];
            }
        }
    }
    if (d && n->params > 1)
        r->dparam[1][o] += *d;
    return sum;
}

/* The pixel (i,j) before a folded pooling that made output number at. */
static inline void conv_source(const ref *r, int64_t at, int64_t *i,
                               int64_t *j)
{
    const ls_node *n = r->node;
    int64_t o = at % n->shape[2], x = at / n->shape[2] % n->shape[1];
    int64_t y = at / n->shape[2] / n->shape[1] % n->shape[0];
    int64_t row = at / n->size;
    const ls__window *w = pooling_in(r);
    double top = -(double)INFINITY;

    *i = y;
    *j = x;
    for (int64_t t = 0; w && t < w->kh * w->kw; t++) {
        int64_t p = pixel(w, 0, ls__window_of(n)->h,
                          ls__window_of(n)->w, 1, y, x,
                          t / w->kw, t % w->kw);
        double v = p < 0 ? top : conv_pre(r, row, p / ls__window_of(n)->w,
                                          p % ls__window_of(n)->w, o, NULL);

        if (v > top) {
            top = v;
            *i = p / ls__window_of(n)->w;
            *j = p % ls__window_of(n)->w;
        }
    }
}

static inline void ref_conv(const ref *r)
{
    const ls_node *n = r->node;

    for (int64_t at = 0; at < r->rows * n->size; at++) {
        int64_t i, j;

        conv_source(r, at, &i, &j);
        r->y[at] = activation_value(taken_in(r).activation,
                                    conv_pre(r, at / n->size, i, j,
                                             at % n->shape[2], NULL)) +
                   (taken_in(r).residual ? r->x[1][at] : 0);
    }
}

static inline void ref_conv_grad(const ref *r)
{
    const ls_node *n = r->node;

    for (int64_t at = 0; at < r->rows * n->size; at++) {
        int64_t i, j, o = at % n->shape[2];
        double d = r->dy[at];

        if (taken_in(r).residual)
            r->dx[1][at] += d;
        conv_source(r, at, &i, &j);
        if (taken_in(r).activation)
            d *= activation_slope(taken_in(r).activation,
                                  conv_pre(r, at / n->size, i, j, o, NULL));
        conv_pre(r, at / n->size, i, j, o, &d);
    }
}

/* One output of a pooling: the sum of its window or, with *best, the largest
 * and where it is, the first of equals; d is added to the gradients of all. */
static inline double pooling_value(const ref *r, int64_t at, int64_t *best,
                                   double d)
{
    const ls_node *n = r->node, *x = n->in[0];
    int64_t c = n->shape[2], row = at / n->size;
    double sum = 0, top = -(double)INFINITY;

    for (int64_t t = 0; t < ls__window_of(n)->kh * ls__window_of(n)->kw; t++) {
        int64_t p = pixel(ls__window_of(n), row, x->shape[0], x->shape[1], c,
                          at / c / n->shape[1] % n->shape[0],
                          at / c % n->shape[1], t / ls__window_of(n)->kw,
                          t % ls__window_of(n)->kw) + at % c;

        if (p < at % c)
            continue;
        sum += r->x[0][p];
        if (d)
            r->dx[0][p] += d;
        if (best && r->x[0][p] > top) {
            top = r->x[0][p];
            *best = p;
        }
    }
    return best ? top : sum;
}

static inline void ref_max_pool(const ref *r)
{
    int64_t best;

    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->y[at] = pooling_value(r, at, &best, 0);
}

static inline void ref_max_pool_grad(const ref *r)
{
    int64_t best = 0;

    for (int64_t at = 0; at < r->rows * r->node->size; at++) {
        pooling_value(r, at, &best, 0);
        r->dx[0][best] += r->dy[at];
    }
}

/* The taps of an axis that count, of window i: those in the image of `in`
 * pixels, or those that do not hang over its padding. */
static inline int64_t pooling_taps(const ls__window *w, int64_t i, int64_t k,
                                   int64_t s, int64_t gap, int64_t low,
                                   int64_t in, int64_t after)
{
    int64_t n = 0;

    for (int64_t a = 0; a < k; a++) {
        int64_t at = i * s - low + a * gap;

        n += w->inside ? at >= 0 && at < in : !w->ceil || at < in + after;
    }
    return n;
}

static inline double pooling_divisor(const ref *r, int64_t at)
{
    const ls_node *n = r->node, *x = n->in[0];
    const ls__window *w = ls__window_of(n);
    int64_t c = n->shape[2], j = at / c % n->shape[1];
    int64_t i = at / c / n->shape[1] % n->shape[0];

    return (double)(pooling_taps(w, i, w->kh, w->sy, w->dy, w->top,
                                 x->shape[0], w->pixels.bottom) *
                    pooling_taps(w, j, w->kw, w->sx, w->dx, w->left,
                                 x->shape[1], w->pixels.right));
}

static inline void ref_avg_pool(const ref *r)
{
    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->y[at] = pooling_value(r, at, NULL, 0) / pooling_divisor(r, at);
}

static inline void ref_avg_pool_grad(const ref *r)
{
    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        pooling_value(r, at, NULL, r->dy[at] / pooling_divisor(r, at));
}

static inline void ref_flatten(const ref *r)
{
    memcpy(r->y, r->x[0], (size_t)(r->rows * r->node->size) * sizeof *r->y);
}

static inline void ref_flatten_grad(const ref *r)
{
    for (int64_t i = 0; i < r->rows * r->node->size; i++)
        r->dx[0][i] += r->dy[i];
}

/* ------ embed, position ------ */

static inline void ref_embed(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->y[at] = r->param[0][(int64_t)r->x[0][at / n] * n + at % n];
}

static inline void ref_embed_grad(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->dparam[0][(int64_t)r->x[0][at / n] * n + at % n] += r->dy[at];
}

/* The value of place k of a bag: 0 where there is no index. */
static inline double bag_value(const ref *r, int64_t bag, int64_t k)
{
    int64_t places = ls__width(r->node->in[0]), at = bag * places + k;
    double m = 0;

    if (r->x[0][at] < 0)
        return 0;
    if (r->node->op->inputs > 1)
        return r->x[1][at];
    for (int64_t i = 0; i < places; i++)
        m += r->x[0][bag * places + i] >= 0;
    return integer_of(r->node, "mean") ? 1 / m : 1;
}

static inline void ref_bag(const ref *r)
{
    int64_t n = ls__width(r->node), places = ls__width(r->node->in[0]);

    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->y[at] = r->node->params > 1 ? r->param[1][at % n] : 0;
    for (int64_t b = 0; b < r->rows * ls__vectors(r->node); b++)
        for (int64_t k = 0; k < places; k++) {
            int64_t row = (int64_t)r->x[0][b * places + k] * n;
            double value = bag_value(r, b, k);

            for (int64_t j = 0; j < n && row >= 0; j++)
                r->y[b * n + j] += value * r->param[0][row + j];
        }
}

static inline void ref_bag_grad(const ref *r)
{
    int64_t n = ls__width(r->node), places = ls__width(r->node->in[0]);

    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        if (r->node->params > 1)
            r->dparam[1][at % n] += r->dy[at];
    for (int64_t b = 0; b < r->rows * ls__vectors(r->node); b++)
        for (int64_t k = 0; k < places; k++) {
            int64_t row = (int64_t)r->x[0][b * places + k] * n;
            double value = bag_value(r, b, k);

            for (int64_t j = 0; j < n && row >= 0; j++) {
                r->dparam[0][row + j] += value * r->dy[b * n + j];
                if (r->node->op->inputs > 1)
                    r->dx[1][b * places + k] +=
                        r->param[0][row + j] * r->dy[b * n + j];
            }
        }
}

static inline void ref_position(const ref *r)
{
    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->y[at] = r->x[0][at] + r->param[0][at % r->node->size];
}

static inline void ref_position_grad(const ref *r)
{
    for (int64_t at = 0; at < r->rows * r->node->size; at++) {
        r->dx[0][at] += r->dy[at];
        r->dparam[0][at % r->node->size] += r->dy[at];
    }
}

static inline void ref_parameter(const ref *r)
{
    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->y[at] = r->param[0][at % r->node->size];
}

static inline void ref_parameter_grad(const ref *r)
{
    for (int64_t at = 0; at < r->rows * r->node->size; at++)
        r->dparam[0][at % r->node->size] += r->dy[at];
}

/* ------ layer norm ------ */

static inline void norm_stats(const ref *of, int64_t n, const double *x,
                              double *mean, double *r)
{
    double m = 0, var = 0;

    for (int64_t j = 0; j < n; j++)
        m += x[j] / (double)n;
    for (int64_t j = 0; j < n; j++)
        var += (x[j] - m) * (x[j] - m) / (double)n;
    *mean = m;
    *r = 1 / sqrt(var + ls__edit_number(of->node, "epsilon"));
}

static inline void ref_norm(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t v = 0; v < r->rows * ls__vectors(r->node); v++) {
        const double *x = r->x[0] + v * n;
        double mean, by;

        norm_stats(r, n, x, &mean, &by);
        for (int64_t j = 0; j < n; j++)
            r->y[v * n + j] =
                (x[j] - mean) * by * r->param[0][j] + r->param[1][j];
    }
}

static inline void ref_norm_grad(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t v = 0; v < r->rows * ls__vectors(r->node); v++) {
        const double *x = r->x[0] + v * n, *dy = r->dy + v * n;
        double mean, by, md = 0, mdx = 0;

        norm_stats(r, n, x, &mean, &by);
        for (int64_t j = 0; j < n; j++) {
            double d = dy[j] * r->param[0][j], xh = (x[j] - mean) * by;

            md += d / (double)n;
            mdx += d * xh / (double)n;
            r->dparam[0][j] += dy[j] * xh;
            r->dparam[1][j] += dy[j];
        }
        for (int64_t j = 0; j < n; j++)
            r->dx[0][v * n + j] +=
                by * (dy[j] * r->param[0][j] - md - (x[j] - mean) * by * mdx);
    }
}

/* ------ rms norm, rotary ------ */

static inline double rms_of(const ref *r, int64_t v)
{
    int64_t n = ls__width(r->node);
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += r->x[0][v * n + j] * r->x[0][v * n + j] / (double)n;
    return 1 / sqrt(sum + ls__edit_number(r->node, "epsilon"));
}

static inline void ref_rms(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t v = 0; v < r->rows * ls__vectors(r->node); v++) {
        double by = rms_of(r, v);

        for (int64_t at = v * n; at < (v + 1) * n; at++)
            r->y[at] = r->x[0][at] * by * r->param[0][at % n];
    }
}

static inline void ref_rms_grad(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t v = 0; v < r->rows * ls__vectors(r->node); v++) {
        const double *x = r->x[0] + v * n, *dy = r->dy + v * n;
        double by = rms_of(r, v), mean = 0;

        for (int64_t j = 0; j < n; j++) {
            mean += dy[j] * r->param[0][j] * x[j] * by / (double)n;
            r->dparam[0][j] += dy[j] * x[j] * by;
        }
        for (int64_t j = 0; j < n; j++)
            r->dx[0][v * n + j] +=
                by * (dy[j] * r->param[0][j] - x[j] * by * mean);
    }
}

static inline double batch_root(const ref *r, int64_t j)
{
    return sqrt(r->param[3][j] + ls__edit_number(r->node, "epsilon"));
}

static inline void ref_batch(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t at = 0; at < r->rows * r->node->size; at++) {
        int64_t j = at % n;

        r->y[at] = (r->x[0][at] - r->param[2][j]) / batch_root(r, j) *
                       r->param[0][j] + r->param[1][j];
    }
}

static inline void ref_batch_grad(const ref *r)
{
    int64_t n = ls__width(r->node);

    for (int64_t at = 0; at < r->rows * r->node->size; at++) {
        int64_t j = at % n;
        double root = batch_root(r, j), d = r->x[0][at] - r->param[2][j];
        double by = r->dy[at] * r->param[0][j] / root;

        r->dx[0][at] += by;
        r->dparam[0][j] += r->dy[at] * d / root;
        r->dparam[1][j] += r->dy[at];
        r->dparam[2][j] -= by;
        r->dparam[3][j] -= by * d / root / root / 2;
    }
}

/* The partner of element `at` of a row, and the angle that turns both. */
static inline int64_t rotary_pair(const ref *r, int64_t at, double *angle)
{
    int64_t d = r->node->shape[1] / heads_of(r), i = at % d;
    int64_t first = i < d / 2 ? i : i - d / 2;

    *angle = (double)(at / r->node->shape[1]) *
             pow(ls__edit_number(r->node, "base"),
                 -2 * (double)first / (double)d);
    return i < d / 2 ? at + d / 2 : at - d / 2;
}

static inline void rotary_turn(const ref *r, double sign, const double *x,
                               double *y)
{
    int64_t n = r->node->size;

    for (int64_t at = 0; at < r->rows * n; at++) {
        double angle;
        int64_t other = rotary_pair(r, at % n, &angle), row = at - at % n;

        y[at] += x[at] * cos(angle) +
                 x[row + other] * sign * sin(angle) *
                     (other > at % n ? -1 : 1);
    }
}

static inline void ref_rotary(const ref *r)
{
    memset(r->y, 0, (size_t)(r->rows * r->node->size) * sizeof *r->y);
    rotary_turn(r, 1, r->x[0], r->y);
}

static inline void ref_rotary_grad(const ref *r)
{
    rotary_turn(r, -1, r->dy, r->dx[0]);
}

/* ------ group norm ------ */

/* Element e of group k of a row, its channel in *channel. */
static inline int64_t group_at(const ref *r, int64_t row, int64_t k, int64_t e,
                               int64_t *channel)
{
    int64_t c = ls__width(r->node), width = c / groups_of(r);

    *channel = k * width + e % width;
    return row * r->node->size + e / width * c + *channel;
}

/* The statistics of one group, and for the gradient its two means. */
static inline void group_stats(const ref *r, int64_t row, int64_t k,
                               double s[4])
{
    int64_t n = r->node->size / groups_of(r), c;
    double *x = malloc(2 * (size_t)n * sizeof *x);

    s[0] = s[1] = s[2] = s[3] = 0;
    for (int64_t e = 0; x && e < n; e++)
        x[e] = r->x[0][group_at(r, row, k, e, &c)];
    if (x)
        norm_stats(r, n, x, &s[0], &s[1]);
    for (int64_t e = 0; x && r->dy && e < n; e++) {
        double d = r->dy[group_at(r, row, k, e, &c)];

        s[2] += d * r->param[0][c] / (double)n;
        s[3] += d * r->param[0][c] * (x[e] - s[0]) * s[1] / (double)n;
    }
    free(x);
}

static inline void ref_group(const ref *r)
{
    int64_t n = r->node->size / groups_of(r), c;

    for (int64_t v = 0; v < r->rows * groups_of(r); v++) {
        int64_t row = v / groups_of(r), k = v % groups_of(r);
        double s[4];

        group_stats(r, row, k, s);
        for (int64_t e = 0; e < n; e++) {
            int64_t at = group_at(r, row, k, e, &c);

            r->y[at] = (r->x[0][at] - s[0]) * s[1] * r->param[0][c] +
                       r->param[1][c];
        }
    }
}

static inline void ref_group_grad(const ref *r)
{
    int64_t n = r->node->size / groups_of(r), c;

    for (int64_t v = 0; v < r->rows * groups_of(r); v++) {
        int64_t row = v / groups_of(r), k = v % groups_of(r);
        double s[4];

        group_stats(r, row, k, s);
        for (int64_t e = 0; e < n; e++) {
            int64_t at = group_at(r, row, k, e, &c);
            double xh = (r->x[0][at] - s[0]) * s[1];

            r->dparam[0][c] += r->dy[at] * xh;
            r->dparam[1][c] += r->dy[at];
            r->dx[0][at] +=
                s[1] * (r->dy[at] * r->param[0][c] - s[2] - xh * s[3]);
        }
    }
}

/* ------ attention ------ */

/* The start of keys and values of a head at position s of a row. */
static inline int64_t kv_place(const ref *r, int64_t row, int64_t s,
                               int64_t head)
{
    int64_t kv = r->node->in[1]->shape[1], q = r->node->shape[1];

    return (row * r->node->shape[0] + s) * kv +
           head * kv / q * (q / heads_of(r));
}

/* One query's attention: p[s] over the positions s, and where its head lies. */
static inline void attention_row(const ref *r, int64_t row, int64_t head,
                                 int64_t t, double *p)
{
    int64_t T = r->node->shape[0], D = r->node->shape[1];
    int64_t d = D / heads_of(r);
    int64_t seen = integer_of(r->node, "causal") ? t + 1 : T;
    const double *q = r->x[0] + (row * T + t) * D + head * d;
    double top = -(double)INFINITY, sum = 0;

    memset(p, 0, (size_t)T * sizeof *p);
    for (int64_t s = 0; s < seen; s++) {
        const double *k = r->x[1] + kv_place(r, row, s, head);

        for (int64_t i = 0; i < d; i++)
            p[s] += q[i] * k[i] / sqrt((double)d);
        top = p[s] > top ? p[s] : top;
    }
    for (int64_t s = 0; s < seen; s++)
        sum += p[s] = exp(p[s] - top);
    for (int64_t s = 0; s < seen; s++)
        p[s] /= sum;
}

static inline void ref_attention(const ref *r)
{
    int64_t T = r->node->shape[0], D = r->node->shape[1];
    int64_t d = D / heads_of(r);
    double *p = malloc((size_t)T * sizeof *p);

    for (int64_t at = 0; p && at < r->rows * T * heads_of(r); at++) {
        int64_t head = at % heads_of(r), vector = at / heads_of(r);
        int64_t row = vector / T;

        attention_row(r, row, head, vector % T, p);
        for (int64_t i = head * d; i < (head + 1) * d; i++) {
            double sum = 0;

            for (int64_t s = 0; s < T; s++)
                sum += p[s] * r->x[2][kv_place(r, row, s, head) + i - head * d];
            r->y[vector * D + i] = sum;
        }
    }
    free(p);
}

/* The gradients through one query's p: to v, and, through the scores, to q and
 * k.  dp is room for T numbers. */
static inline void attention_row_grad(const ref *r, int64_t vector,
                                      int64_t head, const double *p, double *dp)
{
    int64_t T = r->node->shape[0], D = r->node->shape[1];
    int64_t d = D / heads_of(r), row = vector / T;
    int64_t own = vector * D + head * d;
    double dot = 0;

    for (int64_t s = 0; s < T; s++) {
        int64_t at = kv_place(r, row, s, head);

        dp[s] = 0;
        for (int64_t i = 0; i < d; i++) {
            dp[s] += r->dy[own + i] * r->x[2][at + i];
            r->dx[2][at + i] += p[s] * r->dy[own + i];
        }
        dot += p[s] * dp[s];
    }
    for (int64_t s = 0; s < T; s++) {
        int64_t at = kv_place(r, row, s, head);
        double ds = p[s] * (dp[s] - dot) / sqrt((double)d);

        for (int64_t i = 0; i < d; i++) {
            r->dx[0][own + i] += ds * r->x[1][at + i];
            r->dx[1][at + i] += ds * r->x[0][own + i];
        }
    }
}

static inline void ref_attention_grad(const ref *r)
{
    int64_t T = r->node->shape[0];
    double *p = malloc(2 * (size_t)T * sizeof *p);

    for (int64_t at = 0; p && at < r->rows * T * heads_of(r); at++) {
        int64_t head = at % heads_of(r), vector = at / heads_of(r);

        attention_row(r, vector / T, head, vector % T, p);
        attention_row_grad(r, vector, head, p, p + T);
    }
    free(p);
}

/* ------ losses ------ */

static inline double weight_of(const ref *r, int64_t row)
{
    return r->weights ? (double)r->weights[row] : 1;
}

static inline void ref_squared(const ref *r)
{
    int64_t n = r->node->in[0]->size;

    *r->y = 0;
    for (int64_t at = 0; at < r->rows * n; at++) {
        double d = r->x[0][at] - r->x[1][at];

        *r->y += weight_of(r, at / n) * d * d;
    }
}

static inline void ref_squared_grad(const ref *r)
{
    int64_t n = r->node->in[0]->size;

    for (int64_t at = 0; at < r->rows * n; at++) {
        double d = 2 * weight_of(r, at / n) * (r->x[0][at] - r->x[1][at]);

        r->dx[0][at] += d;
        r->dx[1][at] -= d;
    }
}

/* sum of weights x terms: of the second input, or 1. */
static inline double term_weight(const ref *r, int64_t at)
{
    return weight_of(r, at / r->node->in[0]->size) *
           (r->node->op == &ls__op_weighted_loss ? r->x[1][at] : 1);
}

static inline void ref_mean(const ref *r)
{
    *r->y = 0;
    for (int64_t at = 0; at < r->rows * r->node->in[0]->size; at++)
        *r->y += term_weight(r, at) * r->x[0][at];
}

static inline void ref_mean_grad(const ref *r)
{
    int64_t n = r->node->in[0]->size;

    for (int64_t at = 0; at < r->rows * n; at++) {
        r->dx[0][at] += term_weight(r, at);
        if (r->node->op == &ls__op_weighted_loss)
            r->dx[1][at] += weight_of(r, at / n) * r->x[0][at];
    }
}

/* Labels a row, and by how many tokens they are ahead of their logits. */
static inline int64_t ahead(const ref *r)
{
    return r->node->op == &ls__op_next_token;
}

static inline void ref_labels(const ref *r)
{
    int64_t n = ls__width(r->node->in[0]), T = r->node->in[1]->size;

    *r->y = 0;
    for (int64_t v = 0; v < r->rows * T; v++) {
        const double *x = r->x[0] + v * n;

        if (v % T + ahead(r) < T)
            *r->y += weight_of(r, v / T) *
                     (log_sum(n, x) - x[(int64_t)r->x[1][v + ahead(r)]]);
    }
}

static inline void ref_labels_grad(const ref *r)
{
    int64_t n = ls__width(r->node->in[0]), T = r->node->in[1]->size;

    for (int64_t v = 0; v < r->rows * T; v++) {
        const double *x = r->x[0] + v * n;
        double w = weight_of(r, v / T), total;

        if (v % T + ahead(r) >= T)
            continue;
        total = log_sum(n, x);
        for (int64_t j = 0; j < n; j++)
            r->dx[0][v * n + j] += w * exp(x[j] - total);
        r->dx[0][v * n + (int64_t)r->x[1][v + ahead(r)]] -= w;
    }
}

/* ------ the table ------ */

/* The reference of an operator, NULL when there is none. */
static inline const reference *reference_of(const ls__op *op)
{
    /* clang-format off */
    static const reference all[] = {
        {&ls__op_dense, ref_dense, ref_dense_grad},
        {&ls__op_embed, ref_embed, ref_embed_grad},
        {&ls__op_position, ref_position, ref_position_grad},
        {&ls__op_reverse[0], ref_reverse, ref_reverse_grad},
        {&ls__op_reverse[1], ref_reverse, ref_reverse_grad},
        {&ls__op_parameter, ref_parameter, ref_parameter_grad},
        {&ls__op_layer_norm, ref_norm, ref_norm_grad},
        {&ls__op_rms_norm, ref_rms, ref_rms_grad},
        {&ls__op_batch_norm, ref_batch, ref_batch_grad},
        {&ls__op_rotary, ref_rotary, ref_rotary_grad},
        {&ls__op_attention, ref_attention, ref_attention_grad},
        {&ls__op_gelu, ref_activation, ref_activation_grad},
        {&ls__op_relu, ref_activation, ref_activation_grad},
        {&ls__op_tanh, ref_activation, ref_activation_grad},
        {&ls__op_sigmoid, ref_activation, ref_activation_grad},
        {&ls__op_add, ref_add, ref_add_grad},
        {&ls__op_conv, ref_conv, ref_conv_grad},
        {&ls__op_max_pool, ref_max_pool, ref_max_pool_grad},
        {&ls__op_avg_pool, ref_avg_pool, ref_avg_pool_grad},
        {&ls__op_flatten, ref_flatten, ref_flatten_grad},
        {&ls__op_group_norm, ref_group, ref_group_grad},
        {&ls__op_squared_error, ref_squared, ref_squared_grad},
        {&ls__op_cross_entropy, ref_labels, ref_labels_grad},
        {&ls__op_next_token, ref_labels, ref_labels_grad},
        {&ls__op_dropout, ref_dropout, ref_dropout_grad},
        {&ls__op_round_bf16, ref_bf16, ref_bf16_grad},
        {&ls__op_reshape, ref_moved, ref_moved_grad},
        {&ls__op_transpose, ref_moved, ref_moved_grad},
        {&ls__op_slice, ref_moved, ref_moved_grad},
        {&ls__op_broadcast, ref_moved, ref_moved_grad},
        {&ls__op_concat, ref_moved, ref_moved_grad},
        {&ls__op_sum, ref_sum, ref_sum_grad},
        {&ls__op_max_over, ref_top, ref_top_grad},
        {&ls__op_softmax, ref_softmax, ref_softmax_grad},
        {&ls__op_log_softmax, ref_softmax, ref_softmax_grad},
        {&ls__op_matmul, ref_matmul, ref_matmul_grad},
        {&ls__op_one_hot, ref_one_hot, ref_none},
        {&ls__op_gather, ref_gather, ref_gather_grad},
        {&ls__op_sparse_dense, ref_bag, ref_bag_grad},
        {&ls__op_sparse_dense_values, ref_bag, ref_bag_grad},
        {&ls__op_embed_bag, ref_bag, ref_bag_grad},
        {&ls__op_mean_loss, ref_mean, ref_mean_grad},
        {&ls__op_weighted_loss, ref_mean, ref_mean_grad}};
    /* clang-format on */

    static const reference recurrent = {NULL, ref_recurrent,
                                        ref_recurrent_grad};
    static const reference term = {NULL, ref_term, ref_term_grad};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].op == op)
            return &all[i];
    if (ls__recurrent_kind(op))
        return &recurrent;
    return op->term > LS__ADD ? &term : NULL;
}

#endif

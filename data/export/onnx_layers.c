/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with parameters, images and attention in ONNX, which has channels
 * before pixels; lockstep has them after, so what looks at images is transposed
 * and back. */
#include "export/onnx_pieces.h"

#include <math.h>
#include <string.h>

/* ------ products ------ */

static const char *dense(ls__onnx *o, const ls__net_node *n)
{
    static const char *const text[2][2] = {
        {"MatMul(x0, v0)", "Add(MatMul(x0, v0), p1)"},
        {"MatMul(x0, Transpose(v0; perm=[1, 0]))",
         "Add(MatMul(x0, Transpose(v0; perm=[1, 0])), p1)"}};
    int64_t in = ls__net_width(n->in[0]), out = ls__net_width(n);
    ls__onnx_shape plain = {2, {in, out}}, other = {2, {out, in}};
    bool turned = n->is_transposed;
    const char *w = ls__onnx_param(o, n, 0, turned ? &other : &plain);

    return ls__onnx_text_of(o, n, text[turned][n->params > 1], &w, NULL);
}

/* ------ images ------ */

/* A window over an image is a text's integers, with one more. */
enum { MORE = LS__WINDOW, INTEGERS };
#define IMAGE "Transpose(x0; perm=[0, 3, 1, 2])"
#define OF_WINDOW \
    "dilations=[i0, i1], kernel_shape=[i2, i3], strides=[i4, i5], " \
    "pads=[i6, i7, i8, i9]"
#define LAST "; perm=[0, 2, 3, 1])"

/* Weights (height,width,in,out) as (out,in,height,width). */
static const char *kernel_outputs_first(ls__onnx *o, const ls__net_node *n)
{
    const ls_entry *p = &n->param[0]->of;
    const float *from = p->data;
    int64_t taps = p->shape[0] * p->shape[1], in = p->shape[2];
    int64_t out = p->shape[3];
    ls__onnx_shape shape = {4, {out, in, p->shape[0], p->shape[1]}};
    float *w;

    if (ls__onnx_is_there(o, n->param[0]))
        return p->name;
    if (!(w = ls__onnx_room(o, p->elements, sizeof *w)))
        return "";
    for (int64_t t = 0; t < taps; t++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t k = 0; k < out; k++)
                w[(k * in + i) * taps + t] = from[(t * in + i) * out + k];
    return ls__onnx_floats(o, p->name, shape, w);
}

static const char *conv(ls__onnx *o, const ls__net_node *n)
{
    static const char *const text[] = {
        "Transpose(Conv(" IMAGE ", v0; " OF_WINDOW ", group=i10)" LAST,
        "Transpose(Conv(" IMAGE ", v0, p1; " OF_WINDOW ", group=i10)" LAST};
    const char *kernel = kernel_outputs_first(o, n);
    int64_t w[INTEGERS];

    ls__net_window(n, w);
    w[MORE] = ls__net_integer_or(n, "groups", 1);
    return ls__onnx_text_of(o, n, text[n->params > 1], &kernel, w);
}

/* ONNX Runtime takes no padding as wide as a window's taps (fewer than the
 * pixels that a dilated window covers): such padding is written out. */
static const char *max_pool(ls__onnx *o, const ls__net_node *n)
{
    int64_t w[INTEGERS];
    bool wide = false;
    const char *x;

    ls__net_window(n, w);
    for (int i = 0; i < 4; i++)
        wide |= w[LS__PADS + i] >= w[LS__TAPS + i % 2];
    x = ls__onnx_text_of(
        o, n, wide ? "Pad(" IMAGE ", [0, 0, i6, i7, 0, 0, i8, i9], -inf)"
                   : IMAGE, NULL, w);
    if (wide)
        memset(w + LS__PADS, 0, 4 * sizeof *w);
    return ls__onnx_text_of(o, n, "Transpose(MaxPool(v0; " OF_WINDOW
                            ")" LAST, &x, w);
}

/* The padding that a mean counts where windows hang over is written out: what
 * they divide by is what they hold then. */
static const char *avg_pool(ls__onnx *o, const ls__net_node *n)
{
    bool inside = ls__net_integer(n, "inside");
    bool held = ls__net_integer(n, "ceil") && !inside;
    const int64_t end[] = {ls__net_integer(n, "bottom"),
                           ls__net_integer(n, "right")};
    int64_t w[INTEGERS];
    const char *x;

    ls__net_window(n, w);
    x = ls__onnx_text_of(
        o, n, held ? "Pad(" IMAGE ", [0, 0, i6, i7, 0, 0, bottom, right])"
                   : IMAGE, NULL, w);
    for (int i = 0; i < 2 && held; i++) {
        int64_t left = w[LS__PADS + 2 + i] - end[i];

        w[LS__PADS + i] = 0;
        w[LS__PADS + 2 + i] = left > 0 ? left : 0;
    }
    w[MORE] = !inside && !held;
    return ls__onnx_text_of(o, n, "Transpose(AveragePool(v0; " OF_WINDOW
                            ", count_include_pad=i10)" LAST, &x, w);
}

/* ------ norms ------ */

/* Groups become the channels of an InstanceNormalization, which knows no
 * others; scale and bias follow, by channel. */
static const char *group_norm(ls__onnx *o, const ls__net_node *n)
{
    int64_t c = ls__net_width(n), pixels = ls__net_vectors(n);
    int64_t g = ls__net_integer(n, "groups");
    ls__onnx_shape shape = {1, {g}};
    const char *const in[] = {ls__onnx_equal_floats(o, shape, 1),
                              ls__onnx_equal_floats(o, shape, 0)};

    return ls__onnx_text_of(
        o, n, "Add(Mul(Reshape(Transpose(Reshape(InstanceNormalization(Reshape("
              "Transpose(Reshape(x0, [0, i0, i1]); perm=[0, 2, 1]), [0, groups,"
              " i2]), v0, v1; epsilon=epsilon), [0, i1, i0]); perm=[0, 2, 1]), "
              "[0, shape]), p0), p1)", in,
        (int64_t[]){pixels, c, c / g * pixels});
}

/* Channels second, as everything is called there. */
static const char *batch_norm(ls__onnx *o, const ls__net_node *n)
{
    return ls__onnx_text(
        o, n, n->rank == 1
                  ? "BatchNormalization(x0, p0, p1, p2, p3; epsilon=epsilon)"
                  : "Transpose(BatchNormalization(Transpose(x0; perm=[0, rank, "
                    "1..rank+-1]), p0, p1, p2, p3; epsilon=epsilon); perm=[0, "
                    "2..rank+-1, 1])");
}

static int64_t heads_of(const ls__net_node *n)
{
    return ls__net_integer(n, "heads");
}

/* (T,1,D/heads): cosines, or sines with the first half negated. */
static const char *rotary_factors(ls__onnx *o, const ls__net_node *n,
                                  bool sines)
{
    int64_t t = n->shape[0], d = n->shape[1] / heads_of(n), h = d / 2;
    double base = (double)(float)ls__net_number(n, "base");
    float *f = ls__onnx_room(o, t * d, sizeof *f);

    for (int64_t j = 0; f && j < d; j++) {
        float power = (float)(2 * (j % h)) / (float)d;
        float by = 1.0f / (float)pow(base, (double)power);

        for (int64_t i = 0; i < t; i++) {
            double angle = (double)((float)i * by);

            f[i * d + j] = (float)(!sines  ? cos(angle)
                                   : j < h ? -sin(angle)
                                           : sin(angle));
        }
    }
    return f ? ls__onnx_floats(o, NULL, (ls__onnx_shape){3, {t, 1, d}}, f) : "";
}

/* x cosines + (second half, first half) sines */
static const char *rotary(ls__onnx *o, const ls__net_node *n)
{
    int64_t d = n->shape[1] / heads_of(n);
    const int64_t of[] = {n->shape[0], heads_of(n), d, d / 2};
    const char *in[] = {
        ls__onnx_text_of(o, n, "Reshape(x0, [0, i0, i1, i2])", NULL, of),
        rotary_factors(o, n, false), rotary_factors(o, n, true)};

    return ls__onnx_text_of(
        o, n, "Reshape(Add(Mul(v0, v1), Mul(Concat(Slice(v0, [i3], [i2], [3]), "
              "Slice(v0, [0], [i3], [3]); axis=3), v2)), [0, shape])", in, of);
}

/* ------ bags ------ */

/* The values (..,1,K) of a bag's places, 0 where there is no index, times the
 * rows (..,K,n) of the table. */
static const char *bag(ls__onnx *o, const ls__net_node *n)
{
    const ls__net_node *x = n->in[0];
    int64_t of[LS_MAX_RANK + 2] = {x->rank};
    const char *in[4] = {ls__onnx_text(o, n, "Cast(x0; to=7)")}, *y;

    in[1] = ls__onnx_of(o, "Cast(GreaterOrEqual(v0, [0]); to=1)", in[0]);
    if (n->inputs > 1)
        in[1] = ls__onnx_text_of(o, n, "Mul(v1, x1)", in, NULL);
    else if (ls__net_integer(n, "mean"))
        in[1] = ls__onnx_text_of(o, n, "Div(v1, Max(ReduceSum(v1, [i0]), "
                                 "Cast([1]; to=1)))", in, of);
    in[2] = ls__onnx_text_of(o, n, "Gather(p0, Max(v0, [0]))", in, NULL);
    of[0] = 0;
    memcpy(of + 1, x->shape, (size_t)x->rank * sizeof *of);
    of[x->rank] = 1;
    of[x->rank + 1] = ls__net_width(x);
    in[3] = ls__onnx_integers(o, x->rank + 2, of);
    y = ls__onnx_text_of(o, n, "Reshape(MatMul(Reshape(v1, v3), v2), "
                         "[0, shape])", in, NULL);
    return n->params > 1 ? ls__onnx_text_of(o, n, "Add(v0, p1)", &y, NULL) : y;
}

/* ------ attention ------ */

/* (T,T): 0 where a position may look, -infinity where it may not. */
static const char *causal_mask(ls__onnx *o, int64_t t)
{
    float *mask = ls__onnx_room(o, t * t, sizeof *mask);

    for (int64_t i = 0; mask && i < t; i++)
        for (int64_t k = i + 1; k < t; k++)
            mask[i * t + k] = -__builtin_inff();
    return mask ? ls__onnx_floats(o, NULL, (ls__onnx_shape){2, {t, t}}, mask)
                : "";
}

/* Input k, (rows,T,D), as (rows,heads,T,D/heads), or of keys with the last two
 * exchanged; keys and values once for every query head of their group. */
static const char *heads(ls__onnx *o, const ls__net_node *n, int k)
{
    int64_t t = n->shape[0], all = heads_of(n), d = n->shape[1] / all;
    int64_t of = n->in[k]->shape[1] / d, a = k == 1 ? d : t, b = k == 1 ? t : d;
    const int64_t i[] = {t, of, d, all, all / of, a, b};
    const char *x = ls__onnx_input(o, n, k);

    x = ls__onnx_text_of(o, n, k == 1
                         ? "Transpose(Reshape(v0, [0, i0, i1, i2]); "
                           "perm=[0, 2, 3, 1])"
                         : "Transpose(Reshape(v0, [0, i0, i1, i2]); "
                           "perm=[0, 2, 1, 3])", &x, i);
    return of == all ? x : ls__onnx_text_of(
        o, n, "Reshape(Expand(Reshape(v0, [0, i1, 1, i5, i6]), [1, i1, i4, i5, "
              "i6]), [0, i3, i5, i6])", &x, i);
}

static const char *attention(ls__onnx *o, const ls__net_node *n)
{
    float d = (float)(n->shape[1] / heads_of(n));
    const char *in[] = {heads(o, n, 0), heads(o, n, 1), heads(o, n, 2),
                        ls__onnx_equal_floats(o, (ls__onnx_shape){0},
                                              1 / __builtin_sqrtf(d))};

    in[0] = ls__onnx_text_of(o, n, "Mul(MatMul(v0, v1), v3)", in, NULL);
    if (ls__net_integer(n, "causal")) {
        in[1] = causal_mask(o, n->shape[0]);
        in[0] = ls__onnx_text_of(o, n, "Add(v0, v1)", in, NULL);
    }
    return ls__onnx_text_of(
        o, n, "Reshape(Transpose(MatMul(Softmax(v0; axis=3), v2); perm=[0, 2, "
              "1, 3]), [0, shape])", in, NULL);
}

/* ------ all of them ------ */

const ls__onnx_row ls__onnx_layers[] = {
    {"dense", NULL, dense},         {"conv2d", NULL, conv},
    {"max_pool", NULL, max_pool},   {"avg_pool", NULL, avg_pool},
    {"group_norm", NULL, group_norm}, {"batch_norm", NULL, batch_norm},
    {"rotary", NULL, rotary},       {"attention", NULL, attention},
    {"sparse_dense sparse_dense_values embed_bag", NULL, bag},
    {NULL, NULL, NULL}};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators with parameters, images and attention in ONNX, which has channels
 * before pixels; lockstep has them after, so what looks at images is transposed
 * and back. */
#include "export/onnx_pieces.h"

#include <math.h>
#include <string.h>

static const int64_t channels_first[] = {0, 3, 1, 2};
static const int64_t channels_last[] = {0, 2, 3, 1};

/* ------ products ------ */

static const char *dense(ls__onnx *o, const ls__net_node *n)
{
    int64_t in = ls__net_width(n->in[0]), out = ls__net_width(n);
    ls__onnx_shape plain = {2, {in, out}}, other = {2, {out, in}};
    bool transposed = n->is_transposed;
    const char *w = ls__onnx_param(o, n, 0, transposed ? &other : &plain),
               *y;

    if (transposed)
        w = ls__onnx_transpose(o, w, 2, (const int64_t[]){1, 0});
    y = ls__onnx_two(o, "MatMul", ls__onnx_input(o, n, 0), w);

    return n->params > 1
               ? ls__onnx_two(o, "Add", y, ls__onnx_param(o, n, 1, NULL))
                   : y;
}

/* Pixels of padding before and behind along axis 0 or 1. */
static void pad(const ls__net_node *n, int axis, int64_t reach, int64_t stride,
                int64_t *before, int64_t *behind)
{
    int64_t in = n->in[0]->shape[axis];
    int64_t missing = (n->shape[axis] - 1) * stride + reach - in;

    *before = 0;
    if (ls__net_says(n, "padding", "explicit"))
        *before = ls__net_integer(n, axis ? "left" : "top");
    else if (ls__net_says(n, "padding", "causal"))
        *before = reach - 1;
    else if (ls__net_says(n, "padding", "same") && missing > 0)
        *before = missing / 2;
    *behind = missing > *before ? missing - *before : 0;
}

/* A window over an image: pixels of size, stride, dilation and padding. */
typedef struct window {
    int64_t size[2], stride[2], gap[2], pads[4];
} window;

static window window_of(const ls__net_node *n)
{
    window w = {
        {ls__net_integer(n, "height"), ls__net_integer(n, "width")},
        {ls__net_integer(n, "stride_y"), ls__net_integer(n, "stride_x")},
        {ls__net_integer_or(n, "dilation_y", 1),
         ls__net_integer_or(n, "dilation_x", 1)}, {0}};

    for (int i = 0; i < 2; i++)
        pad(n, i, (w.size[i] - 1) * w.gap[i] + 1, w.stride[i], &w.pads[i],
            &w.pads[2 + i]);
    return w;
}

static void put_window(ls__proto *list, const window *w)
{
    ls__onnx_attribute_ints(list, "dilations", 2, w->gap);
    ls__onnx_attribute_ints(list, "kernel_shape", 2, w->size);
    ls__onnx_attribute_ints(list, "strides", 2, w->stride);
    ls__onnx_attribute_ints(list, "pads", 4, w->pads);
}

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
    if (!(w = ls__arena_new(&o->arena, (size_t)p->elements, sizeof *w))) {
        o->out.failed = true;
        return "";
    }
    for (int64_t t = 0; t < taps; t++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t k = 0; k < out; k++)
                w[(k * in + i) * taps + t] = from[(t * in + i) * out + k];
    return ls__onnx_floats(o, p->name, shape, w);
}

static const char *conv(ls__onnx *o, const ls__net_node *n)
{
    const char *x =
        ls__onnx_transpose(o, ls__onnx_input(o, n, 0), 4, channels_first);
    const char *in[] = {x, kernel_outputs_first(o, n),
                        n->params > 1 ? ls__onnx_param(o, n, 1, NULL) : NULL};
    window w = window_of(n);
    ls__proto list = {0};

    put_window(&list, &w);
    ls__onnx_attribute_int(&list, "group", ls__net_integer_or(n, "groups", 1));
    x = ls__onnx_call(o, "Conv", n->params > 1 ? 3 : 2, in, &list);
    return ls__onnx_transpose(o, x, 4, channels_last);
}

static const char *pooled(ls__onnx *o, const char *x, const char *type,
                          ls__proto *list)
{
    return ls__onnx_transpose(o, ls__onnx_call(o, type, 1, &x, list), 4,
                              channels_last);
}

/* ONNX Runtime takes no padding as wide as a window's taps (fewer than the
 * pixels that a dilated window covers): such padding is written out. */
static const char *surrounded(ls__onnx *o, const char *x, window *w)
{
    const float least = -INFINITY;
    int64_t with[] = {0, 0, w->pads[0], w->pads[1],
                      0, 0, w->pads[2], w->pads[3]};
    bool wide = false;
    const char *in[] = {x, NULL, NULL};
    ls__proto none = {0};

    for (int i = 0; i < 4; i++)
        wide |= w->pads[i] >= w->size[i % 2];
    if (!wide)
        return x;
    memset(w->pads, 0, sizeof w->pads);
    in[1] = ls__onnx_integers(o, 8, with);
    in[2] = ls__onnx_floats(o, NULL, (ls__onnx_shape){0, {0}}, &least);
    return ls__onnx_call(o, "Pad", 3, in, &none);
}

static const char *max_pool(ls__onnx *o, const ls__net_node *n)
{
    const char *x =
        ls__onnx_transpose(o, ls__onnx_input(o, n, 0), 4, channels_first);
    window w = window_of(n);
    ls__proto list = {0};

    x = surrounded(o, x, &w);
    put_window(&list, &w);
    return pooled(o, x, "MaxPool", &list);
}

/* The padding that a mean counts where windows hang over, written out: what
 * they divide by is what they hold then. */
static const char *padded(ls__onnx *o, const ls__net_node *n, const char *x,
                          window *w)
{
    int64_t with[] = {0, 0, w->pads[0], w->pads[1], 0, 0,
                      ls__net_integer(n, "bottom"),
                      ls__net_integer(n, "right")};
    const char *in[] = {x, ls__onnx_integers(o, 8, with)};
    ls__proto none = {0};

    for (int i = 0; i < 2; i++) {
        int64_t left = w->pads[2 + i] - with[6 + i];

        w->pads[i] = 0;
        w->pads[2 + i] = left > 0 ? left : 0;
    }
    return ls__onnx_call(o, "Pad", 2, in, &none);
}

static const char *avg_pool(ls__onnx *o, const ls__net_node *n)
{
    bool inside = ls__net_integer(n, "inside");
    bool held = ls__net_integer(n, "ceil") && !inside;
    const char *x =
        ls__onnx_transpose(o, ls__onnx_input(o, n, 0), 4, channels_first);
    window w = window_of(n);
    ls__proto list = {0};

    if (held)
        x = padded(o, n, x, &w);
    put_window(&list, &w);
    ls__onnx_attribute_int(&list, "count_include_pad", !inside && !held);
    return pooled(o, x, "AveragePool", &list);
}

/* ------ tables, norms ------ */

/* The name of a value that tells the number of rows: the model's input. */
static const char *rows_of(ls__onnx *o)
{
    const ls__net *g = o->graph;
    int i = 0;

    while (g->node[i].op || !o->name[i])
        i++;
    return *o->name[i] ? o->name[i] : g->node[i].name;
}

/* A parameter in every row. */
static const char *parameter(ls__onnx *o, const ls__net_node *n)
{
    const char *x = rows_of(o), *to[2];
    ls__proto first = {0}, axis = {0};

    ls__onnx_attribute_int(&first, "end", 1);
    to[0] = ls__onnx_call(o, "Shape", 1, &x, &first);
    to[1] = ls__onnx_integers(o, n->rank, n->shape);
    ls__onnx_attribute_int(&axis, "axis", 0);
    return ls__onnx_two(o, "Expand", ls__onnx_param(o, n, 0, NULL),
                        ls__onnx_call(o, "Concat", 2, to, &axis));
}

/* Groups become the channels of an InstanceNormalization, which knows no
 * others; scale and bias follow, by channel. */
static const char *group_norm(ls__onnx *o, const ls__net_node *n)
{
    int64_t c = ls__net_width(n), pixels = ls__net_vectors(n);
    int64_t g = ls__net_integer(n, "groups");
    const int64_t swap[] = {0, 2, 1};
    const char *x = ls__onnx_reshape(o, ls__onnx_input(o, n, 0), 3,
                                     (int64_t[]){0, pixels, c});
    const char *in[3];
    ls__proto list = {0};

    x = ls__onnx_transpose(o, x, 3, swap);
    in[0] = ls__onnx_reshape(o, x, 3, (int64_t[]){0, g, c / g * pixels});
    in[1] = ls__onnx_equal_floats(o, (ls__onnx_shape){1, {g}}, 1);
    in[2] = ls__onnx_equal_floats(o, (ls__onnx_shape){1, {g}}, 0);
    ls__onnx_attribute_float(&list, "epsilon", ls__net_epsilon(n));
    x = ls__onnx_call(o, "InstanceNormalization", 3, in, &list);
    x = ls__onnx_transpose(
        o, ls__onnx_reshape(o, x, 3, (int64_t[]){0, c, pixels}), 3, swap);
    x = ls__onnx_two(o, "Mul", ls__onnx_shaped_as(o, x, n),
                     ls__onnx_param(o, n, 0, NULL));
    return ls__onnx_two(o, "Add", x, ls__onnx_param(o, n, 1, NULL));
}

/* Channels second, as everything is called there. */
static const char *batch_norm(ls__onnx *o, const ls__net_node *n)
{
    int64_t first[LS_MAX_RANK + 1] = {0}, last[LS_MAX_RANK + 1] = {0};
    const char *in[] = {ls__onnx_input(o, n, 0), ls__onnx_param(o, n, 0, NULL),
                        ls__onnx_param(o, n, 1, NULL),
                        ls__onnx_param(o, n, 2, NULL),
                        ls__onnx_param(o, n, 3, NULL)};
    ls__proto list = {0};
    const char *y;

    for (int k = 1; k <= n->rank; k++) {
        first[k] = k == 1 ? n->rank : k - 1;
        last[k] = k == n->rank ? 1 : k + 1;
    }
    if (n->rank > 1)
        in[0] = ls__onnx_transpose(o, in[0], n->rank + 1, first);
    ls__onnx_attribute_float(&list, "epsilon", ls__net_epsilon(n));
    y = ls__onnx_call(o, "BatchNormalization", 5, in, &list);
    return n->rank > 1 ? ls__onnx_transpose(o, y, n->rank + 1, last) : y;
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
    float *f = ls__arena_new(&o->arena, (size_t)(t * d), sizeof *f);

    o->out.failed |= !f;
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

/* Elements from `from` to `to` of the last of four axes. */
static const char *part_of(ls__onnx *o, const char *x, int64_t from, int64_t to)
{
    const int64_t axis = 3;
    const char *in[] = {x, ls__onnx_integers(o, 1, &from),
                        ls__onnx_integers(o, 1, &to),
                        ls__onnx_integers(o, 1, &axis)};

    return ls__onnx_call(o, "Slice", 4, in, NULL);
}

/* x cosines + (second half, first half) sines */
static const char *rotary(ls__onnx *o, const ls__net_node *n)
{
    int64_t heads = heads_of(n), d = n->shape[1] / heads;
    const char *x = ls__onnx_reshape(o, ls__onnx_input(o, n, 0), 4,
                                     (int64_t[]){0, n->shape[0], heads, d});
    const char *in[] = {part_of(o, x, d / 2, d), part_of(o, x, 0, d / 2)}, *y;
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "axis", 3);
    y = ls__onnx_two(o, "Mul", ls__onnx_call(o, "Concat", 2, in, &list),
                     rotary_factors(o, n, true));
    x = ls__onnx_two(o, "Mul", x, rotary_factors(o, n, false));
    return ls__onnx_shaped_as(o, ls__onnx_two(o, "Add", x, y), n);
}

/* ------ bags ------ */

/* The values of a bag's places, 0 where there is no index. */
static const char *bag_values(ls__onnx *o, const ls__net_node *n,
                              const char *index, const char *zero)
{
    static const float one = 1;
    const char *there = ls__onnx_cast(
        o, ls__onnx_two(o, "GreaterOrEqual", index, zero), LS__ONNX_FLOAT);
    const char *in[2] = {there};
    int64_t axis = n->in[0]->rank;

    if (n->inputs > 1)
        return ls__onnx_two(o, "Mul", there, ls__onnx_input(o, n, 1));
    if (!ls__net_integer(n, "mean"))
        return there;
    in[1] = ls__onnx_integers(o, 1, &axis);
    return ls__onnx_two(
        o, "Div", there,
        ls__onnx_two(o, "Max", ls__onnx_call(o, "ReduceSum", 2, in, NULL),
                     ls__onnx_floats(o, NULL, (ls__onnx_shape){1, {1}}, &one)));
}

/* The values (..,1,K) times the rows (..,K,n) of the table. */
static const char *bag(ls__onnx *o, const ls__net_node *n)
{
    static const int64_t none = 0;
    const ls__net_node *x = n->in[0];
    const char *index =
                   ls__onnx_cast(o, ls__onnx_input(o, n, 0), LS__ONNX_INT64),
               *rows, *y;
    const char *zero = ls__onnx_integers(o, 1, &none);
    int64_t shape[LS_MAX_RANK + 2] = {0};

    rows = ls__onnx_two(o, "Gather", ls__onnx_param(o, n, 0, NULL),
                        ls__onnx_two(o, "Max", index, zero));
    memcpy(shape + 1, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = 1;
    shape[x->rank + 1] = ls__net_width(x);
    y = ls__onnx_reshape(o, bag_values(o, n, index, zero), x->rank + 2, shape);
    y = ls__onnx_shaped_as(o, ls__onnx_two(o, "MatMul", y, rows), n);
    return n->params > 1
               ? ls__onnx_two(o, "Add", y, ls__onnx_param(o, n, 1, NULL))
               : y;
}

/* ------ attention ------ */

/* (rows,T,D) as (rows,heads,T,D/heads), or with the last two exchanged. */
static const char *heads(ls__onnx *o, const ls__net_node *n, int k,
                         bool exchanged)
{
    const int64_t plain[] = {0, 2, 1, 3}, other[] = {0, 2, 3, 1};
    int64_t t = n->shape[0], d = n->shape[1] / heads_of(n);
    const char *x =
        ls__onnx_reshape(o, ls__onnx_input(o, n, k), 4,
                         (int64_t[]){0, t, n->in[k]->shape[1] / d, d});

    return ls__onnx_transpose(o, x, 4, exchanged ? other : plain);
}

/* (T,T): 0 where a position may look, -infinity where it may not. */
static const char *causal_mask(ls__onnx *o, int64_t t)
{
    float *mask = ls__arena_new(&o->arena, (size_t)(t * t), sizeof *mask);

    o->out.failed |= !mask;
    for (int64_t i = 0; mask && i < t; i++)
        for (int64_t k = i + 1; k < t; k++)
            mask[i * t + k] = -__builtin_inff();
    return mask ? ls__onnx_floats(o, NULL, (ls__onnx_shape){2, {t, t}}, mask)
                : "";
}

/* Keys or values: each head is there once for every query head of its group. */
static const char *shared_heads(ls__onnx *o, const ls__net_node *n, int k,
                                bool exchanged)
{
    int64_t t = n->shape[0], d = n->shape[1] / heads_of(n);
    int64_t of = n->in[k]->shape[1] / d, each = heads_of(n) / of;
    int64_t a = exchanged ? d : t, b = exchanged ? t : d;
    const char *x = heads(o, n, k, exchanged);
    const int64_t to[] = {1, of, each, a, b};

    if (each == 1)
        return x;
    x = ls__onnx_reshape(o, x, 5, (int64_t[]){0, of, 1, a, b});
    x = ls__onnx_two(o, "Expand", x, ls__onnx_integers(o, 5, to));
    return ls__onnx_reshape(o, x, 4, (int64_t[]){0, heads_of(n), a, b});
}

static const char *attention(ls__onnx *o, const ls__net_node *n)
{
    const int64_t plain[] = {0, 2, 1, 3};
    float d = (float)(n->shape[1] / heads_of(n));
    const char *p = ls__onnx_two(o, "MatMul", heads(o, n, 0, false),
                                 shared_heads(o, n, 1, true));
    ls__proto list = {0};

    p = ls__onnx_two(o, "Mul", p,
                     ls__onnx_equal_floats(o, (ls__onnx_shape){0},
                                           1 / __builtin_sqrtf(d)));
    if (ls__net_integer(n, "causal"))
        p = ls__onnx_two(o, "Add", p, causal_mask(o, n->shape[0]));
    ls__onnx_attribute_int(&list, "axis", 3);
    p = ls__onnx_call(o, "Softmax", 1, &p, &list);
    p = ls__onnx_two(o, "MatMul", p, shared_heads(o, n, 2, false));
    return ls__onnx_shaped_as(o, ls__onnx_transpose(o, p, 4, plain), n);
}

/* ------ all of them ------ */

const ls__onnx_row ls__onnx_layers[] = {
    {"dense", NULL, dense},         {"conv2d", NULL, conv},
    {"max_pool", NULL, max_pool},   {"avg_pool", NULL, avg_pool},
    {"parameter", NULL, parameter}, {"group_norm", NULL, group_norm},
    {"batch_norm", NULL, batch_norm}, {"rotary", NULL, rotary},
    {"attention", NULL, attention}, {"sparse_dense", NULL, bag},
    {"sparse_dense_values", NULL, bag}, {"embed_bag", NULL, bag},
    {NULL, NULL, NULL}};

/* What each operator is in ONNX: a row for each, and a function where it is
 * more than one call of another name.  Rows come first in every shape; a 0
 * in the shape of a Reshape leaves that extent as it is.  ONNX has channels
 * before pixels, lockstep after them, so what looks at images is transposed
 * and back. */
#include "exchange/onnx.h"
#include "base/error.h"
#include "graph/op.h"

#include <stdlib.h>
#include <string.h>

enum { FLOAT = 1, INT64 = 7, BFLOAT16 = 16 }; /* of Cast */

/* ------ pieces ------ */

static const char *of_input(const ls__onnx *o, const ls_node *n, int k)
{
    return o->name[n->in[k]->id];
}

static const char *two(ls__onnx *o, const char *type, const char *a,
                       const char *b)
{
    return ls__onnx_call(o, type, 2, (const char *[]){a, b}, NULL);
}

static const char *reshape(ls__onnx *o, const char *x, int rank,
                           const int64_t *shape)
{
    return two(o, "Reshape", x, ls__onnx_integers(o, rank, shape));
}

static const char *transpose(ls__onnx *o, const char *x, int rank,
                             const int64_t *order)
{
    ls__proto list = {0};

    ls__onnx_attribute_ints(&list, "perm", rank, order);
    return ls__onnx_call(o, "Transpose", 1, &x, &list);
}

static const int64_t channels_first[] = {0, 3, 1, 2};
static const int64_t channels_last[] = {0, 2, 3, 1};

/* Back to the shape of a node's value. */
static const char *shaped_as(ls__onnx *o, const char *x, const ls_node *n)
{
    int64_t shape[LS_MAX_RANK + 1] = {0};

    memcpy(shape + 1, n->shape, (size_t)n->rank * sizeof *shape);
    return reshape(o, x, n->rank + 1, shape);
}

/* Is a parameter among the constants?  From now on it is. */
static bool is_there(ls__onnx *o, int param)
{
    bool there = o->there[param];

    o->there[param] = true;
    return there;
}

/* Parameter k as it is, under another shape if one is given. */
static const char *parameter(ls__onnx *o, const ls_node *n, int k,
                             const ls__extents *shape)
{
    const ls__param *p = o->graph->params[n->param[k]];
    ls__extents own = {.rank = p->rank};

    memcpy(own.of, p->shape, sizeof p->shape);
    if (is_there(o, n->param[k]))
        return p->name;
    return ls__onnx_floats(o, p->name, shape ? *shape : own,
                           o->values[n->param[k]]);
}

/* ------ products ------ */

static const char *dense(ls__onnx *o, const ls_node *n)
{
    int64_t in = ls__width(n->in[0]), out = ls__width(n);
    ls__extents matrix = {2, {in, out}}, turned = {2, {out, in}};
    const char *w = parameter(o, n, 0, n->transposed ? &turned : &matrix), *y;

    if (n->transposed)
        w = transpose(o, w, 2, (const int64_t[]){1, 0});
    y = two(o, "MatMul", of_input(o, n, 0), w);

    return n->bias ? two(o, "Add", y, parameter(o, n, 1, NULL)) : y;
}

static void window(ls__proto *list, const ls_node *n)
{
    const ls__window *w = &n->window;
    const int64_t *x = n->in[0]->shape;
    int64_t below = (w->h - 1) * w->sy + (w->kh - 1) * w->dy + 1 - x[0] -
                    w->top;
    int64_t right = (w->w - 1) * w->sx + (w->kw - 1) * w->dx + 1 - x[1] -
                    w->left;

    ls__onnx_attribute_ints(list, "kernel_shape", 2,
                            (int64_t[]){w->kh, w->kw});
    ls__onnx_attribute_ints(list, "strides", 2, (int64_t[]){w->sy, w->sx});
    ls__onnx_attribute_ints(list, "pads", 4,
                            (int64_t[]){w->top, w->left, below > 0 ? below : 0,
                                        right > 0 ? right : 0});
}

/* Weights (height,width,in,out) as (out,in,height,width). */
static const char *rotated_kernel(ls__onnx *o, const ls_node *n)
{
    const ls__param *p = o->graph->params[n->param[0]];
    int64_t taps = p->shape[0] * p->shape[1], in = p->shape[2];
    int64_t out = p->shape[3];
    ls__extents shape = {4, {out, in, p->shape[0], p->shape[1]}};
    float *w;

    if (is_there(o, n->param[0]))
        return p->name;
    if (!(w = ls__arena_new(&o->arena, (size_t)p->size, sizeof *w))) {
        o->out.failed = true;
        return "";
    }
    for (int64_t t = 0; t < taps; t++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t k = 0; k < out; k++)
                w[(k * in + i) * taps + t] =
                    o->values[n->param[0]][(t * in + i) * out + k];
    return ls__onnx_floats(o, p->name, shape, w);
}

static const char *conv(ls__onnx *o, const ls_node *n)
{
    const char *x = transpose(o, of_input(o, n, 0), 4, channels_first);
    const char *in[] = {x, rotated_kernel(o, n),
                        n->bias ? parameter(o, n, 1, NULL) : NULL};
    ls__proto list = {0};

    window(&list, n);
    ls__onnx_attribute_ints(&list, "dilations", 2,
                            (int64_t[]){n->window.dy, n->window.dx});
    ls__onnx_attribute_int(&list, "group", n->groups);
    x = ls__onnx_call(o, "Conv", n->bias ? 3 : 2, in, &list);
    return transpose(o, x, 4, channels_last);
}

static const char *pooled(ls__onnx *o, const ls_node *n, const char *type,
                          ls__proto *list)
{
    const char *x = transpose(o, of_input(o, n, 0), 4, channels_first);

    window(list, n);
    return transpose(o, ls__onnx_call(o, type, 1, &x, list), 4, channels_last);
}

static const char *max_pool(ls__onnx *o, const ls_node *n)
{
    ls__proto list = {0};

    return pooled(o, n, "MaxPool", &list);
}

static const char *avg_pool(ls__onnx *o, const ls_node *n)
{
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "count_include_pad", 1);
    return pooled(o, n, "AveragePool", &list);
}

/* ------ tables, norms ------ */

static const char *embed(ls__onnx *o, const ls_node *n)
{
    return two(o, "Gather", parameter(o, n, 0, NULL), of_input(o, n, 0));
}

static const char *position(ls__onnx *o, const ls_node *n)
{
    return two(o, "Add", of_input(o, n, 0), parameter(o, n, 0, NULL));
}

static const char *layer_norm(ls__onnx *o, const ls_node *n)
{
    const char *in[] = {of_input(o, n, 0), parameter(o, n, 0, NULL),
                        parameter(o, n, 1, NULL)};
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "axis", n->rank); /* the last, after rows */
    ls__onnx_attribute_float(&list, "epsilon", 1e-6f);
    return ls__onnx_call(o, "LayerNormalization", 3, in, &list);
}

/* count times the same number. */
static const char *equal_floats(ls__onnx *o, int64_t count, float x)
{
    float *data = ls__arena_new(&o->arena, (size_t)count, sizeof *data);

    o->out.failed |= !data;
    for (int64_t i = 0; data && i < count; i++)
        data[i] = x;
    return data ? ls__onnx_floats(o, NULL, (ls__extents){1, {count}}, data)
                : "";
}

/* Groups become the channels of an InstanceNormalization, which knows no
 * others; scale and bias follow, by channel. */
static const char *group_norm(ls__onnx *o, const ls_node *n)
{
    int64_t c = ls__width(n), pixels = ls__vectors(n), g = n->groups;
    const int64_t swap[] = {0, 2, 1};
    const char *x = reshape(o, of_input(o, n, 0), 3,
                            (int64_t[]){0, pixels, c});
    const char *in[3];
    ls__proto list = {0};

    x = transpose(o, x, 3, swap);
    in[0] = reshape(o, x, 3, (int64_t[]){0, g, c / g * pixels});
    in[1] = equal_floats(o, g, 1);
    in[2] = equal_floats(o, g, 0);
    ls__onnx_attribute_float(&list, "epsilon", 1e-6f);
    x = ls__onnx_call(o, "InstanceNormalization", 3, in, &list);
    x = transpose(o, reshape(o, x, 3, (int64_t[]){0, c, pixels}), 3, swap);
    x = two(o, "Mul", shaped_as(o, x, n), parameter(o, n, 0, NULL));
    return two(o, "Add", x, parameter(o, n, 1, NULL));
}

/* x scale / sqrt(mean(x^2) + epsilon) */
static const char *rms_norm(ls__onnx *o, const ls_node *n)
{
    const char *x = of_input(o, n, 0), *r;
    const int64_t axis = n->rank;
    const char *in[] = {two(o, "Mul", x, x), ls__onnx_integers(o, 1, &axis)};

    r = ls__onnx_call(o, "ReduceMean", 2, in, NULL);
    r = two(o, "Add", r, equal_floats(o, 1, (float)n->by[0]));
    r = ls__onnx_call(o, "Sqrt", 1, &r, NULL);
    return two(o, "Mul", two(o, "Div", x, r), parameter(o, n, 0, NULL));
}

/* Channels second, as everything is called there. */
static const char *batch_norm(ls__onnx *o, const ls_node *n)
{
    int64_t first[LS_MAX_RANK + 1] = {0}, last[LS_MAX_RANK + 1] = {0};
    const char *in[] = {of_input(o, n, 0), parameter(o, n, 0, NULL),
                        parameter(o, n, 1, NULL), parameter(o, n, 2, NULL),
                        parameter(o, n, 3, NULL)};
    ls__proto list = {0};
    const char *y;

    for (int k = 1; k <= n->rank; k++) {
        first[k] = k == 1 ? n->rank : k - 1;
        last[k] = k == n->rank ? 1 : k + 1;
    }
    if (n->rank > 1)
        in[0] = transpose(o, in[0], n->rank + 1, first);
    ls__onnx_attribute_float(&list, "epsilon", (float)n->by[0]);
    y = ls__onnx_call(o, "BatchNormalization", 5, in, &list);
    return n->rank > 1 ? transpose(o, y, n->rank + 1, last) : y;
}

/* (T,1,D/heads): cosines, or sines with the first half's sign turned. */
static const char *rotary_factors(ls__onnx *o, const ls_node *n, bool sines)
{
    int64_t t = n->shape[0], d = n->shape[1] / n->heads, h = d / 2;
    const float *table = n->op->table(n, &o->arena);
    float *f = ls__arena_new(&o->arena, (size_t)(t * d), sizeof *f);

    o->out.failed |= !f || !table;
    for (int64_t i = 0; f && table && i < t; i++)
        for (int64_t j = 0; j < d; j++)
            f[i * d + j] = table[i * d + j % h + (sines ? h : 0)] *
                           (sines && j < h ? -1.0f : 1.0f);
    return f ? ls__onnx_floats(o, NULL, (ls__extents){3, {t, 1, d}}, f) : "";
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
static const char *rotary(ls__onnx *o, const ls_node *n)
{
    int64_t d = n->shape[1] / n->heads;
    const char *x = reshape(o, of_input(o, n, 0), 4,
                            (int64_t[]){0, n->shape[0], n->heads, d});
    const char *in[] = {part_of(o, x, d / 2, d), part_of(o, x, 0, d / 2)}, *y;
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "axis", 3);
    y = two(o, "Mul", ls__onnx_call(o, "Concat", 2, in, &list),
            rotary_factors(o, n, true));
    x = two(o, "Mul", x, rotary_factors(o, n, false));
    return shaped_as(o, two(o, "Add", x, y), n);
}

/* ------ attention ------ */

/* (rows,T,D) as (rows,heads,T,D/heads), or with the last two exchanged. */
static const char *heads(ls__onnx *o, const ls_node *n, int k, bool exchanged)
{
    const int64_t plain[] = {0, 2, 1, 3}, other[] = {0, 2, 3, 1};
    int64_t t = n->shape[0], d = n->shape[1] / n->heads;
    const char *x = reshape(o, of_input(o, n, k), 4,
                            (int64_t[]){0, t, n->in[k]->shape[1] / d, d});

    return transpose(o, x, 4, exchanged ? other : plain);
}

/* (T,T): 0 where a position may look, -infinity where it may not. */
static const char *causal_mask(ls__onnx *o, int64_t t)
{
    float *mask = ls__arena_new(&o->arena, (size_t)(t * t), sizeof *mask);

    o->out.failed |= !mask;
    for (int64_t i = 0; mask && i < t; i++)
        for (int64_t k = i + 1; k < t; k++)
            mask[i * t + k] = -__builtin_inff();
    return mask ? ls__onnx_floats(o, NULL, (ls__extents){2, {t, t}}, mask) : "";
}

/* Keys or values: each head is there once for every query head of its group. */
static const char *shared_heads(ls__onnx *o, const ls_node *n, int k,
                                bool exchanged)
{
    int64_t t = n->shape[0], d = n->shape[1] / n->heads;
    int64_t of = n->in[k]->shape[1] / d, each = n->heads / of;
    int64_t a = exchanged ? d : t, b = exchanged ? t : d;
    const char *x = heads(o, n, k, exchanged);
    const int64_t to[] = {1, of, each, a, b};

    if (each == 1)
        return x;
    x = reshape(o, x, 5, (int64_t[]){0, of, 1, a, b});
    x = two(o, "Expand", x, ls__onnx_integers(o, 5, to));
    return reshape(o, x, 4, (int64_t[]){0, n->heads, a, b});
}

static const char *attention(ls__onnx *o, const ls_node *n)
{
    const int64_t plain[] = {0, 2, 1, 3};
    float d = (float)(n->shape[1] / n->heads);
    const char *p = two(o, "MatMul", heads(o, n, 0, false),
                        shared_heads(o, n, 1, true));
    ls__proto list = {0};

    p = two(o, "Mul", p, equal_floats(o, 1, 1 / __builtin_sqrtf(d)));
    if (n->causal)
        p = two(o, "Add", p, causal_mask(o, n->shape[0]));
    ls__onnx_attribute_int(&list, "axis", 3);
    p = ls__onnx_call(o, "Softmax", 1, &p, &list);
    p = two(o, "MatMul", p, shared_heads(o, n, 2, false));
    return shaped_as(o, transpose(o, p, 4, plain), n);
}

/* ------ elementwise ------ */

static const char *gelu(ls__onnx *o, const ls_node *n)
{
    const char *x = of_input(o, n, 0);
    ls__proto list = {0};

    ls__onnx_attribute_text(&list, "approximate", "tanh");
    return ls__onnx_call(o, "Gelu", 1, &x, &list);
}

static const char *flatten(ls__onnx *o, const ls_node *n)
{
    return shaped_as(o, of_input(o, n, 0), n);
}

static const char *cast(ls__onnx *o, const char *x, int type)
{
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "to", type);
    return ls__onnx_call(o, "Cast", 1, &x, &list);
}

static const char *round_bf16(ls__onnx *o, const ls_node *n)
{
    return cast(o, cast(o, of_input(o, n, 0), BFLOAT16), FLOAT);
}

/* ------ arithmetic ------ */

static const char *scalar(ls__onnx *o, double x)
{
    float *data = ls__arena_new(&o->arena, 1, sizeof *data);

    o->out.failed |= !data;
    if (!data)
        return "";
    *data = (float)x;
    return ls__onnx_floats(o, NULL, (ls__extents){0}, data);
}

static const char *scale(ls__onnx *o, const ls_node *n)
{
    const char *y = two(o, "Mul", of_input(o, n, 0), scalar(o, n->by[0]));

    return two(o, "Add", y, scalar(o, n->by[1]));
}

static const char *square(ls__onnx *o, const ls_node *n)
{
    return two(o, "Mul", of_input(o, n, 0), of_input(o, n, 0));
}

static const char *clamp(ls__onnx *o, const ls_node *n)
{
    const char *in[] = {of_input(o, n, 0), scalar(o, n->by[0]),
                        scalar(o, n->by[1])};

    return ls__onnx_call(o, "Clip", 3, in, NULL);
}

static const char *power(ls__onnx *o, const ls_node *n)
{
    return two(o, "Pow", of_input(o, n, 0), scalar(o, n->by[0]));
}

/* LeakyRelu and Elu call their constant the same. */
static const char *bent(ls__onnx *o, const ls_node *n, const char *type)
{
    const char *x = of_input(o, n, 0);
    ls__proto list = {0};

    ls__onnx_attribute_float(&list, "alpha", (float)n->by[0]);
    return ls__onnx_call(o, type, 1, &x, &list);
}

static const char *leaky_relu(ls__onnx *o, const ls_node *n)
{
    return bent(o, n, "LeakyRelu");
}

static const char *elu(ls__onnx *o, const ls_node *n)
{
    return bent(o, n, "Elu");
}

/* log(1 + e^x) - x t */
static const char *binary_entropy(ls__onnx *o, const ls_node *n)
{
    const char *x = of_input(o, n, 0);

    return two(o, "Sub", ls__onnx_call(o, "Softplus", 1, &x, NULL),
               two(o, "Mul", x, of_input(o, n, 1)));
}

/* t (log t - x); the logarithm of 0 is a number here, since 0 of it count. */
static const char *divergence(ls__onnx *o, const ls_node *n)
{
    const char *t = of_input(o, n, 1);
    const char *above = two(o, "Max", t, scalar(o, 0x1p-126));
    const char *log_t = ls__onnx_call(o, "Log", 1, &above, NULL);

    return two(o, "Mul", t, two(o, "Sub", log_t, of_input(o, n, 0)));
}

/* ------ shapes, axes, indices ------ */

static const char *along(ls__onnx *o, const ls_node *n, const char *type,
                         int64_t axis)
{
    const char *in[] = {of_input(o, n, 0),
                        n->op->inputs > 1 ? of_input(o, n, 1) : NULL};
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "axis", axis);
    return ls__onnx_call(o, type, n->op->inputs, in, &list);
}

static const char *softmax(ls__onnx *o, const ls_node *n)
{
    return along(o, n, "Softmax", n->rank);
}

static const char *log_softmax(ls__onnx *o, const ls_node *n)
{
    return along(o, n, "LogSoftmax", n->rank);
}

static const char *concat(ls__onnx *o, const ls_node *n)
{
    return along(o, n, "Concat", n->axis + 1);
}

static const char *exchanged_axes(ls__onnx *o, const ls_node *n)
{
    int64_t order[LS_MAX_RANK + 1] = {0};

    for (int k = 0; k < n->rank; k++)
        order[k + 1] = n->extents.of[k] + 1;
    return transpose(o, of_input(o, n, 0), n->rank + 1, order);
}

static const char *slice(ls__onnx *o, const ls_node *n)
{
    int64_t axis = n->axis + 1, end = n->first + n->count;
    const char *in[] = {of_input(o, n, 0), ls__onnx_integers(o, 1, &n->first),
                        ls__onnx_integers(o, 1, &end),
                        ls__onnx_integers(o, 1, &axis)};

    return ls__onnx_call(o, "Slice", 4, in, NULL);
}

/* x with as many axes as the value has, then repeated. */
static const char *broadcast(ls__onnx *o, const ls_node *n)
{
    const ls_node *x = n->in[0];
    int64_t from[LS_MAX_RANK + 1] = {0}, to[LS_MAX_RANK + 1] = {1};
    int more = n->rank - x->rank;

    for (int k = 0; k < n->rank; k++) {
        from[k + 1] = k < more ? 1 : x->shape[k - more];
        to[k + 1] = n->shape[k];
    }
    return two(o, "Expand", reshape(o, of_input(o, n, 0), n->rank + 1, from),
               ls__onnx_integers(o, n->rank + 1, to));
}

static const char *reduced(ls__onnx *o, const ls_node *n, const char *type)
{
    int64_t axes[LS_MAX_RANK];
    const char *in[2] = {of_input(o, n, 0)};
    ls__proto list = {0};

    for (int64_t k = 0; k < n->axes; k++)
        axes[k] = n->axis + k + 1;
    in[1] = ls__onnx_integers(o, (int)n->axes, axes);
    ls__onnx_attribute_int(&list, "keepdims", 0);
    return ls__onnx_call(o, type, 2, in, &list);
}

static const char *sum(ls__onnx *o, const ls_node *n)
{
    return reduced(o, n, "ReduceSum");
}

static const char *max_over(ls__onnx *o, const ls_node *n)
{
    return reduced(o, n, "ReduceMax");
}

static const char *one_hot(ls__onnx *o, const ls_node *n)
{
    static const float values[] = {0, 1};
    const char *in[] = {of_input(o, n, 0), ls__onnx_integers(o, 1, &n->count),
                        ls__onnx_floats(o, NULL, (ls__extents){1, {2}},
                                        values)};

    return ls__onnx_call(o, "OneHot", 3, in, NULL);
}

/* Indices are of the row they stand in, and vectors of one number. */
static const char *gather(ls__onnx *o, const ls_node *n)
{
    const ls_node *at = n->in[1];
    int64_t shape[LS_MAX_RANK + 1] = {0};
    const char *in[2] = {of_input(o, n, 0)};
    ls__proto list = {0};

    memcpy(shape + 1, at->shape, (size_t)at->rank * sizeof *shape);
    shape[at->rank + 1] = 1;
    in[1] = cast(o, reshape(o, of_input(o, n, 1), at->rank + 2, shape), INT64);
    ls__onnx_attribute_int(&list, "batch_dims", 1);
    return ls__onnx_call(o, "GatherND", 2, in, &list);
}

/* The values of a bag's places, 0 where there is no index. */
static const char *bag_values(ls__onnx *o, const ls_node *n, const char *index,
                              const char *zero)
{
    static const float one = 1;
    const char *there = cast(o, two(o, "GreaterOrEqual", index, zero), FLOAT);
    const char *in[2] = {there};
    int64_t axis = n->in[0]->rank;

    if (n->op->inputs > 1)
        return two(o, "Mul", there, of_input(o, n, 1));
    if (!n->mean)
        return there;
    in[1] = ls__onnx_integers(o, 1, &axis);
    return two(o, "Div", there,
               two(o, "Max", ls__onnx_call(o, "ReduceSum", 2, in, NULL),
                   ls__onnx_floats(o, NULL, (ls__extents){1, {1}}, &one)));
}

/* The values (..,1,K) times the rows (..,K,n) of the table. */
static const char *bag(ls__onnx *o, const ls_node *n)
{
    static const int64_t none = 0;
    const ls_node *x = n->in[0];
    const char *index = cast(o, of_input(o, n, 0), INT64), *rows, *y;
    const char *zero = ls__onnx_integers(o, 1, &none);
    int64_t shape[LS_MAX_RANK + 2] = {0};

    rows = two(o, "Gather", parameter(o, n, 0, NULL),
               two(o, "Max", index, zero));
    memcpy(shape + 1, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = 1;
    shape[x->rank + 1] = ls__width(x);
    y = reshape(o, bag_values(o, n, index, zero), x->rank + 2, shape);
    y = shaped_as(o, two(o, "MatMul", y, rows), n);
    return n->params > 1 ? two(o, "Add", y, parameter(o, n, 1, NULL)) : y;
}

static const char *silu(ls__onnx *o, const ls_node *n)
{
    const char *x = of_input(o, n, 0);

    return two(o, "Mul", x, ls__onnx_call(o, "Sigmoid", 1, &x, NULL));
}

/* ------ all of them ------ */

/* An operator is a call of `type` with its inputs, or what a function makes. */
static const struct {
    const char *op, *type;
    const char *(*make)(ls__onnx *o, const ls_node *n);
} rows[] = {
    {"dense", NULL, dense},
    {"conv2d", NULL, conv},
    {"max_pool", NULL, max_pool},
    {"avg_pool", NULL, avg_pool},
    {"embed", NULL, embed},
    {"position", NULL, position},
    {"layer_norm", NULL, layer_norm},
    {"group_norm", NULL, group_norm},
    {"rms_norm", NULL, rms_norm},
    {"batch_norm", NULL, batch_norm},
    {"rotary", NULL, rotary},
    {"attention", NULL, attention},
    {"gelu", NULL, gelu},
    {"flatten", NULL, flatten},
    {"round_bf16", NULL, round_bf16},
    {"relu", "Relu", NULL},
    {"tanh", "Tanh", NULL},
    {"sigmoid", "Sigmoid", NULL},
    {"add", "Add", NULL},
    {"dropout", "Identity", NULL},
    {"sub", "Sub", NULL},
    {"mul", "Mul", NULL},
    {"div", "Div", NULL},
    {"min", "Min", NULL},
    {"max", "Max", NULL},
    {"sqrt", "Sqrt", NULL},
    {"exp", "Exp", NULL},
    {"log", "Log", NULL},
    {"abs", "Abs", NULL},
    {"softplus", "Softplus", NULL},
    {"matmul", "MatMul", NULL},
    {"scale", NULL, scale},
    {"square", NULL, square},
    {"clamp", NULL, clamp},
    {"pow", NULL, power},
    {"leaky_relu", NULL, leaky_relu},
    {"elu", NULL, elu},
    {"silu", NULL, silu},
    {"binary_entropy", NULL, binary_entropy},
    {"divergence", NULL, divergence},
    {"softmax", NULL, softmax},
    {"log_softmax", NULL, log_softmax},
    {"concat", NULL, concat},
    {"reshape", NULL, flatten},
    {"transpose", NULL, exchanged_axes},
    {"slice", NULL, slice},
    {"broadcast", NULL, broadcast},
    {"sum", NULL, sum},
    {"max_over", NULL, max_over},
    {"one_hot", NULL, one_hot},
    {"gather", NULL, gather},
    {"sparse_dense", NULL, bag},
    {"sparse_dense_values", NULL, bag},
    {"embed_bag", NULL, bag},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int row_of(const char *op)
{
    int i = 0;

    while (i < ROWS && strcmp(rows[i].op, op))
        i++;
    return i;
}

/* Of the operators of recurrent layers, "lstm" and "gru" begin the names. */
static bool is_recurrent(const char *op)
{
    return !strncmp(op, "lstm", 4) || !strncmp(op, "gru", 3);
}

bool ls__onnx_knows(const char *op)
{
    return row_of(op) < ROWS || is_recurrent(op);
}

int ls__onnx_node(ls__onnx *o, const ls_node *n)
{
    int i = row_of(n->op->name);
    const char *in[LS__MAX_INPUTS] = {NULL};

    if (n->op->recurrent) {
        ls__onnx_recurrent(o, n);
        return 0;
    }
    if (i == ROWS)
        return ls__fail(LS_ENOTSUP, "%s \"%s\" cannot be written for ONNX",
                        n->op->name, n->name);
    for (int k = 0; k < n->op->inputs; k++)
        in[k] = of_input(o, n, k);
    o->name[n->id] = rows[i].make
                         ? rows[i].make(o, n)
                         : ls__onnx_call(o, rows[i].type, n->op->inputs, in,
                                         NULL);
    return 0;
}

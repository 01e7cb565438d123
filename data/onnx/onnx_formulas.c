/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic, activations, and what is about shapes, axes and indices in
 * ONNX. */
#include "onnx/onnx_pieces.h"

#include <string.h>

/* ------ elementwise ------ */

static const char *gelu(ls__onnx *o, const ls__net_node *n)
{
    const char *x = ls__onnx_input(o, n, 0);
    ls__proto list = {0};

    ls__onnx_attribute_text(&list, "approximate", "tanh");
    return ls__onnx_call(o, "Gelu", 1, &x, &list);
}

static const char *flatten(ls__onnx *o, const ls__net_node *n)
{
    return ls__onnx_shaped_as(o, ls__onnx_input(o, n, 0), n);
}

static const char *round_bf16(ls__onnx *o, const ls__net_node *n)
{
    return ls__onnx_cast(
        o, ls__onnx_cast(o, ls__onnx_input(o, n, 0), LS__ONNX_BFLOAT16),
        LS__ONNX_FLOAT);
}

static const char *silu(ls__onnx *o, const ls__net_node *n)
{
    const char *x = ls__onnx_input(o, n, 0);

    return ls__onnx_two(o, "Mul", x, ls__onnx_call(o, "Sigmoid", 1, &x, NULL));
}

/* ------ arithmetic ------ */

static const char *scalar(ls__onnx *o, double x)
{
    float *data = ls__arena_new(&o->arena, 1, sizeof *data);

    o->out.failed |= !data;
    if (!data)
        return "";
    *data = (float)x;
    return ls__onnx_floats(o, NULL, (ls__onnx_shape){0}, data);
}

/* A constant of the node's. */
static const char *constant(ls__onnx *o, const ls__net_node *n,
                            const char *name)
{
    return scalar(o, ls__net_number(n, name));
}

static const char *scale(ls__onnx *o, const ls__net_node *n)
{
    const char *y =
        ls__onnx_two(o, "Mul", ls__onnx_input(o, n, 0),
                     constant(o, n, "scale"));

    return ls__onnx_two(o, "Add", y, constant(o, n, "shift"));
}

static const char *square(ls__onnx *o, const ls__net_node *n)
{
    return ls__onnx_two(o, "Mul", ls__onnx_input(o, n, 0),
                        ls__onnx_input(o, n, 0));
}

static const char *clamp(ls__onnx *o, const ls__net_node *n)
{
    const char *in[] = {ls__onnx_input(o, n, 0), constant(o, n, "low"),
                        constant(o, n, "high")};

    return ls__onnx_call(o, "Clip", 3, in, NULL);
}

static const char *power(ls__onnx *o, const ls__net_node *n)
{
    return ls__onnx_two(o, "Pow", ls__onnx_input(o, n, 0),
                        constant(o, n, "power"));
}

/* LeakyRelu and Elu call their constant the same. */
static const char *bent(ls__onnx *o, const ls__net_node *n, const char *type,
                        const char *constant)
{
    const char *x = ls__onnx_input(o, n, 0);
    ls__proto list = {0};

    ls__onnx_attribute_float(&list, "alpha",
                             (float)ls__net_number(n, constant));
    return ls__onnx_call(o, type, 1, &x, &list);
}

static const char *leaky_relu(ls__onnx *o, const ls__net_node *n)
{
    return bent(o, n, "LeakyRelu", "slope");
}

static const char *elu(ls__onnx *o, const ls__net_node *n)
{
    return bent(o, n, "Elu", "alpha");
}

/* log(1 + e^x) - x t */
static const char *binary_entropy(ls__onnx *o, const ls__net_node *n)
{
    const char *x = ls__onnx_input(o, n, 0);

    return ls__onnx_two(o, "Sub", ls__onnx_call(o, "Softplus", 1, &x, NULL),
                        ls__onnx_two(o, "Mul", x, ls__onnx_input(o, n, 1)));
}

/* t (log t - x); the logarithm of 0 is a number here, since 0 of it count. */
static const char *divergence(ls__onnx *o, const ls__net_node *n)
{
    const char *t = ls__onnx_input(o, n, 1);
    const char *above = ls__onnx_two(o, "Max", t, scalar(o, 0x1p-126));
    const char *log_t = ls__onnx_call(o, "Log", 1, &above, NULL);

    return ls__onnx_two(o, "Mul", t,
                        ls__onnx_two(o, "Sub", log_t, ls__onnx_input(o, n, 0)));
}

/* ------ shapes, axes, indices ------ */

static const char *along(ls__onnx *o, const ls__net_node *n, const char *type,
                         int64_t axis)
{
    const char *in[] = {ls__onnx_input(o, n, 0),
                        n->inputs > 1 ? ls__onnx_input(o, n, 1) : NULL};
    ls__proto list = {0};

    ls__onnx_attribute_int(&list, "axis", axis);
    return ls__onnx_call(o, type, n->inputs, in, &list);
}

static const char *softmax(ls__onnx *o, const ls__net_node *n)
{
    return along(o, n, "Softmax", n->rank);
}

static const char *log_softmax(ls__onnx *o, const ls__net_node *n)
{
    return along(o, n, "LogSoftmax", n->rank);
}

static const char *concat(ls__onnx *o, const ls__net_node *n)
{
    return along(o, n, "Concat", ls__net_integer(n, "axis") + 1);
}

static const char *exchanged_axes(ls__onnx *o, const ls__net_node *n)
{
    int64_t order[LS_MAX_RANK + 1] = {0};

    for (int k = 0; k < n->rank; k++)
        order[k + 1] = ls__net_size(n, "axes", k) + 1;
    return ls__onnx_transpose(o, ls__onnx_input(o, n, 0), n->rank + 1, order);
}

static const char *slice(ls__onnx *o, const ls__net_node *n)
{
    int64_t axis = ls__net_integer(n, "axis") + 1;
    int64_t first = ls__net_integer(n, "first");
    int64_t end = first + ls__net_integer(n, "count");
    const char *in[] = {
        ls__onnx_input(o, n, 0), ls__onnx_integers(o, 1, &first),
        ls__onnx_integers(o, 1, &end), ls__onnx_integers(o, 1, &axis)};

    return ls__onnx_call(o, "Slice", 4, in, NULL);
}

/* x with as many axes as the value has, then repeated. */
static const char *broadcast(ls__onnx *o, const ls__net_node *n)
{
    const ls__net_node *x = n->in[0];
    int64_t from[LS_MAX_RANK + 1] = {0}, to[LS_MAX_RANK + 1] = {1};
    int more = n->rank - x->rank;

    for (int k = 0; k < n->rank; k++) {
        from[k + 1] = k < more ? 1 : x->shape[k - more];
        to[k + 1] = n->shape[k];
    }
    return ls__onnx_two(
        o, "Expand",
        ls__onnx_reshape(o, ls__onnx_input(o, n, 0), n->rank + 1, from),
        ls__onnx_integers(o, n->rank + 1, to));
}

/* All steps by a slice that goes back, some by a length each. */
static const char *reversed(ls__onnx *o, const ls__net_node *n)
{
    static const int64_t last = -1, end = INT64_MIN, axis = 1;
    const char *x = ls__onnx_input(o, n, 0);
    ls__proto list = {0};

    if (n->inputs == 1) {
        const char *in[] = {x, ls__onnx_integers(o, 1, &last),
                            ls__onnx_integers(o, 1, &end),
                            ls__onnx_integers(o, 1, &axis),
                            ls__onnx_integers(o, 1, &last)};

        return ls__onnx_call(o, "Slice", 5, in, NULL);
    }
    ls__onnx_attribute_int(&list, "batch_axis", 0);
    ls__onnx_attribute_int(&list, "time_axis", 1);
    return ls__onnx_call(
        o, "ReverseSequence", 2,
        (const char *[]){x, ls__onnx_cast(o, ls__onnx_reshape(
                                o, ls__onnx_input(o, n, 1), 1,
                                (const int64_t[]){-1}), LS__ONNX_INT64)},
        &list);
}

static const char *reduced(ls__onnx *o, const ls__net_node *n, const char *type)
{
    int64_t axes[LS_MAX_RANK], count = ls__net_integer(n, "axes");
    const char *in[2] = {ls__onnx_input(o, n, 0)};
    ls__proto list = {0};

    for (int64_t k = 0; k < count; k++)
        axes[k] = ls__net_integer(n, "axis") + k + 1;
    in[1] = ls__onnx_integers(o, (int)count, axes);
    ls__onnx_attribute_int(&list, "keepdims", 0);
    return ls__onnx_call(o, type, 2, in, &list);
}

static const char *sum(ls__onnx *o, const ls__net_node *n)
{
    return reduced(o, n, "ReduceSum");
}

static const char *max_over(ls__onnx *o, const ls__net_node *n)
{
    return reduced(o, n, "ReduceMax");
}

static const char *one_hot(ls__onnx *o, const ls__net_node *n)
{
    static const float values[] = {0, 1};
    int64_t count = ls__net_integer(n, "count");
    const char *in[] = {
        ls__onnx_input(o, n, 0), ls__onnx_integers(o, 1, &count),
        ls__onnx_floats(o, NULL, (ls__onnx_shape){1, {2}}, values)};

    return ls__onnx_call(o, "OneHot", 3, in, NULL);
}

/* Indices are of the row they stand in, and vectors of one number. */
static const char *gather(ls__onnx *o, const ls__net_node *n)
{
    const ls__net_node *at = n->in[1];
    int64_t shape[LS_MAX_RANK + 1] = {0};
    const char *in[2] = {ls__onnx_input(o, n, 0)};
    ls__proto list = {0};

    memcpy(shape + 1, at->shape, (size_t)at->rank * sizeof *shape);
    shape[at->rank + 1] = 1;
    in[1] = ls__onnx_cast(
        o, ls__onnx_reshape(o, ls__onnx_input(o, n, 1), at->rank + 2, shape),
        LS__ONNX_INT64);
    ls__onnx_attribute_int(&list, "batch_dims", 1);
    return ls__onnx_call(o, "GatherND", 2, in, &list);
}

/* ------ all of them ------ */

const ls__onnx_row ls__onnx_formulas[] = {
    {"gelu", gelu},
    {"flatten", flatten},
    {"round_bf16", round_bf16},
    {"scale", scale},
    {"square", square},
    {"clamp", clamp},
    {"pow", power},
    {"leaky_relu", leaky_relu},
    {"elu", elu},
    {"silu", silu},
    {"binary_entropy", binary_entropy},
    {"divergence", divergence},
    {"softmax", softmax},
    {"log_softmax", log_softmax},
    {"concat", concat},
    {"reshape", flatten},
    {"transpose", exchanged_axes},
    {"slice", slice},
    {"broadcast", broadcast},
    {"reverse", reversed},
    {"reverse_lengths", reversed},
    {"sum", sum},
    {"max_over", max_over},
    {"one_hot", one_hot},
    {"gather", gather},
    {NULL, NULL}};

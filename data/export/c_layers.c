/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers: products, norms, images, recurrent layers, attention. */
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/scalar.h"
#include "export/writer.h"

#include <stdlib.h>
#include <string.h>

/* Ask for at least n floats of room behind the values. */
static void want(ls__writer *w, int64_t n)
{
    w->floats = ls__most(w->floats, n);
}

static void put_bias(ls__writer *w, int64_t vectors, int64_t n,
                     const char *name, int node)
{
    ls__write_part(w, "bias");
    ls__call(w, "add_bias(m * %lld, %lld, %s, v%d, %lld);", (long long)vectors,
             (long long)n, name, node, (long long)n);
}

/* ------ products ------ */

static int put_dense(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t k = ls__net_width(x->of), out = ls__net_width(n->of);
    bool turned = n->of->is_transposed;
    ls__operand of = {1, 0, k, out, turned ? 1 : out, turned ? k : 1};
    char name[LS__NAME], bias[LS__NAME];
    int status = ls__weights_layer(w, n->of->param[0]->id, &of, name);

    want(w, ls__times_room(w, &of));
    ls__call(w, "times(m * %lld, %lld, %lld, v%d, %lld, &%s, 0, v%d, %lld, "
             "%s);", (long long)ls__net_vectors(n->of), (long long)k,
             (long long)out, ls__cval(w, node, 0), (long long)k, name, node,
             (long long)out, w->int8 ? "t" : "0");
    if (status < 0 || n->of->params < 2)
        return status;
    status = ls__weights_plain(w, n->of->param[1]->id, bias);
    put_bias(w, ls__net_vectors(n->of), out, bias, node);
    return status;
}

static int put_matmul(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *a = ls__cin(w, node, 0);
    int64_t k = ls__net_width(a->of), m = a->of->shape[a->of->rank - 2];
    int64_t out = ls__net_width(n->of);

    want(w, k * out);
    ls__call(w, "matmul(m * %lld, %lld, %lld, %lld, v%d, v%d, v%d, t);",
             (long long)(a->size / (m * k)), (long long)m, (long long)k,
             (long long)out, ls__cval(w, node, 0), ls__cval(w, node, 1), node);
    return 0;
}

/* ------ norms ------ */

static int two_arrays(ls__writer *w, int node, char scale[LS__NAME],
                      char bias[LS__NAME])
{
    const ls__net_node *of = w->node[node].of;
    int status = ls__weights_plain(w, of->param[0]->id, scale);

    return status < 0 ? status
                      : ls__weights_plain(w, of->param[1]->id, bias);
}

/* Writes a norm's epsilon, and the number of passes of its variance. */
static void put_norm(ls__writer *w, const ls__net_node *n)
{
    ls__text_float(&w->calls, ls__net_epsilon(n));
    ls__text_put(&w->calls, ", %d, ",
                 ls__net_integer(n, "two_passes") ? 2 : 1);
}

static int put_layer_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long c = ls__net_width(n->of);
    char scale[LS__NAME], bias[LS__NAME];
    int status = two_arrays(w, node, scale, bias);

    ls__call(w, "for (i = 0; i < m * %lld; i++)",
             (long long)ls__net_vectors(n->of));
    ls__text_put(&w->calls, "        layer_norm(%lld, ", c);
    put_norm(w, n->of);
    ls__text_put(&w->calls, "v%d + i * %lld, %s, %s, %lld, v%d + i * "
                 "%lld);\n", ls__cval(w, node, 0), c, scale, bias, c, node, c);
    return status;
}

static int put_group_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long groups = ls__net_integer_or(n->of, "groups", 1), size = n->size;
    char scale[LS__NAME], bias[LS__NAME];
    int status = two_arrays(w, node, scale, bias);

    want(w, size / groups);
    ls__call(w, "for (i = 0; i < m; i++)");
    ls__text_put(&w->calls, "        group_norm(%lld, %lld, %lld, ",
                 (long long)ls__net_vectors(n->of),
                 (long long)ls__net_width(n->of), groups);
    put_norm(w, n->of);
    ls__text_put(&w->calls, "v%d + i * %lld, %s, %s,\n", ls__cval(w, node, 0),
                 size, scale, bias);
    ls__call(w, "               v%d + i * %lld, t);", node, size);
    return status;
}

static int put_rms_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long c = ls__net_width(n->of);
    char scale[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, scale);

    ls__call(w, "for (i = 0; i < m * %lld; i++)",
             (long long)ls__net_vectors(n->of));
    ls__text_put(&w->calls, "        rms_norm(%lld, ", c);
    ls__text_float(&w->calls, (float)ls__net_number(n->of, "epsilon"));
    ls__text_put(&w->calls, ", v%d + i * %lld, %s, v%d + i * %lld);\n",
                 ls__cval(w, node, 0), c, scale, node, c);
    return status;
}

static int put_batch_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long c = ls__net_width(n->of);
    float epsilon = (float)ls__net_number(n->of, "epsilon");
    char name[3][LS__NAME], factor_name[LS__NAME];
    int64_t size;
    float *factor = NULL, *scale = NULL;
    int status = ls__weights_read(w, n->of->param[3]->id, &factor, &size);

    if (status == 0)
        status = ls__weights_read(w, n->of->param[0]->id, &scale, &size);
    for (int64_t j = 0; status == 0 && j < size; j++)
        factor[j] = 1.0f / __builtin_sqrtf(factor[j] + epsilon) * scale[j];
    if (status == 0)
        status = ls__weights_made(w, "factor", size, factor, factor_name);
    free(factor);
    free(scale);
    for (int k = 1; k < 3 && status == 0; k++)
        status = ls__weights_plain(w, n->of->param[k]->id, name[k]);
    if (status == 0)
        ls__call(w, "batch_norm(m * %lld, %lld, v%d, %s, %s, %s, v%d);",
                 (long long)ls__net_vectors(n->of), c, ls__cval(w, node, 0),
                 name[2], factor_name, name[1], node);
    return status;
}

static int put_position(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    char table[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, table);

    ls__write_part(w, "add");
    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)n->size);
    ls__call(w, "    v%d[i] = add(v%d[i], %s[i %% %lld]);", node,
             ls__cval(w, node, 0), table, (long long)n->size);
    return status;
}

static int put_parameter(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    char table[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, table);

    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)n->size);
    ls__call(w, "    v%d[i] = %s[i %% %lld];", node, table, (long long)n->size);
    return status;
}

/* ------ softmax ------ */

static int put_softmax(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long c = ls__net_width(n->of);

    ls__call(w, "for (i = 0; i < m * %lld; i++)",
             (long long)ls__net_vectors(n->of));
    ls__call(w, "    %s(%lld, v%d + i * %lld, v%d + i * %lld);", n->of->op, c,
             ls__cval(w, node, 0), c, node, c);
    return 0;
}

/* ------ images ------ */

/* Padding before, on one axis. */
static int64_t before(const ls__cnode *n, int64_t in, int64_t out,
                      int64_t reach, int64_t stride, const char *given)
{
    int64_t missing = (out - 1) * stride + reach - in;

    if (ls__net_says(n->of, "padding", "explicit"))
        return ls__net_integer(n->of, given);
    if (ls__net_says(n->of, "padding", "causal"))
        return reach - 1;
    return ls__net_says(n->of, "padding", "same") && missing > 0 ? missing / 2
                                                                 : 0;
}

static void put_window(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t kh = ls__net_integer_or(n->of, "height", 1);
    int64_t kw = ls__net_integer_or(n->of, "width", 1);
    int64_t sy = ls__net_integer_or(n->of, "stride_y", 1);
    int64_t sx = ls__net_integer_or(n->of, "stride_x", 1);
    int64_t dy = ls__net_integer_or(n->of, "dilation_y", 1);
    int64_t dx = ls__net_integer_or(n->of, "dilation_x", 1);

    ls__call(w, "{");
    ls__call(w, "    static const window at = {%lld, %lld, %lld, %lld, %lld, "
             "%lld, %lld, %lld, %lld,",
             (long long)x->of->shape[0], (long long)x->of->shape[1],
             (long long)x->of->shape[2], (long long)kh, (long long)kw,
             (long long)sy, (long long)sx, (long long)dy, (long long)dx);
    ls__call(w, "                              %lld, %lld, %lld, %lld};\n",
             (long long)before(n, x->of->shape[0], n->of->shape[0],
                               (kh - 1) * dy + 1, sy, "top"),
             (long long)before(n, x->of->shape[1], n->of->shape[1],
                               (kw - 1) * dx + 1, sx, "left"),
             (long long)n->of->shape[0], (long long)n->of->shape[1]);
    ls__call(w, "    for (i = 0; i < m; i++)");
}

/* The end of a pooling's mean, on one axis: without "ceil" all taps of a window
 * count. */
static long long mean_end(const ls__net_node *of, int64_t in,
                          const char *reach, const char *after)
{
    return in + (ls__net_integer(of, "ceil") ? ls__net_integer(of, after)
                                             : ls__net_integer(of, reach));
}

static int put_avg_pool(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);

    put_window(w, node);
    ls__call(w, "        avg_pool(&at, %d, %lld, %lld, v%d + i * %lld, v%d + i "
             "* %lld);\n    }", (int)ls__net_integer(n->of, "inside"),
             mean_end(n->of, x->of->shape[0], "height", "bottom"),
             mean_end(n->of, x->of->shape[1], "width", "right"),
             ls__cval(w, node, 0), (long long)x->size, node,
             (long long)n->size);
    return 0;
}

static int put_max_pool(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);

    put_window(w, node);
    ls__call(w, "        max_pool(&at, v%d + i * %lld, v%d + i * %lld);\n    }",
             ls__cval(w, node, 0), (long long)x->size, node,
             (long long)n->size);
    return 0;
}

static int put_depthwise(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    char name[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, name);

    ls__write_part(w, "depthwise");
    ls__call(w, "        depthwise(&at, v%d + i * %lld, %s, v%d + i * "
             "%lld);\n    }", ls__cval(w, node, 0), (long long)x->size, name,
             node, (long long)n->size);
    return status;
}

static int put_grouped(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t groups = ls__net_integer_or(n->of, "groups", 1);
    int64_t features = ls__net_width(n->of), out = features / groups;
    int64_t k = ls__net_integer_or(n->of, "height", 1) *
                ls__net_integer_or(n->of, "width", 1) * ls__net_width(x->of) /
                groups;
    ls__operand of = {groups, out, k, out, features, 1};
    char name[LS__NAME];
    int status = ls__weights_layer(w, n->of->param[0]->id, &of, name);

    ls__write_part(w, "conv");
    want(w, LS__ROWS * k + ls__times_room(w, &of));
    ls__call(w, "        conv(&at, %lld, %lld, v%d + i * %lld, &%s, v%d + i * "
             "%lld, t);\n    }", (long long)groups, (long long)features,
             ls__cval(w, node, 0), (long long)x->size, name, node,
             (long long)n->size);
    return status;
}

static int put_conv(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t groups = ls__net_integer_or(n->of, "groups", 1);
    int64_t c = ls__net_width(n->of);
    char bias[LS__NAME];
    int status;

    put_window(w, node);
    status = groups == ls__net_width(x->of) && groups == c
                 ? put_depthwise(w, node) : put_grouped(w, node);
    if (status < 0 || n->of->params < 2)
        return status;
    status = ls__weights_plain(w, n->of->param[1]->id, bias);
    put_bias(w, ls__net_vectors(n->of), c, bias, node);
    return status;
}

/* ------ recurrent layers ------ */

/* Writes the start of a layer's row: the state that is given, or zeros. */
static void put_begin(ls__writer *w, int node, long long states)
{
    ls__call(w, "    for (j = 0; j < %lld; j++)", states);
    if (strstr(w->node[node].of->op, "_from"))
        ls__call(w, "        state[j] = v%d[i * %lld + j];",
                 ls__cval(w, node, 1), states);
    else
        ls__call(w, "        state[j] = 0;");
}

/* Beyond a row's length values are 0. */
static void put_count(ls__writer *w, int node, long long steps, long long units)
{
    const ls__cnode *n = &w->node[node];
    char of[LS__ARGUMENT];

    ls__write_part(w, "length");
    ls__call(w, "    count = length_of(%s[i], %lld);",
             ls__cargument(w, ls__cin(w, node, n->of->inputs - 1), of), steps);
    ls__call(w, "    for (j = count * %lld; j < %lld; j++)", units,
             steps * units);
    ls__call(w, "        v%d[i * %lld + j] = 0;", node, (long long)n->size);
}

/* The state is where it ends, behind the values, or in t. */
static int put_recurrent(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    bool is_lstm = n->of->op[0] == 'l';
    long long states = is_lstm ? 2 : 1, gates = is_lstm ? 4 : 3;
    long long steps = x->of->shape[0], units = x->of->shape[1] / gates;
    ls__operand of = {1, 0, units, gates * units, gates * units, 1};
    char kernel[LS__NAME], bias[LS__NAME] = "0";
    int status = ls__weights_layer(w, n->of->param[0]->id, &of, kernel);

    if (status == 0 && n->of->params > 1)
        status = ls__weights_plain(w, n->of->param[1]->id, bias);
    want(w, (gates + states) * units + ls__times_room(w, &of));
    ls__call(w, "for (i = 0; i < m; i++) {");
    ls__call(w, "    float *state = t + %lld;", gates * units);
    ls__call(w, "    long j, count = %lld;\n", steps);
    put_begin(w, node, states * units);
    if (strstr(n->of->op, "_lengths"))
        put_count(w, node, steps, units);
    ls__text_put(&w->calls, "        %s(count, %lld, ",
                 is_lstm ? "lstm" : "gru", units);
    ls__text_put(&w->calls, "v%d + i * %lld, &%s, %s,\n            ",
                 ls__cval(w, node, 0), (long long)x->size, kernel, bias);
    ls__text_put(&w->calls, is_lstm ? "state + %lld, state" : "state", units);
    ls__text_put(&w->calls, ", v%d + i * %lld, t, state + %lld);\n", node,
                 (long long)n->size, states * units);
    if (ls__net_integer(n->of, "ends")) {
        ls__call(w, "    for (j = 0; j < %lld; j++)", states * units);
        ls__call(w, "        v%d[i * %lld + %lld + j] = state[j];", node,
                 (long long)n->size, steps * units);
    }
    ls__call(w, "}");
    return status;
}

/* ------ attention ------ */

/* The cosines and sines of a head's angles at each position. */
static int put_angles(ls__writer *w, const ls__net_node *of, int64_t d,
                      char name[LS__NAME])
{
    int64_t n = of->shape[0] * d;
    float *angle = ls__new((size_t)n, sizeof *angle, "angles");
    int status;

    if (!angle)
        return LS_ENOMEM;
    ls__angles(angle, of->shape[0], d, (float)ls__net_number(of, "base"));
    status = ls__weights_made(w, "angles", n, angle, name);
    free(angle);
    return status;
}

static int put_rotary(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long heads = ls__net_integer_or(n->of, "heads", 1);
    long long steps = n->of->shape[0], d = n->of->shape[1] / heads;
    char name[LS__NAME];
    int status = put_angles(w, n->of, d, name);

    ls__call(w, "for (i = 0; i < m * %lld; i++)", steps * heads);
    ls__call(w, "    turn(%lld, v%d + i * %lld, %s + i / %lld %% %lld * %lld, "
             "v%d + i * %lld);", d, ls__cval(w, node, 0), d, name, heads,
             steps, d, node, d);
    return status;
}

static int put_attention(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *k = ls__cin(w, node, 1);
    int64_t heads = ls__net_integer_or(n->of, "heads", 1);
    int64_t steps = n->of->shape[0];
    int64_t d = n->of->shape[1] / heads;

    want(w, steps * steps + d * steps);
    ls__call(w, "for (i = 0; i < m; i++)");
    ls__call(w, "    attention(%lld, %lld, %lld, %lld, %d, v%d + i * %lld, "
             "v%d + i * %lld,", (long long)steps, (long long)heads,
             (long long)(k->of->shape[1] / d), (long long)d,
             (int)ls__net_integer(n->of, "causal"), ls__cval(w, node, 0),
             (long long)n->size, ls__cval(w, node, 1), (long long)k->size);
    ls__call(w, "              v%d + i * %lld, v%d + i * %lld, t);",
             ls__cval(w, node, 2), (long long)k->size, node,
             (long long)n->size);
    return 0;
}

/* ------ the rows ------ */

#define LAYER(name, part, function) \
    {name, part, function, NULL, {NULL, NULL}}

const ls__crow ls__crow_layers[] = {
    LAYER("dense", NULL, put_dense),
    LAYER("matmul", "matmul", put_matmul),
    LAYER("layer_norm", "layer_norm", put_layer_norm),
    LAYER("group_norm", "group_norm", put_group_norm),
    LAYER("rms_norm", "rms_norm", put_rms_norm),
    LAYER("batch_norm", "batch_norm", put_batch_norm),
    LAYER("position", "add", put_position),
    LAYER("parameter", NULL, put_parameter),
    LAYER("softmax", "softmax", put_softmax),
    LAYER("log_softmax", "log_softmax", put_softmax),
    LAYER("conv2d", NULL, put_conv),
    LAYER("max_pool", "max_pool", put_max_pool),
    LAYER("avg_pool", "avg_pool", put_avg_pool),
    LAYER("lstm", "lstm", put_recurrent),
    LAYER("lstm_from", "lstm", put_recurrent),
    LAYER("lstm_lengths", "lstm", put_recurrent),
    LAYER("lstm_from_lengths", "lstm", put_recurrent),
    LAYER("gru", "gru", put_recurrent),
    LAYER("gru_from", "gru", put_recurrent),
    LAYER("gru_lengths", "gru", put_recurrent),
    LAYER("gru_from_lengths", "gru", put_recurrent),
    LAYER("rotary", "turn", put_rotary),
    LAYER("attention", "attention", put_attention),
    {NULL, NULL, NULL, NULL, {NULL, NULL}}};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers: products, norms, images, recurrent layers, attention. */
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/scalar.h"
#include "export/writer.h"

#include <stdlib.h>
#include <string.h>

void ls__cwant(ls__writer *w, int64_t n)
{
    w->floats = ls__most(w->floats, n);
}

static void put_bias(ls__writer *w, int64_t vectors, int64_t n,
                     const char *name, int node)
{
    ls__call(w, "add_bias(m * %lld, %lld, %s, n%d);", (long long)vectors,
             (long long)n, name, node);
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

    ls__cwant(w, ls__times_room(w, &of));
    ls__call(w, "times(m * %lld, %lld, %lld, n%d, %lld, %s, 0, n%d, %lld, %s);",
             (long long)ls__net_vectors(n->of), (long long)k,
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

    ls__cwant(w, k * ls__panels(out));
    ls__call(w, "matmul(m * %lld, %lld, %lld, %lld, n%d, n%d, n%d, t);",
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

/* Writes a norm's epsilon, and whether its variance takes two passes. */
static void put_norm(ls__writer *w, const ls__net_node *n)
{
    ls__text_float(&w->calls, ls__net_epsilon(n));
    ls__text_put(&w->calls, ", %d, ",
                 (int)ls__net_integer(n, "two_passes"));
}

static int put_layer_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    char scale[LS__NAME], bias[LS__NAME];
    int status = two_arrays(w, node, scale, bias);

    ls__cwant(w, 2 * LS__ROWS * ls__net_vectors(n->of));
    ls__text_put(&w->calls, "    layer_norm(m * %lld, %lld, ",
                 (long long)ls__net_vectors(n->of),
                 (long long)ls__net_width(n->of));
    put_norm(w, n->of);
    ls__text_put(&w->calls, "n%d, %s, %s, n%d, t);\n", ls__cval(w, node, 0),
                 scale, bias, node);
    return status;
}

static int put_group_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long groups = ls__net_integer_or(n->of, "groups", 1), size = n->size;
    long long c = ls__net_width(n->of);
    char scale[LS__NAME], bias[LS__NAME];
    int status = two_arrays(w, node, scale, bias);

    ls__cwant(w, 4 * size / groups + 2);
    ls__call(w, "for (i = 0; i < m; i++)");
    ls__text_put(&w->calls, "        group_norm((ls__channels){%lld, %lld, "
                 "%lld, %lld}, ", (long long)ls__net_vectors(n->of),
                 c / groups, c, size / groups);
    put_norm(w, n->of);
    ls__text_put(&w->calls, "n%d + i * %lld, %s, %s,\n", ls__cval(w, node, 0),
                 size, scale, bias);
    ls__call(w, "               n%d + i * %lld, t);", node, size);
    return status;
}

static int put_rms_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    char scale[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, scale);

    ls__cwant(w, LS__ROWS * ls__net_vectors(n->of));
    ls__text_put(&w->calls, "    rms_norm(m * %lld, %lld, ",
                 (long long)ls__net_vectors(n->of),
                 (long long)ls__net_width(n->of));
    ls__text_float(&w->calls, (float)ls__net_number(n->of, "epsilon"));
    ls__text_put(&w->calls, ", n%d, %s, n%d, t);\n", ls__cval(w, node, 0),
                 scale, node);
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
        ls__call(w, "batch_norm(&(ls__batch_norm){.rows = m, .each = %lld, "
                 ".n = %lld, .x = n%d, .mean = %s, .factor = %s, .bias = %s}, "
                 "n%d);", (long long)ls__net_vectors(n->of), c,
                 ls__cval(w, node, 0), name[2], factor_name, name[1], node);
    return status;
}

/* ------ softmax ------ */

static int put_softmax(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long c = ls__net_width(n->of), rows = ls__net_vectors(n->of);

    if (ls__net_is(n->of, "log_softmax")) {
        ls__call(w, "log_softmax(m * %lld, %lld, n%d, n%d);", rows, c,
                 ls__cval(w, node, 0), node);
        return 0;
    }
    ls__call(w, "for (i = 0; i < m * %lld; i++)", (long long)n->size);
    ls__call(w, "    n%d[i] = n%d[i];", node, ls__cval(w, node, 0));
    ls__call(w, "softmax(m * %lld, %lld, %lld, n%d);", rows, c, c, node);
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

/* A window over an image, as files tell it. */
typedef struct window {
    int64_t kh, kw, sy, sx, dy, dx, top, left;
    int64_t reach_y, reach_x; /* pixels from its first to behind its last */
} window;

static window window_of(const ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    window v = {ls__net_integer_or(n->of, "height", 1),
                ls__net_integer_or(n->of, "width", 1),
                ls__net_integer_or(n->of, "stride_y", 1),
                ls__net_integer_or(n->of, "stride_x", 1),
                ls__net_integer_or(n->of, "dilation_y", 1),
                ls__net_integer_or(n->of, "dilation_x", 1), 0, 0, 0, 0};

    v.reach_y = (v.kh - 1) * v.dy + 1;
    v.reach_x = (v.kw - 1) * v.dx + 1;
    v.top = before(n, x->of->shape[0], n->of->shape[0], v.reach_y, v.sy, "top");
    v.left = before(n, x->of->shape[1], n->of->shape[1], v.reach_x, v.sx,
                    "left");
    return v;
}

/* Writes the struct of a pooling.  A mean without "ceil" counts all taps. */
static void put_pooling(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t in_h = x->of->shape[0], in_w = x->of->shape[1];
    window v = window_of(w, node);
    bool ceil = ls__net_integer(n->of, "ceil");
    int64_t more_y = ceil ? ls__net_integer(n->of, "bottom") : v.reach_y;
    int64_t more_x = ceil ? ls__net_integer(n->of, "right") : v.reach_x;

    ls__call(w, "{");
    ls__call(w, "    static const ls__pooling at = {%lld, %lld, %lld, %lld, "
             "%lld, %lld, %lld,", (long long)in_h, (long long)in_w,
             (long long)x->of->shape[2], (long long)v.kh, (long long)v.kw,
             (long long)v.sy, (long long)v.sx);
    ls__call(w, "        %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %d};"
             "\n", (long long)v.top, (long long)v.left,
             (long long)n->of->shape[0], (long long)n->of->shape[1],
             (long long)v.dy, (long long)v.dx, (long long)(in_h + more_y),
             (long long)(in_w + more_x), (int)ls__net_integer(n->of, "inside"));
    ls__call(w, "    for (i = 0; i < m; i++)");
}

static int put_avg_pool(ls__writer *w, int node)
{
    put_pooling(w, node);
    ls__call(w, "        avg_pool(&at, n%d + i * %lld, n%d + i * %lld);\n    }",
             ls__cval(w, node, 0), (long long)ls__cin(w, node, 0)->size, node,
             (long long)w->node[node].size);
    return 0;
}

/* The places of the largest go to t. */
static int put_max_pool(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);

    ls__cwant(w, n->size);
    put_pooling(w, node);
    ls__call(w, "        max_pool(&at, 0, %lld, n%d + i * %lld, 0, n%d + i * "
             "%lld, t);\n    }", (long long)n->of->shape[0],
             ls__cval(w, node, 0), (long long)x->size, node,
             (long long)n->size);
    return 0;
}

/* Writes the structs of a framed image and of its windows; returns the floats
 * of the frame. */
static int64_t put_windows(ls__writer *w, int node, int64_t groups, int64_t *k)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t c = x->of->shape[2], features = n->of->shape[2];
    int64_t y = n->of->shape[0], z = n->of->shape[1];
    window v = window_of(w, node);
    bool runs = groups == 1 && (v.dx == 1 || v.kw == 1);
    int64_t rows = (y - 1) * v.sy + v.reach_y;
    int64_t cols = (z - 1) * v.sx + v.reach_x;

    *k = v.kh * v.kw * c / groups;
    ls__call(w, "{");
    ls__call(w, "    static const ls__halo image = {%lld, %lld, %lld, %lld, "
             "%lld, 1, 1, %lld, %lld, 0};", (long long)x->of->shape[0],
             (long long)x->of->shape[1], (long long)c, (long long)v.top,
             (long long)v.left, (long long)rows, (long long)cols);
    ls__call(w, "    static const ls__conv at = {.c = %lld, .row = %lld, "
             ".step_y = %lld,", (long long)c, (long long)(v.dy * cols * c),
             (long long)(v.sy * cols * c));
    ls__call(w, "        .step_x = %lld, .kh = %lld, .run = %lld, .kx = %lld, "
             ".col = %lld,", (long long)(v.sx * c), (long long)v.kh,
             (long long)(runs ? v.kw * c : c / groups),
             (long long)(runs ? 1 : v.kw), (long long)(v.dx * c));
    ls__call(w, "        .h = %lld, .w = %lld, .out = {.m = %lld, .n = %lld, "
             ".k = %lld,", (long long)y, (long long)z, (long long)(y * z),
             (long long)(features / groups), (long long)*k);
    ls__call(w, "        .b_row = %lld, .b_col = 1, .c_row = %lld, "
             ".scale = 1}};\n", (long long)features, (long long)features);
    ls__call(w, "    for (i = 0; i < m; i++)");
    return rows * cols * c;
}

/* Each channel by itself: lanes are channels, of all groups. */
static int put_depthwise(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t k;
    char name[LS__NAME];
    int status = ls__weights_plain(w, n->of->param[0]->id, name);

    ls__cwant(w, put_windows(w, node, n->of->shape[2], &k));
    ls__call(w, "        conv_channels(&image, &at, n%d + i * %lld, %s, n%d + "
             "i * %lld, t);\n    }", ls__cval(w, node, 0), (long long)x->size,
             name, node, (long long)n->size);
    return status;
}

static int put_grouped(ls__writer *w, int node, int64_t groups)
{
    const ls__cnode *n = &w->node[node], *x = ls__cin(w, node, 0);
    int64_t features = ls__net_width(n->of), k;
    int64_t frame = put_windows(w, node, groups, &k);
    ls__operand of = {groups, features / groups, k, features / groups,
                      features, 1};
    char name[LS__NAME];
    int status = ls__weights_layer(w, n->of->param[0]->id, &of, name);

    ls__cwant(w, frame + LS__ROWS * k + ls__times_room(w, &of));
    ls__call(w, "        conv_patches(&image, &at, %lld, n%d + i * %lld, %s, "
             "n%d + i * %lld, t);\n    }", (long long)groups,
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
    int status = groups > 1 && groups == ls__net_width(x->of) && groups == c
                     ? put_depthwise(w, node) : put_grouped(w, node, groups);

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
        ls__call(w, "        state[j] = n%d[i * %lld + j];",
                 ls__cval(w, node, 1), states);
    else
        ls__call(w, "        state[j] = 0;");
}

/* Beyond a row's length values are 0. */
static void put_count(ls__writer *w, int node, long long steps, long long units)
{
    const ls__cnode *n = &w->node[node];
    char of[LS__ARGUMENT];

    ls__call(w, "    count = length_of(%s[i], %lld);",
             ls__cargument(w, ls__cin(w, node, n->of->inputs - 1), of), steps);
    ls__call(w, "    for (j = count * %lld; j < %lld; j++)", units,
             steps * units);
    ls__call(w, "        n%d[i * %lld + j] = 0;", node, (long long)n->size);
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
    ls__cwant(w, (3 * gates + states) * units + ls__times_room(w, &of));
    ls__call(w, "for (i = 0; i < m; i++) {");
    ls__call(w, "    float *state = t;");
    ls__call(w, "    int64_t j, count = %lld;\n", steps);
    put_begin(w, node, states * units);
    if (strstr(n->of->op, "_lengths"))
        put_count(w, node, steps, units);
    ls__call(w, "    recurrent((ls__recurrence){.n = %lld, .x = n%d + i * %lld,"
             " .y = n%d + i * %lld,", units, ls__cval(w, node, 0),
             (long long)x->size, node, (long long)n->size);
    ls__call(w, "        .h_next = state + %lld, .c_next = state}, %s, "
             "count, %lld, %s,", (states - 1) * units,
             is_lstm ? "lstm_step" : "gru_step", gates, kernel);
    ls__call(w, "        %s, t + %lld);", bias, states * units);
    if (ls__net_integer(n->of, "ends")) {
        ls__call(w, "    for (j = 0; j < %lld; j++)", states * units);
        ls__call(w, "        n%d[i * %lld + %lld + j] = state[j];", node,
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
    ls__call(w, "    rotate(%lld, n%d + i * %lld, %s + i / %lld %% %lld * "
             "%lld, n%d + i * %lld);", d, ls__cval(w, node, 0), d, name, heads,
             steps, d, node, d);
    return status;
}

static int put_attention(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node], *k = ls__cin(w, node, 1);
    int64_t heads = ls__net_integer_or(n->of, "heads", 1);
    int64_t steps = n->of->shape[0];
    int64_t d = n->of->shape[1] / heads;

    ls__cwant(w, steps * steps + ls__most(d * ls__panels(steps),
                                          steps * ls__panels(d)));
    ls__call(w, "for (i = 0; i < m; i++)");
    ls__call(w, "    attention(%lld, %lld, %lld, %lld, %d, n%d + i * %lld, "
             "n%d + i * %lld,", (long long)steps, (long long)heads,
             (long long)(k->of->shape[1] / d), (long long)d,
             (int)ls__net_integer(n->of, "causal"), ls__cval(w, node, 0),
             (long long)n->size, ls__cval(w, node, 1), (long long)k->size);
    ls__call(w, "              n%d + i * %lld, n%d + i * %lld, t);",
             ls__cval(w, node, 2), (long long)k->size, node,
             (long long)n->size);
    return 0;
}

/* ------ the rows ------ */

#define LAYER(name, function) {name, function, NULL, {NULL}}

const ls__crow ls__crow_layers[] = {
    LAYER("dense", put_dense),
    LAYER("matmul", put_matmul),
    LAYER("layer_norm", put_layer_norm),
    LAYER("group_norm", put_group_norm),
    LAYER("rms_norm", put_rms_norm),
    LAYER("batch_norm", put_batch_norm),
    LAYER("softmax", put_softmax),
    LAYER("log_softmax", put_softmax),
    LAYER("conv2d", put_conv),
    LAYER("max_pool", put_max_pool),
    LAYER("avg_pool", put_avg_pool),
    LAYER("lstm", put_recurrent),
    LAYER("lstm_from", put_recurrent),
    LAYER("lstm_lengths", put_recurrent),
    LAYER("lstm_from_lengths", put_recurrent),
    LAYER("gru", put_recurrent),
    LAYER("gru_from", put_recurrent),
    LAYER("gru_lengths", put_recurrent),
    LAYER("gru_from_lengths", put_recurrent),
    LAYER("rotary", put_rotary),
    LAYER("attention", put_attention),
    {NULL, NULL, NULL, {NULL}}};

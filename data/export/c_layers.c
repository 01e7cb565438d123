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

/* The bias of a layer, if it has one. */
static int put_bias(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    char bias[LS__NAME];
    int status;

    if (n->params < 2)
        return 0;
    status = ls__weights_plain(w, n->param[1]->id, bias);
    ls__call(w, node, "add_bias(m * {vectors}, {width}, %s, {y});", bias);
    return status;
}

/* ------ products ------ */

static int put_dense(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t k = ls__net_width(n->in[0]), out = ls__net_width(n);
    bool turned = n->is_transposed;
    ls__operand of = {1, 0, k, out, turned ? 1 : out, turned ? k : 1};
    char name[LS__NAME];
    int status = ls__weights_layer(w, n->param[0]->id, &of, name);

    ls__cwant(w, ls__times_room(w, &of));
    ls__call(w, node, "times(m * {vectors}, {xwidth}, {width}, {x}, {xwidth}, "
             "%s, 0, {y}, {width}, %s);", name, w->int8 ? "t" : "0");
    return status < 0 ? status : put_bias(w, node);
}

static int put_matmul(ls__writer *w, int node)
{
    const ls__cnode *a = ls__cin(w, node, 0);
    int64_t k = ls__net_width(a->of), m = a->of->shape[a->of->rank - 2];

    ls__cwant(w, k * ls__panels(ls__net_width(w->node[node].of)));
    ls__call(w, node, "matmul(m * %lld, %lld, {xwidth}, {width}, {x}, {x1}, "
             "{y}, t);", (long long)(a->size / (m * k)), (long long)m);
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

static int put_layer_norm(ls__writer *w, int node)
{
    char scale[LS__NAME], bias[LS__NAME];
    int status = two_arrays(w, node, scale, bias);

    ls__cwant(w, 2 * LS__ROWS * ls__net_vectors(w->node[node].of));
    ls__call(w, node, "layer_norm(m * {vectors}, {width}, {epsilon}, "
             "{two_passes}, {x}, %s, %s, {y}, t);", scale, bias);
    return status;
}

static int put_group_norm(ls__writer *w, int node)
{
    const ls__cnode *n = &w->node[node];
    long long groups = ls__net_integer_or(n->of, "groups", 1), size = n->size;
    char scale[LS__NAME], bias[LS__NAME];
    int status = two_arrays(w, node, scale, bias);

    ls__cwant(w, 4 * size / groups + 2);
    ls__call(w, node, "for (i = 0; i < m; i++)");
    ls__call(w, node, "    group_norm((ls__channels){{vectors}, %lld, {width}, "
             "%lld}, {epsilon}, {two_passes}, {x@}, %s, %s,",
             (long long)ls__net_width(n->of) / groups, size / groups, scale,
             bias);
    ls__call(w, node, "               {y@}, t);");
    return status;
}

static int put_rms_norm(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    char scale[LS__NAME];
    int status = ls__weights_plain(w, n->param[0]->id, scale);

    ls__cwant(w, LS__ROWS * ls__net_vectors(n));
    ls__call(w, node, "rms_norm(m * {vectors}, {width}, {epsilon}, {x}, %s, "
             "{y}, t);", scale);
    return status;
}

static int put_batch_norm(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    char name[3][LS__NAME], factor_name[LS__NAME];
    int64_t size;
    float *factor = NULL, *scale = NULL;
    int status = ls__weights_read(w, n->param[3]->id, &factor, &size);

    if (status == 0)
        status = ls__weights_read(w, n->param[0]->id, &scale, &size);
    for (int64_t j = 0; status == 0 && j < size; j++)
        factor[j] = 1.0f / __builtin_sqrtf(factor[j] + ls__net_epsilon(n)) *
                    scale[j];
    if (status == 0)
        status = ls__weights_made(w, "factor", size, factor, factor_name);
    free(factor);
    free(scale);
    for (int k = 1; k < 3 && status == 0; k++)
        status = ls__weights_plain(w, n->param[k]->id, name[k]);
    if (status == 0)
        ls__call(w, node, "batch_norm(&(ls__batch_norm){.rows = m, "
                 ".each = {vectors}, .n = {width}, .x = {x}, .mean = %s, "
                 ".factor = %s, .bias = %s}, {y});", name[2], factor_name,
                 name[1]);
    return status;
}

/* ------ softmax ------ */

static int put_softmax(ls__writer *w, int node)
{
    if (ls__net_is(w->node[node].of, "log_softmax")) {
        ls__call(w, node, "log_softmax(m * {vectors}, {width}, {x}, {y});");
        return 0;
    }
    ls__call(w, node, "for (i = 0; i < m * {size}; i++)");
    ls__call(w, node, "    {y}[i] = {x}[i];");
    ls__call(w, node, "softmax(m * {vectors}, {width}, {width}, {y});");
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
    const ls__net_node *n = w->node[node].of;
    window v = window_of(w, node);
    bool ceil = ls__net_integer(n, "ceil");
    int64_t more_y = ceil ? ls__net_integer(n, "bottom") : v.reach_y;
    int64_t more_x = ceil ? ls__net_integer(n, "right") : v.reach_x;

    ls__call(w, node, "{");
    ls__call(w, node, "    static const ls__pooling at = {{xshape0}, "
             "{xshape1}, {xshape2}, %lld, %lld, %lld, %lld,", (long long)v.kh,
             (long long)v.kw, (long long)v.sy, (long long)v.sx);
    ls__call(w, node, "        %lld, %lld, {shape0}, {shape1}, %lld, %lld, "
             "%lld, %lld, {inside}};\n", (long long)v.top, (long long)v.left,
             (long long)v.dy, (long long)v.dx,
             (long long)(n->in[0]->shape[0] + more_y),
             (long long)(n->in[0]->shape[1] + more_x));
    ls__call(w, node, "    for (i = 0; i < m; i++)");
}

static int put_avg_pool(ls__writer *w, int node)
{
    put_pooling(w, node);
    ls__call(w, node, "        avg_pool(&at, {x@}, {y@});\n    }");
    return 0;
}

/* The places of the largest go to t. */
static int put_max_pool(ls__writer *w, int node)
{
    ls__cwant(w, w->node[node].size);
    put_pooling(w, node);
    ls__call(w, node, "        max_pool(&at, 0, {shape0}, {x@}, 0, {y@}, t);\n"
             "    }");
    return 0;
}

/* Writes the structs of a framed image and of its windows; returns the floats
 * of the frame. */
static int64_t put_windows(ls__writer *w, int node, int64_t groups, int64_t *k)
{
    const ls__net_node *n = w->node[node].of;
    int64_t c = ls__net_width(n->in[0]), y = n->shape[0], z = n->shape[1];
    window v = window_of(w, node);
    bool runs = groups == 1 && (v.dx == 1 || v.kw == 1);
    int64_t rows = (y - 1) * v.sy + v.reach_y;
    int64_t cols = (z - 1) * v.sx + v.reach_x;

    *k = v.kh * v.kw * c / groups;
    ls__call(w, node, "{");
    ls__call(w, node, "    static const ls__halo image = {{xshape0}, "
             "{xshape1}, {xwidth}, %lld, %lld, 1, 1, %lld, %lld, 0};",
             (long long)v.top, (long long)v.left, (long long)rows,
             (long long)cols);
    ls__call(w, node, "    static const ls__conv at = {.c = {xwidth}, "
             ".row = %lld, .step_y = %lld,", (long long)(v.dy * cols * c),
             (long long)(v.sy * cols * c));
    ls__call(w, node, "        .step_x = %lld, .kh = %lld, .run = %lld, "
             ".kx = %lld, .col = %lld,", (long long)(v.sx * c),
             (long long)v.kh, (long long)(runs ? v.kw * c : c / groups),
             (long long)(runs ? 1 : v.kw), (long long)(v.dx * c));
    ls__call(w, node, "        .h = {shape0}, .w = {shape1}, .out = "
             "{.m = %lld, .n = %lld, .k = %lld,", (long long)(y * z),
             (long long)(n->shape[2] / groups), (long long)*k);
    ls__call(w, node, "        .b_row = {shape2}, .b_col = 1, "
             ".c_row = {shape2}, .scale = 1}};\n");
    ls__call(w, node, "    for (i = 0; i < m; i++)");
    return rows * cols * c;
}

/* Each channel by itself: lanes are channels, of all groups. */
static int put_depthwise(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t k;
    char name[LS__NAME];
    int status = ls__weights_plain(w, n->param[0]->id, name);

    ls__cwant(w, put_windows(w, node, n->shape[2], &k));
    ls__call(w, node, "        conv_channels(&image, &at, {x@}, %s, {y@}, t);\n"
             "    }", name);
    return status;
}

static int put_grouped(ls__writer *w, int node, int64_t groups)
{
    const ls__net_node *n = w->node[node].of;
    int64_t features = ls__net_width(n), k;
    int64_t frame = put_windows(w, node, groups, &k);
    ls__operand of = {groups, features / groups, k, features / groups,
                      features, 1};
    char name[LS__NAME];
    int status = ls__weights_layer(w, n->param[0]->id, &of, name);

    ls__cwant(w, frame + LS__ROWS * k + ls__times_room(w, &of));
    ls__call(w, node, "        conv_patches(&image, &at, %lld, {x@}, %s, {y@}, "
             "t);\n    }", (long long)groups, name);
    return status;
}

static int put_conv(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t groups = ls__net_integer_or(n, "groups", 1);
    int status = groups > 1 && groups == ls__net_width(n->in[0]) &&
                         groups == ls__net_width(n)
                     ? put_depthwise(w, node) : put_grouped(w, node, groups);

    return status < 0 ? status : put_bias(w, node);
}

/* ------ recurrent layers ------ */

/* Writes the start of a layer's row: the state that is given, or zeros; and how
 * many steps it has.  Beyond a row's length values are 0. */
static void put_begin(ls__writer *w, int node, long long states,
                      long long units)
{
    const ls__net_node *n = w->node[node].of;

    ls__call(w, node, "    for (j = 0; j < %lld; j++)", states * units);
    if (strstr(n->op, "_from"))
        ls__call(w, node, "        state[j] = {x1}[i * %lld + j];",
                 states * units);
    else
        ls__call(w, node, "        state[j] = 0;");
    if (!strstr(n->op, "_lengths"))
        return;
    ls__call(w, node, n->inputs > 2
                          ? "    count = length_of({a2}[i], {xshape0});"
                          : "    count = length_of({a1}[i], {xshape0});");
    ls__call(w, node, "    for (j = count * %lld; j < %lld; j++)", units,
             (long long)n->in[0]->shape[0] * units);
    ls__call(w, node, "        {y}[i * {size} + j] = 0;");
}

/* The state is where it ends, behind the values, or in t. */
static int put_recurrent(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of, *x = n->in[0];
    bool is_lstm = n->op[0] == 'l';
    long long states = is_lstm ? 2 : 1, gates = is_lstm ? 4 : 3;
    long long units = x->shape[1] / gates;
    ls__operand of = {1, 0, units, gates * units, gates * units, 1};
    char kernel[LS__NAME], bias[LS__NAME] = "0";
    int status = ls__weights_layer(w, n->param[0]->id, &of, kernel);

    if (status == 0 && n->params > 1)
        status = ls__weights_plain(w, n->param[1]->id, bias);
    ls__cwant(w, (3 * gates + states) * units + ls__times_room(w, &of));
    ls__call(w, node, "for (i = 0; i < m; i++) {");
    ls__call(w, node, "    float *state = t;");
    ls__call(w, node, "    int64_t j, count = {xshape0};\n");
    put_begin(w, node, states, units);
    ls__call(w, node, "    recurrent((ls__recurrence){.n = %lld, .x = {x@}, "
             ".y = {y@},", units);
    ls__call(w, node, "        .h_next = state + %lld, .c_next = state}, %s, "
             "count, %lld, %s,", (states - 1) * units,
             is_lstm ? "lstm_step" : "gru_step", gates, kernel);
    ls__call(w, node, "        %s, t + %lld);", bias, states * units);
    if (ls__net_integer(n, "ends")) {
        ls__call(w, node, "    for (j = 0; j < %lld; j++)", states * units);
        ls__call(w, node, "        {y}[i * {size} + %lld + j] = state[j];",
                 (long long)x->shape[0] * units);
    }
    ls__call(w, node, "}");
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
    const ls__net_node *n = w->node[node].of;
    long long heads = ls__net_integer_or(n, "heads", 1);
    long long steps = n->shape[0], d = n->shape[1] / heads;
    char name[LS__NAME];
    int status = put_angles(w, n, d, name);

    ls__call(w, node, "for (i = 0; i < m * %lld; i++)", steps * heads);
    ls__call(w, node, "    rotate(%lld, {x} + i * %lld, %s + i / %lld %% %lld "
             "* %lld, {y} + i * %lld);", d, d, name, heads, steps, d, d);
    return status;
}

static int put_attention(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t heads = ls__net_integer_or(n, "heads", 1);
    int64_t steps = n->shape[0], d = n->shape[1] / heads;

    ls__cwant(w, steps * steps + ls__most(d * ls__panels(steps),
                                          steps * ls__panels(d)));
    ls__call(w, node, "for (i = 0; i < m; i++)");
    ls__call(w, node, "    attention({shape0}, %lld, %lld, %lld, {causal}, "
             "{x@}, {x1@},", (long long)heads,
             (long long)(n->in[1]->shape[1] / d), (long long)d);
    ls__call(w, node, "              {x2@}, {y@}, t);");
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
    LAYER("softmax log_softmax", put_softmax),
    LAYER("conv2d", put_conv),
    LAYER("max_pool", put_max_pool),
    LAYER("avg_pool", put_avg_pool),
    LAYER("lstm lstm_from lstm_lengths lstm_from_lengths", put_recurrent),
    LAYER("gru gru_from gru_lengths gru_from_lengths", put_recurrent),
    LAYER("rotary", put_rotary),
    LAYER("attention", put_attention),
    {NULL, NULL, NULL, {NULL}}};

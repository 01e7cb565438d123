/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers with weights in panels or in bytes, or numbers that are made here:
 * products, images, recurrent layers, attention. */
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
static void put_bias(ls__writer *w, int node)
{
    if (w->node[node].of->params > 1)
        ls__call(w, node, "add_bias(m * {vectors}, {width}, {p1}, {y});", NULL,
                 NULL);
}

/* ------ products ------ */

static void put_dense(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t k = ls__net_width(n->in[0]), out = ls__net_width(n);
    bool turned = n->is_transposed;
    ls__operand of = {1, 0, k, out, turned ? 1 : out, turned ? k : 1};
    const char *const v[] = {ls__weights_layer(w, n->param[0], &of),
                             w->int8 ? "t" : "0"};

    ls__cwant(w, ls__times_room(w, &of));
    ls__call(w, node, "times(m * {vectors}, {xwidth}, {width}, {x}, {xwidth}, "
             "{v0}, 0, {y}, {width}, {v1});", v, NULL);
    put_bias(w, node);
}

/* ------ norms ------ */

static void put_batch_norm(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    float *factor = ls__weights_read(w, n->param[3]);
    float *scale = ls__weights_read(w, n->param[0]);

    for (int64_t j = 0; scale && j < n->param[0]->of.elements; j++)
        factor[j] = 1.0f / __builtin_sqrtf(factor[j] + ls__net_epsilon(n)) *
                    scale[j];
    ls__call(w, node, "batch_norm(&(ls__batch_norm){.rows = m, .each = "
             "{vectors}, .n = {width}, .x = {x}, .mean = {p2}, .factor = {v0}, "
             ".bias = {p1}}, {y});",
             &(const char *){ls__weights_made(w, "factor",
                                              n->param[0]->of.elements,
                                              factor)}, NULL);
    free(factor);
    free(scale);
}

/* ------ images ------ */

/* The places of the largest go to t.  A mean without "ceil" counts all taps. */
static void put_pooling(ls__writer *w, int node)
{
    static const char *const calls[] = {
        "avg_pool(&at, {x@}, {y@});",
        "max_pool(&at, 0, {shape0}, {x@}, 0, {y@}, t);"};
    const ls__net_node *n = w->node[node].of;
    bool greatest = ls__net_is(n, "max_pool");
    bool ceil = ls__net_integer(n, "ceil");
    const int64_t end[] = {
        ls__cnumber(w, node, ceil ? "xshape0+bottom" : "xshape0+kh*dy-dy+1"),
        ls__cnumber(w, node, ceil ? "xshape1+right" : "xshape1+kw*dx-dx+1")};

    ls__cwant(w, greatest ? w->node[node].size : 0);
    ls__call(w, node, "{\n    static const ls__pooling at = {{xshape0}, "
             "{xshape1}, {xshape2}, {kh}, {kw}, {sy}, {sx},\n"
             "        {top}, {left}, {shape0}, {shape1}, {dy}, {dx}, {i0}, "
             "{i1}, {inside}};\n\n    for (i = 0; i < m; i++)\n        {v0}\n}",
             &calls[greatest], end);
}

/* A convolution: one of each channel by itself, in which lanes are channels of
 * all groups, or products of patches. */
static void put_conv(ls__writer *w, int node)
{
    static const char *const calls[] = {
        "conv_patches(&image, &at, {groups=1}, {x@}, {v1}, {y@}, t);",
        "conv_channels(&image, &at, {x@}, {p0}, {y@}, t);"};
    const ls__net_node *n = w->node[node].of;
    int64_t groups = ls__net_integer_or(n, "groups", 1), c = ls__net_width(n);
    bool each = groups > 1 && groups == ls__net_width(n->in[0]) && groups == c;
    bool runs = groups == 1 && (ls__cnumber(w, node, "dx") == 1 ||
                                ls__cnumber(w, node, "kw") == 1);
    const int64_t i[] = {
        ls__cnumber(w, node, "shape0*sy-sy+kh*dy-dy+1"),
        ls__cnumber(w, node, "shape1*sx-sx+kw*dx-dx+1"),
        ls__cnumber(w, node, runs ? "kw*xwidth" : "xwidth/groups=1"),
        ls__cnumber(w, node, runs ? "1" : "kw")};
    ls__operand of = {groups, c / groups,
                      ls__cnumber(w, node, "kh*kw*xwidth/groups=1"), c / groups,
                      c, 1};
    const char *const v[] = {
        calls[each], each ? "" : ls__weights_layer(w, n->param[0], &of)};

    ls__cwant(w, i[0] * i[1] * ls__net_width(n->in[0]) +
                     (each ? 0 : LS__ROWS * of.k + ls__times_room(w, &of)));
    ls__call(w, node,
             "{\n    static const ls__halo image = {{xshape0}, {xshape1}, "
             "{xwidth}, {top}, {left}, 1, 1, {i0}, {i1}, 0};\n"
             "    static const ls__conv at = {.c = {xwidth}, "
             ".row = {dy*i1*xwidth}, .step_y = {sy*i1*xwidth},\n"
             "        .step_x = {sx*xwidth}, .kh = {kh}, .run = {i2}, "
             ".kx = {i3}, .col = {dx*xwidth},\n"
             "        .h = {shape0}, .w = {shape1}, .out = "
             "{.m = {shape0*shape1}, .n = {shape2/groups=1}, "
             ".k = {kh*kw*xwidth/groups=1},\n"
             "        .b_row = {shape2}, .b_col = 1, .c_row = {shape2}, "
             ".scale = 1}};\n\n    for (i = 0; i < m; i++)\n        {v0}\n}",
             v, i);
    put_bias(w, node);
}

/* ------ recurrent layers ------ */

/* The state has room in t; it is what is given, or zeros. */
static void put_recurrent(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    bool is_lstm = n->op[0] == 'l', from = strstr(n->op, "_from");
    int64_t states = is_lstm ? 2 : 1, gates = is_lstm ? 4 : 3;
    int64_t units = n->in[0]->shape[1] / gates;
    ls__operand of = {1, 0, units, gates * units, gates * units, 1};
    const char *const v[] = {
        is_lstm ? "lstm_step" : "gru_step",
        ls__weights_layer(w, n->param[0], &of),
        from ? "{x1} + i * {i2}" : "0",
        !strstr(n->op, "_lengths") ? "{xshape0}"
        : n->inputs > 2 ? "length_of({a2}[i], {xshape0})"
                        : "length_of({a1}[i], {xshape0})"};

    ls__cwant(w, (3 * gates + states) * units + ls__times_room(w, &of));
    ls__call(w, node, "for (i = 0; i < m; i++)\n"
             "    recurrent((ls__recurrence){.n = {i0}, .x = {x@}, .y = "
             "{y@}}, {v0},\n        {xshape0}, {v3}, {i1}, {i2}, {v1}, {p1},\n"
             "        {v2}, {ends}, t);", v,
             (int64_t[]){units, gates, states * units});
}

/* ------ attention ------ */

/* Heads are turned by the cosines and sines of angles at each position. */
static void put_rotary(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t d = n->shape[1] / ls__net_integer_or(n, "heads", 1);
    int64_t size = n->shape[0] * d;
    float *angle = ls__new((size_t)size, sizeof *angle, "angles");

    if (angle)
        ls__angles(angle, n->shape[0], d, (float)ls__net_number(n, "base"));
    else
        w->status = LS_ENOMEM;
    ls__call(w, node, "for (i = 0; i < m * {shape0*heads=1}; i++)\n"
             "    rotate({i0}, {x} + i * {i0}, {v0} + i / {heads=1} % {shape0} "
             "* {i0}, {y} + i * {i0});",
             &(const char *){ls__weights_made(w, "angles", size, angle)}, &d);
    free(angle);
}

static void put_attention(ls__writer *w, int node)
{
    const ls__net_node *n = w->node[node].of;
    int64_t steps = n->shape[0];
    int64_t d = n->shape[1] / ls__net_integer_or(n, "heads", 1);
    const int64_t i[] = {n->in[1]->shape[1] / d, d};

    ls__cwant(w, steps * steps + ls__most(d * ls__panels(steps),
                                          steps * ls__panels(d)));
    ls__call(w, node, "for (i = 0; i < m; i++)\n    attention({shape0}, "
             "{heads=1}, {i0}, {i1}, {causal}, {x@}, {x1@},\n"
             "              {x2@}, {y@}, t);", NULL, i);
}

/* ------ the rows ------ */

const ls__crow ls__crow_layers[] = {
    {"dense", .put = put_dense},
    {"batch_norm", .put = put_batch_norm},
    {"conv2d", .put = put_conv},
    {"max_pool avg_pool", .put = put_pooling},
    {"lstm lstm_from lstm_lengths lstm_from_lengths", .put = put_recurrent},
    {"gru gru_from gru_lengths gru_from_lengths", .put = put_recurrent},
    {"rotary", .put = put_rotary},
    {"attention", .put = put_attention},
    {.op = NULL}};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of a RealMLP.  What becomes of columns before anything is learnt is
 * there once; the members' parts stand one after the other. */
#include "table/realmlp_parts.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* A member of a network, being built. */
typedef struct builder {
    const ls_realmlp *m;
    ls_graph *g;
    bool probe;
    int64_t member;
    ls_node *temperature; /* or NULL */
    ls_node **list; /* room for the columns' nodes, and for the members' */
    char room[LS__REALMLP_NAME];
} builder;

static const char *name(builder *b, const char *format, int i)
{
    return ls__realmlp_name(b->m, b->member, format, i, b->room);
}

/* A parameter of a member that begins as init says. */
static ls_node *parameter(builder *b, const char *called, int rank,
                          const int64_t *shape, ls_init init)
{
    ls_node *p = ls_parameter(b->g, name(b, called, 0), rank, shape);

    ls_init_params(b->g, b->room, &init);
    return p;
}

/* Put them side by side, half by half, so that no value is copied often. */
static ls_node *join(ls_node *const *node, int64_t count)
{
    ls_node *half[2];

    if (count <= 1)
        return count ? *node : NULL;
    half[0] = join(node, count / 2);
    half[1] = join(node + count / 2, count - count / 2);
    return ls_concat(half, 2, -1);
}

/* ------ The columns ------ */

/* x / sqrt(1 + (x/3)^2) */
static ls_node *smooth_clip(ls_node *x)
{
    return ls_div(x, ls_sqrt(ls_scale_shift(ls_square(x), 1.0 / 9, 1)));
}

/* Columns of numbers that stand beside each other are one slice. */
static ls_node *numbers(builder *b, ls_node *x)
{
    int64_t first = 0, end = 0;
    ls_column c;
    int n = 0;

    for (int i = 0; ls_coding_column(b->m->coding, i, &c); i++) {
        if (c.words)
            continue;
        if (end == c.at && end > first) {
            end++;
            continue;
        }
        if (end > first)
            b->list[n++] = ls_slice(x, -1, first, end - first);
        first = c.at;
        end = first + 1;
    }
    if (end > first)
        b->list[n++] = ls_slice(x, -1, first, end - first);
    return n ? smooth_clip(join(b->list, n)) : NULL;
}

/* Coded words: two of them are 1 and -1 in one place, more are one-hot.  Then
 * they are centred, scaled and clipped as numbers are, which is a line.
 * "codes.scale" and "codes.shift" are its frozen parameters. */
static ls_node *codes(builder *b, ls_node *x)
{
    const int64_t *width = &b->m->codes;
    ls_column c;
    int n = 0;

    for (int i = 0; ls_coding_column(b->m->coding, i, &c); i++) {
        if (!ls__realmlp_is_coded(b->m, &c))
            continue;
        b->list[n++] = c.words == 2 ? ls_sub(ls_slice(x, -1, c.at, 1),
                                             ls_slice(x, -1, c.at + 1, 1))
                                    : ls_slice(x, -1, c.at, c.words);
    }
    if (!n)
        return NULL;
    x = ls_mul(join(b->list, n), ls_parameter(b->g, "codes.scale", 1, width));
    return ls_add(x, ls_parameter(b->g, "codes.shift", 1, width));
}

/* Draw between -most and most; fan is what a variance would be divided by. */
static ls_init uniform(double most, int64_t fan)
{
    return ls_init_variance(LS_UNIFORM, LS_FAN_IN,
                            most * most / 3 * (double)fan);
}

/* PBLD: of each number three linear functions of sixteen cos(2 pi w x + b), and
 * x itself.  Numbers are the last axis, along which all is computed side by
 * side. */
static ls_node *periodic(builder *b, ls_node *x)
{
    const double pi = 0x1.921fb54442d18p+1;
    int64_t n = b->m->numbers;
    const int64_t one[] = {1, n}, waves[] = {LS__WAVES, n};
    const int64_t each[] = {1, LS__WAVES, n}, out[] = {LS__OF_WAVES, n};
    const int64_t kernel[] = {LS__OF_WAVES, LS__WAVES, n};
    ls_node *y = ls_broadcast_to(ls_reshape(x, 2, one), 2, waves), *both[2];

    y = ls_mul(y, parameter(b, "periodic.weight", 2, waves,
                            ls_init_random(LS_NORMAL, b->m->o.periodic)));
    y = ls_add(ls_scale_shift(y, 2 * pi, 0),
               parameter(b, "periodic.phase", 2, waves,
                         uniform(pi, LS__WAVES)));
    y = ls_broadcast_to(ls_reshape(ls_cos(y), 3, each), 3, kernel);
    y = ls_mul(y, parameter(b, "periodic.kernel", 3, kernel,
                            uniform(0.25, LS__OF_WAVES * LS__WAVES)));
    y = ls_add(ls_sum_over(y, 1, (int[]){1}),
               parameter(b, "periodic.bias", 2, out,
                         uniform(0.25, LS__OF_WAVES)));
    both[0] = ls_reshape(y, 1, (int64_t[]){n * LS__OF_WAVES});
    both[1] = x;
    return ls_concat(both, 2, -1);
}

/* Columns of many words, from list[n] on; returns the end. */
static int embedded(builder *b, ls_node *x, int n)
{
    ls_dense_options o = ls_dense_defaults();
    ls_column c;
    int count = 0;

    o.no_bias = true;
    for (int i = 0; ls_coding_column(b->m->coding, i, &c); i++)
        if (c.words && !ls__realmlp_is_coded(b->m, &c))
            b->list[n++] =
                ls_dense_with(ls_slice(x, -1, c.at, c.words), LS__EMBEDDED, &o,
                              name(b, "embed.%d", count++));
    return n;
}

static void start_as(builder *b, const char *format, int i, ls_init init)
{
    ls_init_params(b->g, name(b, format, i), &init);
}

/* All columns of a member, each place times a scale that is learnt. */
static ls_node *front(builder *b, ls_node *x, ls_node *number, ls_node *code)
{
    int n = 0;

    if (number)
        b->list[n++] = b->m->o.periodic > 0 ? periodic(b, number) : number;
    if (code)
        b->list[n++] = code;
    n = embedded(b, x, n);
    x = join(b->list, n);
    x = ls_mul(x, parameter(b, "scale", 1, &b->m->front, ls_init_constant(1)));
    if (b->m->embedded)
        start_as(b, "embed.*", 0, ls_init_random(LS_NORMAL, 1));
    return x;
}

/* ------ The layers ------ */

/* f(x), or x + (f(x) - x) a with a learnt for each unit, from 1 on. */
static ls_node *activate(builder *b, ls_node *x, int i)
{
    ls_node *y = b->m->o.activate(x), *a;

    if (b->m->o.recipe == LS_REALMLP_TD_S)
        return y;
    a = ls_parameter(b->g, name(b, "act.%d", i), 1, &b->m->width[i]);
    start_as(b, "act.%d", i, ls_init_constant(1));
    return ls_add(x, ls_mul(ls_sub(y, x), a));
}

static ls_node *layer(builder *b, ls_node *x, int i)
{
    x = ls_dense(x, b->m->width[i], name(b, "layers.%d", i));
    if (b->probe)
        ls_output(b->g, x, b->room);
    return x;
}

/* TD's layers are set by ls_realmlp_start; TD-S begins with a last layer of
 * zeros. */
static void start_layers(builder *b)
{
    start_as(b, "layers.*.kernel", 0,
             ls_init_variance(LS_NORMAL, LS_FAN_IN, 1));
    if (b->m->o.recipe == LS_REALMLP_TD)
        return;
    start_as(b, "layers.*.bias", 0, ls_init_random(LS_NORMAL, 1));
    start_as(b, "layers.%d.*", b->m->o.hidden, ls_init_constant(0));
}

/* Builds a member on the columns. */
static ls_node *member(builder *b, ls_node *x, ls_node *number, ls_node *code)
{
    const ls_realmlp *m = b->m;

    x = front(b, x, number, code);
    for (int i = 0; i < m->o.hidden; i++) {
        x = activate(b, layer(b, x, i), i);
        if (m->o.dropout > 0) /* 0 is no layer, and takes no key */
            x = ls_dropout(x, m->o.dropout, "dropout");
    }
    x = layer(b, x, m->o.hidden);
    start_layers(b);
    return x;
}

/* ------ What they say together ------ */

ls_node *ls__mean_number(ls_node *const *x, int64_t count)
{
    ls_node *sum = x[0];

    for (int64_t i = 1; i < count; i++)
        sum = ls_add(sum, x[i]);
    return count > 1 ? ls_scale_shift(sum, 1 / (double)count, 0) : sum;
}

/* Logits by the temperature, which is 1 in training and changes no bit. */
static ls_node *calibrated(const builder *b, ls_node *x)
{
    return b->temperature ? ls_div(x, b->temperature) : x;
}

static void make_temperature(builder *b)
{
    ls_init init = ls_init_constant(1);

    if (!b->m->o.calibrated || !b->m->classes)
        return;
    b->temperature = ls_buffer(b->g, "temperature", 1, &b->m->classes);
    ls_init_params(b->g, "temperature", &init);
}

/* The mean of the members' losses: each learns as if it were alone. */
static void loss(const builder *b, ls_node *const *out)
{
    static const int64_t one = 1;
    int64_t count = b->m->o.members;
    ls_node *y = b->m->classes ? ls_input(b->g, "y", LS_I32, 0, NULL)
                               : ls_input(b->g, "y", LS_F32, 1, &one);

    if (b->m->classes) {
        for (int64_t i = 0; i < count; i++)
            b->list[i] = ls_label_terms(calibrated(b, out[i]), y,
                                        b->m->o.smoothing);
        ls_loss(b->g, ls_mean_loss(ls__mean_number(b->list, count), NULL));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        b->list[i] = y;
    ls_loss(b->g, ls_mean_squared_error(join(out, count),
                                        join(b->list, count)));
}

ls_node *ls__mean_logits(ls_node **x, int64_t count)
{
    if (count == 1)
        return x[0];
    for (int64_t i = 0; i < count; i++)
        x[i] = ls_softmax(x[i]);
    return ls_log(ls_clamp(ls__mean_number(x, count), 0x1p-100, 1));
}

static void output(const builder *b, ls_node **out)
{
    const ls_realmlp_options *o = &b->m->o;

    if (b->m->classes) {
        ls_output(b->g, calibrated(b, ls__mean_logits(out, o->members)),
                  "logits");
        return;
    }
    for (int64_t i = 0; i < o->members; i++)
        b->list[i] = o->recipe == LS_REALMLP_TD && o->low < o->high
                         ? ls_clamp(out[i], o->low, o->high) : out[i];
    ls_output(b->g, ls__mean_number(b->list, o->members), "prediction");
}

void ls__realmlp_net(const ls_realmlp *m, ls_graph *g, bool probe)
{
    int64_t inputs = ls_coding_width(m->coding), members = m->o.members;
    builder b = {.m = m, .g = g, .probe = probe};
    ls_node *x = ls_input(g, "x", LS_F32, 1, &inputs), *number, *code, **out;

    b.list = ls__new((size_t)(inputs + 2 * members + 3), sizeof *b.list,
                     "a network");
    if (!b.list)
        return; /* a graph without a loss says so */
    out = b.list + inputs + members + 3;
    if (m->o.rounds)
        x = ls_round_bf16(x);
    number = numbers(&b, x);
    code = codes(&b, x);
    for (; b.member < members; b.member++)
        out[b.member] = member(&b, x, number, code);
    make_temperature(&b);
    loss(&b, out);
    if (!probe)
        output(&b, out);
    free(b.list);
}

void ls_realmlp_build(const ls_realmlp *realmlp, ls_graph *graph)
{
    LS__NEED_OR(realmlp, );
    LS__NEED_OR(graph, );
    ls__realmlp_net(realmlp, graph, false);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rule of the referee makes an element, and of what.  What is not here is
 * said by name. */
#include "record/evidence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t ONE = 0x3f800000;
enum { DEEP = 256 };

/* The element at hand, among rows of an operator. */
typedef struct asked {
    ls__evidence *e;
    const ls__said *n;
    const uint32_t *x, *dy; /* of input 0; by the node's value */
    int64_t width, in;      /* of a vector of the value; of input 0 */
    int64_t vectors;        /* of the chunk */
    uint32_t a, b;          /* claims */
} asked;

static int unknown(const char *what)
{
    return ls__fail(LS_ENOTSUP, "the referee does not know \"%s\" yet, or not "
                    "in this form: its element is known, and not judged",
                    what);
}

static bool is_what(const asked *q, const char *what, int64_t index)
{
    const ls__where *w = &q->e->of->place;

    return strcmp(w->what, what) == 0 && w->index == index;
}

/* The parameter's values before the step. */
static const uint32_t *param(const asked *q, int k, int64_t floats)
{
    const ls__said *s = ls__evidence_param(q->e, q->n, k);
    const ls__kept *all = ls__evidence_whole(q->e, "before", "parameters");

    return s && all && s->floats == floats && s->at + floats <= all->n
               ? all->x + s->at : NULL;
}

static void add_parts(const asked *q, bool began, int64_t n)
{
    uint32_t parts[1024];
    int64_t count = 0;

    if (began)
        parts[count++] = 1;
    for (; n > 0 && count < 1024; n -= DEEP)
        parts[count++] = (uint32_t)(n < DEEP ? n : DEEP);
    ls__evidence_list(q->e, "parts", count, parts, 1);
}

/* What another reader of the same value gave before, which is added to. */
static void add_addend(const asked *q)
{
    int64_t input = ls__evidence_input(q->n, (int)q->e->of->place.index);
    const uint32_t *addend =
        ls__evidence_gradient(q->e, input, q->n->node);

    if (addend)
        ls__evidence_word(q->e, "add", addend[q->e->element]);
}

/* The sum of a column of d over rows, after what earlier chunks gave. */
static int column(const asked *q, const uint32_t *d)
{
    const ls__where *w = &q->e->of->place;
    const ls__kept *c =
        ls__evidence_before(q->e, "dparam", q->n->node, w->index);
    uint32_t *all = malloc((size_t)(q->vectors + 1) * sizeof *all);
    int64_t n = 0;

    if (!all)
        return ls__no_memory("evidence", (size_t)q->vectors * 4);
    if (c)
        all[n++] = c->x[q->e->element];
    for (int64_t i = 0; i < q->vectors; i++)
        all[n++] = d[i * q->width + q->e->element];
    ls__evidence_rule(q->e, "column", q->a, q->b);
    ls__evidence_list(q->e, "a", n, all, 1);
    add_parts(q, c != NULL, q->vectors);
    free(all);
    return 0;
}

/* ------ dense ------ */

static int dense_dw(const asked *q)
{
    int64_t k = q->e->element / q->width, j = q->e->element % q->width;
    const ls__kept *c = ls__evidence_before(q->e, "dparam", q->n->node, 0);

    ls__evidence_rule(q->e, "product", q->a, q->b);
    if (c)
        ls__evidence_word(q->e, "c", c->x[q->e->element]);
    ls__evidence_list(q->e, "a", q->vectors, q->x + k, q->in);
    ls__evidence_list(q->e, "b", q->vectors, q->dy + j, q->width);
    return 0;
}

static int dense_dx(const asked *q, const uint32_t *w)
{
    int64_t i = q->e->element / q->in, k = q->e->element % q->in;

    ls__evidence_rule(q->e, "product", q->a, q->b);
    ls__evidence_list(q->e, "a", q->width, q->dy + i * q->width, 1);
    ls__evidence_list(q->e, "b", q->width, w + k * q->width, 1);
    add_addend(q);
    return 0;
}

static int dense_y(const asked *q, const uint32_t *w, const uint32_t *bias)
{
    int64_t i = q->e->element / q->width, j = q->e->element % q->width;

    ls__evidence_rule(q->e, "product", q->a, q->b);
    ls__evidence_list(q->e, "a", q->in, q->x + i * q->in, 1);
    ls__evidence_list(q->e, "b", q->in, w + j, q->width);
    if (bias)
        ls__evidence_word(q->e, "bias", bias[j]);
    return 0;
}

static int dense(const asked *q)
{
    const uint32_t *w = param(q, 0, q->in * q->width);
    const uint32_t *bias = param(q, 1, q->width);
    const char *precision = ls__evidence_option(q->e, "precision");
    bool has_bias = ls__evidence_param(q->e, q->n, 1);

    if (q->n->tied || !w || !q->x || (has_bias && !bias) || !precision ||
        strcmp(precision, "f32"))
        return unknown(q->n->op);
    if (is_what(q, "y", 0))
        return dense_y(q, w, bias);
    if (q->dy && is_what(q, "dx", 0))
        return dense_dx(q, w);
    if (q->dy && is_what(q, "dparam", 0))
        return dense_dw(q);
    return q->dy && is_what(q, "dparam", 1) ? column(q, q->dy)
                                            : unknown(q->n->op);
}

/* ------ layer norm ------ */

static int norm_y(const asked *q, const uint32_t *scale, const uint32_t *bias,
                  const uint32_t *kept)
{
    int64_t i = q->e->element / q->width, j = q->e->element % q->width;

    ls__evidence_rule(q->e, "norm", q->a, q->b);
    ls__evidence_word(q->e, "x", q->x[q->e->element]);
    ls__evidence_word(q->e, "mean", kept[2 * i]);
    ls__evidence_word(q->e, "r", kept[2 * i + 1]);
    ls__evidence_word(q->e, "scale", scale[j]);
    ls__evidence_word(q->e, "bias", bias[j]);
    return 0;
}

static int norm_stats(const asked *q)
{
    int64_t i = q->e->element / 2;

    ls__evidence_rule(q->e, "norm.stats", q->a, q->b);
    ls__evidence_list(q->e, "x", q->width, q->x + i * q->width, 1);
    ls__evidence_word(q->e, "at", (uint32_t)(q->e->element % 2));
    return 0;
}

static int norm_dx(const asked *q, const uint32_t *scale)
{
    int64_t i = q->e->element / q->width;

    ls__evidence_rule(q->e, "norm.back", q->a, q->b);
    ls__evidence_list(q->e, "x", q->width, q->x + i * q->width, 1);
    ls__evidence_list(q->e, "dy", q->width, q->dy + i * q->width, 1);
    ls__evidence_list(q->e, "scale", q->width, scale, 1);
    ls__evidence_word(q->e, "at", (uint32_t)(q->e->element % q->width));
    add_addend(q);
    return 0;
}

/* The first chunk's dscale, whose sum begins with it. */
static int norm_dscale(const asked *q, const uint32_t *kept)
{
    if (ls__evidence_before(q->e, "dparam", q->n->node, 0))
        return unknown("layer_norm, its scale after a later chunk");
    ls__evidence_rule(q->e, "norm.scale", q->a, q->b);
    ls__evidence_list(q->e, "dy", q->vectors, q->dy + q->e->element, q->width);
    ls__evidence_list(q->e, "x", q->vectors, q->x + q->e->element, q->width);
    ls__evidence_list(q->e, "mean", q->vectors, kept, 2);
    ls__evidence_list(q->e, "r", q->vectors, kept + 1, 2);
    add_parts(q, false, q->vectors);
    return 0;
}

static int layer_norm(const asked *q)
{
    const uint32_t *scale = param(q, 0, q->width);
    const uint32_t *bias = param(q, 1, q->width);
    const ls__kept *kept =
        ls__evidence_array(q->e, "forward", "kept", q->n->node, 0);

    if (!scale || !bias || !q->x || !kept || kept->n < 2 * q->vectors)
        return unknown(q->n->op);
    if (is_what(q, "y", 0))
        return norm_y(q, scale, bias, kept->x);
    if (is_what(q, "kept", 0) && q->e->element < 2 * q->vectors)
        return norm_stats(q);
    if (q->dy && is_what(q, "dx", 0))
        return norm_dx(q, scale);
    if (q->dy && is_what(q, "dparam", 0))
        return norm_dscale(q, kept->x);
    return q->dy && is_what(q, "dparam", 1) ? column(q, q->dy)
                                            : unknown(q->n->op);
}

/* ------ elementwise ------ */

/* Terms without constants, which the record does not hold. */
static bool is_term(const char *op)
{
    static const char *const names[] = {
        "gelu", "relu", "tanh", "sigmoid", "add", "sub", "mul", "div", "min",
        "max", "square", "sqrt", "exp", "log", "abs", "softplus", "silu"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(op, names[i]) == 0)
            return true;
    return false;
}

static int term(const asked *q)
{
    const uint32_t *b = ls__evidence_value(q->e,
                                           ls__evidence_input(q->n, 1));
    const uint32_t *y = ls__evidence_value(q->e, q->n->node);
    int64_t at = q->e->element;
    bool back = strcmp(q->e->of->place.what, "dx") == 0;
    char rule[64];

    if (!q->x || (back && !q->dy) || (!back && !is_what(q, "y", 0)) ||
        ls__evidence_gradient(
            q->e, ls__evidence_input(q->n, (int)q->e->of->place.index),
            q->n->node))
        return unknown(q->n->op);
    snprintf(rule, sizeof rule, "term.%s%s", q->n->op,
             !back ? "" : q->e->of->place.index ? ".b" : ".a");
    ls__evidence_rule(q->e, rule, q->a, q->b);
    ls__evidence_word(q->e, "a", q->x[at]);
    if (b)
        ls__evidence_word(q->e, "b", b[at]);
    if (back && y)
        ls__evidence_word(q->e, "y", y[at]);
    if (back)
        ls__evidence_word(q->e, "dy", q->dy[at]);
    return 0;
}

/* ------ cross entropy ------ */

static int cross_entropy(const asked *q)
{
    const uint32_t *label =
        ls__evidence_value(q->e, ls__evidence_input(q->n, 1));
    const ls__kept *w = ls__evidence_array(q->e, "rows", "weights of rows", 0,
                                           0);
    int64_t i = q->e->element / q->in;

    if (!is_what(q, "dx", 0) || !q->x || !label || w ||
        strcmp(q->n->op, "cross entropy"))
        return unknown(q->n->op);
    ls__evidence_rule(q->e, "cross_entropy.back", q->a, q->b);
    ls__evidence_list(q->e, "x", q->in, q->x + i * q->in, 1);
    ls__evidence_word(q->e, "label", label[i]);
    ls__evidence_word(q->e, "weight", ONE);
    ls__evidence_word(q->e, "at", (uint32_t)(q->e->element % q->in));
    return 0;
}

static int of_node(ls__evidence *e, uint32_t a, uint32_t b)
{
    const ls__said *n = ls__evidence_node(e, e->of->place.node), *in;
    asked q = {.e = e, .n = n, .a = a, .b = b};
    int64_t size;

    if (!n || !(in = ls__evidence_node(e, ls__evidence_input(n, 0))) ||
        !(q.in = ls__evidence_width(in->shape)) ||
        !(q.width = ls__evidence_width(n->shape)) ||
        !(size = ls__evidence_size(n->shape)))
        return unknown(e->of->place.op);
    q.vectors = e->of->place.rows * (size / q.width);
    q.x = ls__evidence_value(e, in->node);
    q.dy = ls__evidence_gradient(e, n->node, n->node);
    if (strcmp(n->op, "dense") == 0)
        return dense(&q);
    if (strcmp(n->op, "layer_norm") == 0)
        return layer_norm(&q);
    return is_term(n->op) ? term(&q) : cross_entropy(&q);
}

/* ------ what all devices share ------ */

static int mean(ls__evidence *e, uint32_t a, uint32_t b)
{
    const ls__kept *factor = ls__evidence_whole(e, "rule", "factor"), *g;
    const char *how = ls__evidence_option(e, "mean");
    uint32_t sum[64];
    int64_t devices = 0;

    while (devices < 64 && (g = ls__evidence_device(e, devices)) &&
           e->element < g->n)
        sum[devices++] = g->x[e->element];
    if (!factor || !devices || !how || strcmp(how, "exact"))
        return unknown("a mean of shards, or over more than 64 devices");
    ls__evidence_rule(e, "mean", a, b);
    ls__evidence_list(e, "a", devices, sum, 1);
    ls__evidence_word(e, "factor", factor->x[0]);
    return 0;
}

static int squares(ls__evidence *e, uint32_t a, uint32_t b)
{
    const ls__kept *g = ls__evidence_whole(e, "mean", "mean gradient");
    int64_t at = e->element * LS__LEAF;

    if (!g || at >= g->n)
        return unknown("squares");
    ls__evidence_rule(e, "squares", a, b);
    ls__evidence_list(e, "a", g->n - at < LS__LEAF ? g->n - at : LS__LEAF,
                      g->x + at, 1);
    return 0;
}

static int norm(ls__evidence *e, uint32_t a, uint32_t b)
{
    const ls__kept *g = ls__evidence_whole(e, "mean", "squares of blocks");

    if (!g)
        return unknown("the norm of a gradient that is not clipped");
    ls__evidence_rule(e, "norm.of_blocks", a, b);
    ls__evidence_list(e, "a", g->n, g->x, 1);
    return 0;
}

/* An option as the words of its double. */
static void add_option(ls__evidence *e, const char *name, const char *option)
{
    const char *text = ls__evidence_option(e, option);
    double x = text ? strtod(text, NULL) : 0;
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (text)
        ls__evidence_list(e, name, 2,
                          (uint32_t[]){(uint32_t)(bits >> 32),
                                       (uint32_t)bits}, 1);
}

static void add_clip(ls__evidence *e)
{
    const char *clip = ls__evidence_option(e, "clip_norm");
    float most = clip ? strtof(clip, NULL) : 0;
    uint32_t bits;

    memcpy(&bits, &most, sizeof bits);
    if (most > 0)
        ls__evidence_word(e, "clip", bits);
    if (most > 0)
        ls__evidence_word(e, "norm",
                          ls__evidence_whole(e, "rule", "norm")->x[0]);
}

/* Which of the arrays after an update: parameters 0, moments 1, 2. */
static int array_of(const ls__evidence *e, const ls__kept *moment[2])
{
    int count = 0, which = 0;

    for (int64_t i = 0; i < e->count; i++) {
        const ls__kept *k = &e->kept[i];

        if (strcmp(k->place.phase, "before") || !k->n ||
            strcmp(k->place.what, "parameters") == 0)
            continue;
        if (strcmp(k->place.what, "average") == 0 || count == 2)
            return -1;
        moment[count++] = k;
        if (strcmp(k->place.what, e->of->place.what) == 0)
            which = count;
    }
    return which;
}

static bool is_plain_update(const ls__evidence *e)
{
    static const char *const others[] = {"l2", "clip_value", "lazy", "amsgrad",
                                         "average"};
    const char *groups = ls__evidence_option(e, "groups");

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *text = ls__evidence_option(e, others[i]);

        if (text && strcmp(text, "0"))
            return false;
    }
    return !groups || strcmp(groups, "0") == 0;
}

static int update(ls__evidence *e, uint32_t a, uint32_t b)
{
    const char *kind = ls__evidence_option(e, "optimizer");
    const ls__kept *moment[2] = {0};
    const ls__kept *p = ls__evidence_whole(e, "before", "parameters");
    const ls__kept *g = ls__evidence_whole(e, "mean", "mean gradient");
    const ls__kept *lr = ls__evidence_whole(e, "rule", "-lr");
    int which = array_of(e, moment);
    int64_t at = e->element;
    char rule[64];

    if (!kind || which < 0 || !p || !g || !lr || at >= p->n || at >= g->n ||
        !is_plain_update(e) || !ls__evidence_whole(e, "rule", "norm"))
        return unknown("an update with groups, l2, an average, or clipped by "
                       "value");
    snprintf(rule, sizeof rule, "update.%.20s", kind);
    ls__evidence_rule(e, rule, a, b);
    ls__evidence_word(e, "g", g->x[at]);
    ls__evidence_word(e, "lr", lr->x[0] ^ 0x80000000);
    ls__evidence_word(e, "p", p->x[at]);
    for (int i = 0; i < 2 && moment[i]; i++)
        ls__evidence_word(e, i ? "mb" : "ma", moment[i]->x[at]);
    ls__evidence_word(e, "n", (uint32_t)json_integer_value(json_object_get(
                                  e->head, "step")) + 1);
    add_option(e, "ba", "b1");
    add_option(e, "bb", "b2");
    add_option(e, "eps", "eps");
    add_option(e, "decay", "decay");
    add_option(e, "momentum", "momentum");
    add_option(e, "wd", "weight_decay");
    add_clip(e);
    ls__evidence_word(e, "at", (uint32_t)which);
    return 0;
}

int ls__evidence_make(ls__evidence *e, uint32_t a, uint32_t b)
{
    const ls__where *w = &e->of->place;

    if (w->op && *w->op)
        return of_node(e, a, b);
    if (strcmp(w->what, "mean gradient") == 0)
        return mean(e, a, b);
    if (strcmp(w->what, "squares of blocks") == 0)
        return squares(e, a, b);
    if (strcmp(w->what, "norm") == 0)
        return norm(e, a, b);
    if (strcmp(w->phase, "after") == 0)
        return update(e, a, b);
    if (strcmp(w->phase, "rows") == 0 || strcmp(w->phase, "before") == 0)
        return ls__fail(LS_ENOTSUP, "%s was not computed in this step: one "
                        "side's batch or memory is another", w->what);
    return unknown(w->what);
}

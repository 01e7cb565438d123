/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of norms. */
#include "record/evidence_rules.h"

/* ------ layer norm, rms norm: a list is a vector ------ */

static void give_row(const ls__asked *q, const char *name, const uint32_t *x)
{
    int64_t first = q->at - q->at % q->width;

    ls__evidence_list(q->e, name, q->width, x + first, 1);
}

static void give_columns(const ls__asked *q)
{
    ls__evidence_list(q->e, "dy", q->vectors, q->dy + q->at, q->width);
    ls__evidence_list(q->e, "x", q->vectors, q->x + q->at, q->width);
}

/* Records of before it was an attribute have none: the referee knows 1e-6. */
static void give_epsilon(const ls__asked *q)
{
    if (ls__evidence_of(q->n, "epsilon"))
        ls__evidence_word(q->e, "eps", ls__asked_real(q, "epsilon"));
}

static int norm_stats(const ls__asked *q)
{
    int64_t i = q->at / 2;

    ls__asked_rule(q, "norm.stats");
    ls__evidence_list(q->e, "x", q->width, q->x + i * q->width, 1);
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % 2));
    give_epsilon(q);
    return 0;
}

static int norm_y(const ls__asked *q, const uint32_t *stats,
                  const uint32_t *scale, const uint32_t *bias)
{
    ls__asked_rule(q, "norm");
    ls__evidence_number(q->e, "x", &q->x[q->at]);
    ls__evidence_number(q->e, "mean", &stats[0]);
    ls__evidence_number(q->e, "r", &stats[1]);
    ls__evidence_number(q->e, "scale", scale);
    ls__evidence_number(q->e, "bias", bias);
    return 0;
}

static int norm_dx(const ls__asked *q, const uint32_t *scale)
{
    ls__asked_rule(q, "norm.back");
    give_row(q, "x", q->x);
    give_row(q, "dy", q->dy);
    ls__evidence_list(q->e, "scale", q->width, scale, 1);
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % q->width));
    give_epsilon(q);
    ls__asked_addend(q);
    return 0;
}

static int norm_dscale(const ls__asked *q, const uint32_t *kept)
{
    ls__asked_rule(q, "norm.scale");
    ls__asked_before(q);
    give_columns(q);
    ls__evidence_list(q->e, "mean", q->vectors, kept, 2);
    ls__evidence_list(q->e, "r", q->vectors, kept + 1, 2);
    return 0;
}

int ls__evidence_layer_norm(const ls__asked *q)
{
    const uint32_t *scale = ls__asked_param(q, 0, q->width);
    const uint32_t *bias = ls__asked_param(q, 1, q->width);
    const uint32_t *kept =
        ls__asked_shown(q, "forward", "kept", 2 * q->vectors);
    int64_t i = q->at / q->width, j = q->at % q->width;

    if (!scale || !bias || !kept)
        return ls__asked_unknown("layer_norm");
    if (ls__asked_y(q))
        return norm_y(q, kept + 2 * i, scale + j, bias + j);
    if (ls__asked_what(q, "kept"))
        return norm_stats(q);
    if (ls__asked_dx(q, 0))
        return norm_dx(q, scale);
    if (ls__asked_dparam(q, 0))
        return norm_dscale(q, kept);
    return ls__asked_dparam(q, 1) ? ls__asked_column(q, q->dy)
                                  : ls__asked_unknown("layer_norm");
}

static int rms_dx(const ls__asked *q, const uint32_t *scale)
{
    ls__asked_rule(q, "rms_norm.back");
    give_row(q, "x", q->x);
    give_row(q, "dy", q->dy);
    ls__evidence_list(q->e, "scale", q->width, scale, 1);
    ls__evidence_word(q->e, "eps", ls__asked_real(q, "epsilon"));
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % q->width));
    ls__asked_addend(q);
    return 0;
}

int ls__evidence_rms_norm(const ls__asked *q)
{
    const uint32_t *scale = ls__asked_param(q, 0, q->width);
    const uint32_t *r = ls__asked_shown(q, "forward", "kept", q->vectors);

    if (!scale || !r)
        return ls__asked_unknown("rms_norm");
    if (ls__asked_dx(q, 0))
        return rms_dx(q, scale);
    if (ls__asked_what(q, "kept")) {
        ls__asked_rule(q, "rms_norm.stats");
        ls__evidence_list(q->e, "x", q->width, q->x + q->at * q->width, 1);
        ls__evidence_word(q->e, "eps", ls__asked_real(q, "epsilon"));
    } else if (ls__asked_y(q)) {
        ls__asked_rule(q, "rms_norm");
        ls__evidence_number(q->e, "x", &q->x[q->at]);
        ls__evidence_number(q->e, "r", &r[q->at / q->width]);
        ls__evidence_number(q->e, "scale", &scale[q->at % q->width]);
    } else if (ls__asked_dparam(q, 0)) {
        ls__asked_rule(q, "norm.scale");
        ls__asked_before(q);
        give_columns(q);
        ls__evidence_list(q->e, "r", q->vectors, r, 1);
    } else {
        return ls__asked_unknown("rms_norm");
    }
    return 0;
}

/* ------ group norm: a list is a group of a row ------ */

typedef struct group {
    int64_t groups, run, pixels;
    const uint32_t *scale, *bias, *kept;
} group;

/* Give a group of an array like x, `step` being the width, or 0 of one like its
 * channels. */
static void give_group(const ls__asked *q, const group *g, const char *name,
                       int64_t list, const uint32_t *x, int64_t step)
{
    x += list / g->groups * g->pixels * step + list % g->groups * g->run;
    ls__evidence_begin(q->e, name);
    for (int64_t p = 0; p < g->pixels; p++, x += step)
        for (int64_t c = 0; c < g->run; c++)
            ls__evidence_take(q->e, x + c);
    ls__evidence_end(q->e);
}

static int group_dx(const ls__asked *q, const group *g, int64_t list)
{
    int64_t at = q->at % q->size / q->width * g->run;

    ls__asked_rule(q, "norm.back");
    give_group(q, g, "x", list, q->x, q->width);
    give_group(q, g, "dy", list, q->dy, q->width);
    give_group(q, g, "scale", list % g->groups, g->scale, 0);
    ls__evidence_word(q->e, "at",
                      (uint32_t)(at + q->at % q->width % g->run));
    give_epsilon(q);
    ls__asked_addend(q);
    return 0;
}

/* Give what a group has once, for each pixel of its rows. */
static void give_stats(const ls__asked *q, const group *g, const char *name,
                       int k)
{
    int64_t of = q->at / g->run;

    ls__evidence_begin(q->e, name);
    for (int64_t i = 0; i < q->rows * g->pixels; i++)
        ls__evidence_take(q->e, g->kept +
                                    2 * (i / g->pixels * g->groups + of) + k);
    ls__evidence_end(q->e);
}

/* Sum the pixels of each row by themselves. */
static int group_dparam(const ls__asked *q, const group *g, bool scale)
{
    ls__asked_rule(q, scale ? "norm.scale.pixels" : "column");
    ls__asked_before(q);
    ls__evidence_begin(q->e, "parts");
    for (int64_t i = 0; i < q->rows; i++)
        ls__evidence_say(q->e, (uint32_t)g->pixels);
    ls__evidence_end(q->e);
    if (!scale) {
        ls__evidence_list(q->e, "a", q->vectors, q->dy + q->at, q->width);
        return 0;
    }
    give_columns(q);
    give_stats(q, g, "mean", 0);
    give_stats(q, g, "r", 1);
    return 0;
}

/* Make what one element gives to its channel's scale or bias; those of a group
 * stand together. */
static int group_shown(const ls__asked *q, const group *g, bool scale)
{
    int64_t size = g->pixels * g->run, list = q->at / size, i = q->at % size;
    int64_t at = list / g->groups * q->size + list % g->groups * g->run +
                 i / g->run * q->width + i % g->run;

    ls__asked_rule(q, scale ? "norm.scale.pixels" : "adds");
    ls__evidence_number(q->e, scale ? "dy" : "a", &q->dy[at]);
    if (!scale)
        return 0;
    ls__evidence_number(q->e, "x", &q->x[at]);
    ls__evidence_number(q->e, "mean", &g->kept[2 * list]);
    ls__evidence_number(q->e, "r", &g->kept[2 * list + 1]);
    return 0;
}

static int group_stats(const ls__asked *q, const group *g)
{
    ls__asked_rule(q, "norm.stats");
    give_group(q, g, "x", q->at / 2, q->x, q->width);
    ls__evidence_word(q->e, "at", (uint32_t)(q->at % 2));
    give_epsilon(q);
    return 0;
}

static int group_backward(const ls__asked *q, const group *g, int64_t list)
{
    if (q->dy && ls__asked_what(q, "dscale of pixels"))
        return group_shown(q, g, true);
    if (q->dy && ls__asked_what(q, "dbias of pixels"))
        return group_shown(q, g, false);
    if (ls__asked_dx(q, 0))
        return group_dx(q, g, list);
    return ls__asked_dparam(q, 0) || ls__asked_dparam(q, 1)
               ? group_dparam(q, g, q->e->of->place.index == 0)
               : ls__asked_unknown("group_norm");
}

int ls__evidence_group_norm(const ls__asked *q)
{
    group g = {.groups = ls__asked_of(q, "groups", 1),
               .scale = ls__asked_param(q, 0, q->width),
               .bias = ls__asked_param(q, 1, q->width)};
    int64_t c = q->at % q->width, list;

    if (g.groups < 1 || q->width % g.groups || !g.scale || !g.bias)
        return ls__asked_unknown("group_norm");
    g.kept = ls__asked_shown(q, "forward", "kept", 2 * g.groups * q->rows);
    g.run = q->width / g.groups;
    g.pixels = q->size / q->width;
    list = q->at / q->size * g.groups + c / g.run;
    if (!g.kept)
        return ls__asked_unknown("group_norm");
    if (ls__asked_what(q, "kept"))
        return group_stats(q, &g);
    return ls__asked_y(q) ? norm_y(q, g.kept + 2 * list, g.scale + c,
                                   g.bias + c)
                          : group_backward(q, &g, list);
}

/* ------ batch norm ------ */

static void give_channel(const ls__asked *q, const uint32_t *const p[4],
                         int64_t j)
{
    ls__evidence_number(q->e, "scale", &p[0][j]);
    ls__evidence_number(q->e, "var", &p[3][j]);
    ls__evidence_word(q->e, "eps", ls__asked_real(q, "epsilon"));
}

/* All four parameters get theirs from the same two columns. */
static int batch_dparam(const ls__asked *q, const uint32_t *const p[4])
{
    ls__asked_rule(q, "batch_norm.params");
    ls__asked_before(q);
    ls__evidence_list(q->e, "dy", q->vectors, q->dy + q->at, q->width);
    ls__evidence_list(q->e, "x", q->vectors, q->x + q->at, q->width);
    ls__evidence_number(q->e, "mean", &p[2][q->at]);
    give_channel(q, p, q->at);
    ls__evidence_word(q->e, "at", (uint32_t)q->e->of->place.index);
    return 0;
}

int ls__evidence_batch_norm(const ls__asked *q)
{
    const uint32_t *p[4];
    int64_t j = q->at % q->width;
    int status;

    if (ls__evidence_by_rows(q, &status))
        return status;
    for (int k = 0; k < 4; k++)
        if (!(p[k] = ls__asked_param(q, k, q->width)))
            return ls__asked_unknown("batch_norm");
    if (ls__asked_what(q, "dparam") && q->dy)
        return batch_dparam(q, p);
    if (!ls__asked_y(q) && !ls__asked_dx(q, 0))
        return ls__asked_unknown("batch_norm");
    ls__asked_rule(q, ls__asked_y(q) ? "batch_norm" : "batch_norm.back");
    give_channel(q, p, j);
    if (ls__asked_y(q)) {
        ls__evidence_number(q->e, "x", &q->x[q->at]);
        ls__evidence_number(q->e, "mean", &p[2][j]);
        ls__evidence_number(q->e, "bias", &p[1][j]);
    } else {
        ls__evidence_number(q->e, "dy", &q->dy[q->at]);
        ls__asked_addend(q);
    }
    return 0;
}

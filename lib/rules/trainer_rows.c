/* SPDX-License-Identifier: BSD-3-Clause */
/* See trainer_rows.h.  Names and texts stand in checkpoints, for ever. */
#include "rules/trainer_rows.h"
#include "base/assert.h"
#include "base/precision.h"
#include "base/real_text.h"
#include "rules/optim.h"
#include "rules/schedule.h"

#include <stdio.h>
#include <string.h>

typedef ls_trainer_options options;

/* ------ numbers ------ */

static const void *in(const options *o, const ls__member *m)
{
    return (const char *)o + m->at;
}

static void put_int64(ls__facts *f, const ls__member *m, const options *o,
                      ls__whose to)
{
    (void)to;
    ls__facts_put(f, m->name, "%lld", (long long)*(const int64_t *)in(o, m));
}

static void put_bool(ls__facts *f, const ls__member *m, const options *o,
                     ls__whose to)
{
    (void)to;
    ls__facts_put(f, m->name, "%d", *(const bool *)in(o, m));
}

static void put_real(ls__facts *f, const ls__member *m, const options *o,
                     ls__whose to)
{
    (void)to;
    ls__facts_put_real(f, m->name, *(const double *)in(o, m));
}

/* One that checkpoints name where it is not 0. */
static void put_if_on(ls__facts *f, const ls__member *m, const options *o,
                      ls__whose to)
{
    if (to == LS__OF_RANKS || *(const double *)in(o, m) != 0)
        put_real(f, m, o, to);
}

static void put_word(ls__facts *f, const ls__member *m, const options *o,
                     ls__whose to)
{
    int word;

    (void)to;
    LS__ASSERT(m->bytes == sizeof word);
    memcpy(&word, in(o, m), sizeof word);
    ls__facts_put(f, m->name, "%s", m->words[word]);
}

static void put_precision(ls__facts *f, const ls__member *m, const options *o,
                          ls__whose to)
{
    (void)to;
    ls__facts_put(f, m->name, "%s", ls__precision_name(o->precision));
}

/* 0 means 1. */
static void put_micro(ls__facts *f, const ls__member *m, const options *o,
                      ls__whose to)
{
    (void)to;
    ls__facts_put(f, m->name, "%d", o->accumulate ? o->accumulate : 1);
}

/* ------ choices ------ */

/* Its name and its options: the momentum of adam is nobody's contradiction. */
static void put_choice(ls__facts *f, const ls__choice *c, const void *of,
                       ls__whose to)
{
    const ls__option *o;

    ls__facts_put(f, c->what, "%s", c->name);
    for (int i = 0; (o = ls__choice_option(c, i)); i++) {
        double value = ls__option_get(o, of);

        if (o->type == LS__WHOLE)
            ls__facts_put(f, o->name, "%lld", (long long)value);
        else if (o->type == LS__REAL || value != 0 || to == LS__OF_RANKS)
            ls__facts_put_real(f, o->name, value);
    }
}

static void put_optimizer(ls__facts *f, const ls__member *m, const options *o,
                          ls__whose to)
{
    (void)m;
    put_choice(f, ls__optim_choice(o->optimizer.kind), &o->optimizer, to);
    ls__facts_put_real(f, "lr", o->optimizer.lr);
}

static void put_schedule(ls__facts *f, const ls__member *m, const options *o,
                         ls__whose to)
{
    const ls_schedule *s = &o->schedule;
    char name[64];

    (void)m;
    put_choice(f, ls__schedule_choice(s->kind), s, to);
    if (!ls__schedule_has_boundaries(s->kind))
        return;
    if (to == LS__OF_RANKS)
        ls__facts_put(f, "boundaries", "%d", s->n_boundaries);
    for (int i = 0; i < s->n_boundaries; i++) {
        snprintf(name, sizeof name, "boundary %lld",
                 (long long)s->boundaries[i].update);
        ls__facts_put_real(f, name, s->boundaries[i].factor);
    }
}

/* Put it in one line, where it is not all zero. */
static void put_share(ls__facts *f, const ls__member *m, const options *o,
                      ls__whose to)
{
    const ls_schedule *s = in(o, m);
    const ls__choice *c = ls__schedule_choice(s->kind);
    char text[256], value[LS__REAL_TEXT];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", c->name);
    const ls__option *each;

    if (to != LS__OF_RANKS && s->kind == LS_CONSTANT && s->warmup == 0)
        return;
    for (int i = 0; (each = ls__choice_option(c, i)) && n < sizeof text; i++) {
        ls__real_text(value, ls__option_get(each, s));
        n += (size_t)snprintf(text + n, sizeof text - n, ", %s %s", each->name,
                              value);
    }
    ls__facts_put(f, m->name, "%s", text);
}

/* ------ groups, keys ------ */

static void put_group(ls__facts *f, int i, const ls_group *g)
{
    char name[32], rate[LS__REAL_TEXT], decay[LS__REAL_TEXT];

    snprintf(name, sizeof name, "group %d", i);
    ls__real_text(rate, g->rate);
    ls__real_text(decay, g->decay);
    ls__facts_put(f, name, "%s%s: rate %s, decay %s%s", g->names,
                  g->vectors ? " (vectors)" : "", rate, decay,
                  g->frozen ? ", frozen" : "");
}

/* Their number too, so that one more is found as one less is. */
static void put_groups(ls__facts *f, const ls__member *m, const options *o,
                       ls__whose to)
{
    (void)m;
    if (to == LS__OF_RANKS)
        ls__facts_put(f, "the number of groups", "%d", o->n_groups);
    for (int i = 0; i < o->n_groups; i++)
        put_group(f, i, &o->groups[i]);
    if (to == LS__OF_RUN)
        ls__facts_put(f, "groups", "%d", o->n_groups);
}

static void put_key(ls__facts *f, const ls__member *m, const options *o,
                    ls__whose to)
{
    (void)to;
    if (o->own_dropout_key)
        ls__facts_put(f, m->name, "%08x %08x", o->dropout_key.word[0],
                      o->dropout_key.word[1]);
    else
        ls__facts_put(f, m->name, "of the seed");
}

/* ------ the rows ------ */

static const char *const keys[] = {
    [LS_KEYS_NNX] = "nnx", [LS_KEYS_LINEN] = "linen"};
static const char *const means[] = {
    [LS_MEAN_EXACT] = "exact", [LS_MEAN_OF_SHARDS] = "of shards",
    [LS_SUM] = "sum"};

static const char *const whose_rows[] = {
    [LS_ROWS_ALL] = "all", [LS_ROWS_MOVED] = "moved", [LS_ROWS_KEPT] = "kept"};

#define ROW(member) \
    .name = #member, .at = offsetof(options, member), \
    .bytes = sizeof(((options *)0)->member)
#define EACH .whose = LS__OF_EACH
#define RANKS .whose = LS__OF_RANKS

/* The members in the order in which a difference is told. */
const ls__member ls__trainer_members[] = {
    {ROW(size), EACH},
    {ROW(seed), .put = put_int64},
    {ROW(keys), .put = put_word, .words = keys},
    {ROW(optimizer), .put = put_optimizer},
    {ROW(schedule), .put = put_schedule},
    {ROW(clip_norm), .put = put_real},
    {ROW(clip_value), .put = put_if_on},
    {ROW(accumulate), .put = put_micro},
    {ROW(mean), .put = put_word, .words = means},
    {ROW(precision), .put = put_precision},
    {ROW(average), .put = put_if_on},
    {ROW(decay_schedule), .put = put_share},
    {ROW(dropout_schedule), .put = put_share},
    {ROW(groups)}, /* told with their number */
    {ROW(n_groups), .put = put_groups},
    {ROW(own_dropout_key)}, /* told with the key */
    {ROW(dropout_key), .put = put_key},
    {ROW(even_rows), RANKS, .put = put_bool},
    {ROW(rows), RANKS, .put = put_word, .words = whose_rows},
    /* Place of memory, tests, time of messages. */
    {ROW(state), EACH},
    {ROW(check_divergence), EACH},
    {ROW(bucket), EACH},
    {ROW(check), EACH},
    /* The maker of products, and the number of devices, are facts. */
    {ROW(backend), EACH},
    {ROW(data_axis), EACH},
    {ROW(transport), EACH},
    {.name = NULL}};

void ls__trainer_rows_put(ls__facts *f, const options *o, ls__whose to)
{
    for (const ls__member *m = ls__trainer_members; m->name; m++)
        if (m->put && m->whose <= to)
            m->put(f, m, o, to);
}

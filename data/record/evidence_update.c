/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of what follows the operators: a device's sum, the mean of all, its
 * norm, the learning rate, the update. */
#include "record/evidence_rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct side {
    ls__evidence *e;
    uint32_t a, b; /* claims */
} side;

static int rule(const side *s, const char *name)
{
    ls__evidence_rule(s->e, name, s->a, s->b);
    return 0;
}

/* ------ options ------ */

static void add_real(const side *s, const char *name, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    ls__evidence_begin(s->e, name);
    ls__evidence_say(s->e, (uint32_t)(bits >> 32));
    ls__evidence_say(s->e, (uint32_t)bits);
    ls__evidence_end(s->e);
}

/* Add an option as the words of its double, or as a whole number, if there is
 * one. */
static void add_option(const side *s, const char *name, const char *option,
                       bool whole)
{
    const char *text = ls__evidence_option(s->e, option);

    if (text && whole)
        ls__evidence_word(s->e, name, (uint32_t)strtoll(text, NULL, 10));
    else if (text)
        add_real(s, name, strtod(text, NULL));
}

static bool is_set(const side *s, const char *option)
{
    const char *text = ls__evidence_option(s->e, option);

    return text && strcmp(text, "0") != 0;
}

static uint32_t step_of(const side *s)
{
    return (uint32_t)json_integer_value(json_object_get(s->e->head, "step"));
}

/* ------ a device's sum ------ */

static const ls__said *slot_of(const ls__evidence *e, int64_t at)
{
    for (int i = 0; i < e->slots; i++)
        if (at >= e->slot[i].at && at < e->slot[i].at + e->slot[i].floats)
            return &e->slot[i];
    return NULL;
}

/* Add what the last chunk of each micro-batch left, one after the other. */
static int device_sum(const side *s)
{
    ls__evidence *e = s->e;
    int64_t micro = json_integer_value(json_object_get(e->head, "micro"));
    const ls__said *slot = slot_of(e, e->element);
    int found = 0;

    rule(s, "adds");
    for (int64_t m = 0; m < micro && slot; m++) {
        const ls__kept *k = ls__evidence_before(e, e->of, m, slot->name);

        if (!k)
            continue;
        if (found++ == 1)
            ls__evidence_begin(e, "a");
        if (found == 1)
            ls__evidence_number(e, "c", &k->x[e->element - slot->at]);
        else
            ls__evidence_take(e, &k->x[e->element - slot->at]);
    }
    if (found < 2)
        ls__evidence_begin(e, "a");
    if (found < 2)
        ls__evidence_say(e, found ? 0x80000000 : 0);
    ls__evidence_end(e);
    return 0;
}

/* ------ the mean ------ */

static bool is_exact(const side *s)
{
    const char *how = ls__evidence_option(s->e, "mean");

    return how && strcmp(how, "exact") == 0;
}

static int mean(const side *s)
{
    const ls__kept *factor = ls__evidence_whole(s->e, "rule", "factor"), *g;

    if (!factor || !ls__evidence_device(s->e, "gradient", 0))
        return ls__asked_unknown("a mean without a factor");
    rule(s, "mean");
    ls__evidence_begin(s->e, "a");
    for (int64_t d = 0; (g = ls__evidence_device(s->e, "gradient", d)); d++)
        ls__evidence_take(s->e, &g->x[s->e->element]);
    ls__evidence_end(s->e);
    ls__evidence_number(s->e, "factor", factor->x);
    return 0;
}

static int factor(const side *s)
{
    const ls__kept *w;

    if (!is_exact(s))
        return ls__asked_unknown("the factor of a mean of shards");
    rule(s, "factor");
    ls__evidence_begin(s->e, "w");
    for (int64_t d = 0; (w = ls__evidence_device(s->e, "weight", d)); d++)
        for (int k = 0; k < 2; k++)
            ls__evidence_take(s->e, &w->x[k]);
    ls__evidence_end(s->e);
    return 0;
}

static int squares(const side *s)
{
    const ls__kept *g = ls__evidence_whole(s->e, "mean", "mean gradient");
    int64_t at = s->e->element * LS__LEAF;

    if (!g || at >= g->n)
        return ls__asked_unknown("squares");
    rule(s, "squares");
    ls__evidence_list(s->e, "a", g->n - at < LS__LEAF ? g->n - at : LS__LEAF,
                      g->x + at, 1);
    return 0;
}

static int norm(const side *s)
{
    const ls__kept *g = ls__evidence_whole(s->e, "mean", "squares of blocks");

    if (!g)
        return ls__asked_unknown("the norm of a gradient that is not clipped");
    rule(s, "norm.of_blocks");
    ls__evidence_list(s->e, "a", g->n, g->x, 1);
    return 0;
}

/* ------ the learning rate ------ */

static int by_update(const void *a, const void *b)
{
    long long x = strtoll(*(const char *const *)a, NULL, 10);
    long long y = strtoll(*(const char *const *)b, NULL, 10);

    return (x > y) - (x < y);
}

/* Add the options "boundary N" of a rate that falls in steps. */
static void add_boundaries(const side *s)
{
    json_t *options = json_object_get(s->e->head, "options"), *value;
    const char *name, *of[256];
    char full[64];
    size_t n = 0;

    json_object_foreach (options, name, value)
        if (strncmp(name, "boundary ", 9) == 0 && n < 256)
            of[n++] = name + 9;
    if (n == 0)
        return;
    qsort(of, n, sizeof *of, by_update);
    ls__evidence_begin(s->e, "bounds");
    for (size_t i = 0; i < n; i++)
        ls__evidence_say(s->e, (uint32_t)strtoll(of[i], NULL, 10));
    ls__evidence_end(s->e);
    ls__evidence_begin(s->e, "factors");
    for (size_t i = 0; i < n; i++) {
        double x;
        uint64_t bits;

        snprintf(full, sizeof full, "boundary %.40s", of[i]);
        x = strtod(ls__evidence_option(s->e, full), NULL);
        memcpy(&bits, &x, sizeof bits);
        ls__evidence_say(s->e, (uint32_t)(bits >> 32));
        ls__evidence_say(s->e, (uint32_t)bits);
    }
    ls__evidence_end(s->e);
}

/* Make the rate, of which the record has the negative. */
static int rate(const side *s)
{
    static const struct {
        const char *name, *option;
        bool whole;
    } of[] = {{"steps", "decay_steps", true}, {"warmup", "warmup", true},
              {"end", "end_lr", false}, {"rate", "decay_rate", false},
              {"power", "power", false}, {"cycle", "cycle_factor", true},
              {"restart", "restart_factor", false},
              {"start", "pct_start", false}, {"final", "pct_final", false},
              {"div", "div_factor", false},
              {"last", "final_div_factor", false}};
    const char *kind = ls__evidence_option(s->e, "schedule");
    const ls__kept *peak = ls__evidence_whole(s->e, "rule", "peak rate");
    char name[40];

    if (!kind || !peak || peak->n != 2)
        return ls__asked_unknown("a learning rate without its peak");
    snprintf(name, sizeof name, "schedule.%.20s", kind);
    rule(s, name);
    ls__evidence_word(s->e, "neg", 1);
    ls__evidence_list(s->e, "peak", 2, peak->x, 1);
    ls__evidence_word(s->e, "done", step_of(s));
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        add_option(s, of[i].name, of[i].option, of[i].whole);
    add_boundaries(s);
    return 0;
}

static int bias_correction(const side *s, const char *option)
{
    rule(s, "correction");
    add_option(s, "b", option, false);
    if (!ls__evidence_option(s->e, option))
        add_real(s, "b", 0);
    ls__evidence_word(s->e, "n", step_of(s) + 1);
    return 0;
}

/* ------ the update ------ */

/* Add what turns the gradient into what the update reads. */
static void add_clip(const side *s)
{
    const char *clip = ls__evidence_option(s->e, "clip_norm");
    const char *most = ls__evidence_option(s->e, "clip_value");

    if (is_set(s, "clip_norm")) {
        ls__evidence_word(s->e, "clip", ls__asked_bits(strtof(clip, NULL)));
        ls__evidence_number(s->e, "norm",
                            ls__evidence_whole(s->e, "rule", "norm")->x);
    }
    if (is_set(s, "clip_value"))
        ls__evidence_word(s->e, "most", ls__asked_bits(strtof(most, NULL)));
    if (is_set(s, "l2"))
        add_option(s, "l", "l2", false);
}

/* Find which of the arrays after an update it is: parameters 0, moments 1 to
 * 3. */
static int array_of(const ls__evidence *e, const ls__kept *moment[3])
{
    int count = 0, which = 0;

    for (int64_t i = 0; i < e->count; i++) {
        const ls__kept *k = &e->kept[i];

        if (strcmp(k->place.phase, "before") || !k->n || count == 3 ||
            strcmp(k->place.what, "parameters") == 0 ||
            strcmp(k->place.what, "average") == 0)
            continue;
        moment[count++] = k;
        if (strcmp(k->place.what, e->of->place.what) == 0)
            which = count;
    }
    return which;
}

static int average(const side *s)
{
    const ls__kept *p = ls__evidence_whole(s->e, "after", "parameters");
    const ls__kept *was = ls__evidence_whole(s->e, "before", "average");

    if (!p || !was || !is_set(s, "average"))
        return ls__asked_unknown("an average of weights in this form");
    rule(s, "average");
    ls__evidence_number(s->e, "p", &p->x[s->e->element]);
    ls__evidence_number(s->e, "e", &was->x[s->e->element]);
    add_option(s, "decay", "average", false);
    return 0;
}

static void add_options(const side *s)
{
    static const char *const of[][2] = {
        {"ba", "b1"}, {"bb", "b2"}, {"eps", "eps"}, {"decay", "decay"},
        {"momentum", "momentum"}, {"wd", "weight_decay"}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        add_option(s, of[i][0], of[i][1], false);
}

static int update(const side *s)
{
    const char *kind = ls__evidence_option(s->e, "optimizer");
    const ls__kept *moment[3] = {0};
    const ls__kept *p = ls__evidence_whole(s->e, "before", "parameters");
    const ls__kept *g = ls__evidence_whole(s->e, "mean", "mean gradient");
    const ls__kept *lr = ls__evidence_whole(s->e, "rule", "-lr");
    int which = array_of(s->e, moment);
    int64_t at = s->e->element;
    char name[64];

    if (strcmp(s->e->of->place.what, "average") == 0)
        return average(s);
    if (is_set(s, "groups") || is_set(s, "lazy") ||
        is_set(s, "decay_schedule"))
        return ls__asked_unknown("an update with groups of parameters, with a "
                                 "schedule of weight decay, or a lazy one");
    if (!kind || !p || !g || !lr || at >= p->n || at >= g->n ||
        !ls__evidence_whole(s->e, "rule", "norm"))
        return ls__asked_unknown("an update");
    snprintf(name, sizeof name, "update.%.20s", kind);
    rule(s, name);
    ls__evidence_number(s->e, "g", &g->x[at]);
    ls__evidence_number(s->e, "neg", lr->x);
    ls__evidence_number(s->e, "p", &p->x[at]);
    for (int i = 0; i < 3 && moment[i]; i++)
        ls__evidence_number(s->e, (const char *[]){"ma", "mb", "mc"}[i],
                            &moment[i]->x[at]);
    ls__evidence_word(s->e, "n", step_of(s) + 1);
    add_options(s);
    add_clip(s);
    ls__evidence_word(s->e, "at", (uint32_t)which);
    return 0;
}

/* ------ all ------ */

int ls__evidence_shared(ls__evidence *e, uint32_t a, uint32_t b)
{
    const side s = {e, a, b};
    static const struct {
        const char *what;
        int (*make)(const side *s);
    } of[] = {{"gradient", device_sum}, {"mean gradient", mean},
              {"factor", factor}, {"squares of blocks", squares},
              {"norm", norm}, {"-lr", rate}};
    const ls__where *w = &e->of->place;

    if (strcmp(w->phase, "rows") == 0 || strcmp(w->phase, "before") == 0)
        return ls__fail(LS_ENOTSUP, "%s was not computed in this step: one "
                        "side's batch or memory is another", w->what);
    if (strcmp(w->phase, "after") == 0)
        return update(&s);
    if (strcmp(w->what, "r1") == 0 || strcmp(w->what, "r2") == 0)
        return bias_correction(&s, w->what[1] == '1' ? "b1" : "b2");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(w->what, of[i].what) == 0)
            return of[i].make(&s);
    return ls__asked_unknown(w->what);
}

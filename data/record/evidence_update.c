/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence of what follows the operators: a device's sum, the mean of all, its
 * norm, the update.  Losses and rates have files of their own. */
#include "record/evidence_rules.h"
#include "base/pattern.h"

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

/* Add an option as the words of its double, if there is one. */
static void add_option(const side *s, const char *name, const char *option)
{
    const char *text = ls__evidence_option(s->e, option);

    if (text)
        ls__evidence_real(s->e, name, strtod(text, NULL));
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

/* Add what the last chunk of each micro-batch left, one after the other. */
static int device_sum(const side *s)
{
    ls__evidence *e = s->e;
    int64_t micro = json_integer_value(json_object_get(e->head, "micro"));
    const ls__said *slot = ls__evidence_slot(e, e->element);
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

/* Is the mean that of all rows ("exact"), "of shards" or the "sum"? */
static bool is_mean(const side *s, const char *how)
{
    const char *is = ls__evidence_option(s->e, "mean");

    return is && strcmp(is, how) == 0;
}

/* Give what the terms of each device weigh. */
static void give_weights(const side *s)
{
    const ls__kept *w;

    ls__evidence_begin(s->e, "w");
    for (int64_t d = 0; (w = ls__evidence_device(s->e, "weight", d)); d++)
        for (int k = 0; k < 2; k++)
            ls__evidence_take(s->e, &w->x[k]);
    ls__evidence_end(s->e);
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
    if (is_mean(s, "of shards"))
        give_weights(s);
    ls__evidence_number(s->e, "factor", factor->x);
    return 0;
}

static int factor(const side *s)
{
    json_int_t devices =
        json_integer_value(json_object_get(s->e->head, "devices"));

    rule(s, "factor");
    if (is_mean(s, "exact"))
        give_weights(s);
    else
        ls__evidence_word(s->e, "shards",
                          is_mean(s, "of shards") ? (uint32_t)devices : 1);
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

/* ------ corrections ------ */

static int bias_correction(const side *s, const char *option)
{
    rule(s, "correction");
    add_option(s, "b", option);
    if (!ls__evidence_option(s->e, option))
        ls__evidence_real(s->e, "b", 0);
    ls__evidence_word(s->e, "n", step_of(s) + 1);
    return 0;
}

/* ------ how a parameter is trained ------ */

/* What groups and schedules make of the rule of all. */
typedef struct way {
    bool is_own, is_frozen; /* some group has it; one that stands still */
    double rate, decay;
    const ls__kept *share; /* of its decay, where that has a schedule */
} way;

/* A table is the first parameter of an operator that looks rows up. */
static bool is_table(const ls__evidence *e, const ls__said *slot)
{
    static const char *const of[] = {"embed", "embed_bag", "sparse_dense",
                                     "sparse_dense_values"};

    for (int i = 0; i < e->nodes; i++)
        for (size_t k = 0; k < sizeof of / sizeof *of; k++)
            if (!strcmp(e->node[i].op, of[k]) &&
                ls__evidence_param(e, &e->node[i], 0) == slot)
                return true;
    return false;
}

/* Take in group i, "NAMES[ (vectors)]: rate R, decay D[, frozen]". */
static bool take_group(const side *s, const ls__said *slot, int i, way *w)
{
    static const char vectors[] = " (vectors)";
    int64_t shape[LS_MAX_RANK];
    char option[32], names[256];
    const char *text, *end = NULL, *at;
    double rate, decay;
    size_t n;

    snprintf(option, sizeof option, "group %d", i);
    text = at = ls__evidence_option(s->e, option);
    while (at && (at = strstr(at, ": rate ")))
        end = at++;
    if (!end || (n = (size_t)(end - text)) >= sizeof names ||
        sscanf(end, ": rate %lf, decay %lf", &rate, &decay) != 2)
        return false;
    memcpy(names, text, n);
    names[n] = 0;
    if (n >= sizeof vectors &&
        !strcmp(names + n - sizeof vectors + 1, vectors)) {
        if (ls__evidence_axes(slot->shape, shape) >= 2)
            return true;
        names[n - sizeof vectors + 1] = 0;
    }
    if (!ls__matches(names, slot->name))
        return true;
    w->rate *= rate;
    w->decay *= decay;
    w->is_frozen |= strstr(end, ", frozen") != NULL;
    return true;
}

static bool find_way(const side *s, const ls__said *slot, way *w)
{
    const char *groups = ls__evidence_option(s->e, "groups");
    long n = groups ? strtol(groups, NULL, 10) : 0;

    *w = (way){.rate = 1, .decay = 1, .is_own = n > 0};
    for (int i = 0; i < n; i++)
        if (!take_group(s, slot, i, w))
            return false;
    if (ls__evidence_option(s->e, "decay_schedule"))
        w->share = ls__evidence_whole(s->e, "rule", "share of decay");
    return w->share || !ls__evidence_option(s->e, "decay_schedule");
}

/* ------ the update ------ */

/* Add what turns the gradient into what the update reads. */
static void add_clip(const side *s, const way *w)
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
        ls__evidence_real(s->e, "l",
                          strtod(ls__evidence_option(s->e, "l2"), NULL) *
                              w->decay);
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
    add_option(s, "decay", "average");
    return 0;
}

static void add_options(const side *s, const way *w)
{
    static const char *const of[][2] = {
        {"ba", "b1"}, {"bb", "b2"}, {"eps", "eps"}, {"decay", "decay"},
        {"momentum", "momentum"}};
    const char *wd = ls__evidence_option(s->e, "weight_decay");

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        add_option(s, of[i][0], of[i][1]);
    if (wd)
        ls__evidence_real(s->e, "wd", strtod(wd, NULL) * w->decay);
    if (w->is_own)
        ls__evidence_word(s->e, "rate", ls__asked_bits((float)w->rate));
    if (w->share)
        ls__evidence_number(s->e, "share", w->share->x);
}

/* Lazy Adam leaves a row of a table as it is where its gradient is zero, a row
 * that crosses a border of blocks being two. */
static bool stands_still(const side *s, const ls__kept *g, const ls__said *slot)
{
    int64_t shape[LS_MAX_RANK], width, first, last, at = s->e->element;

    if (!is_set(s, "lazy") || !is_table(s->e, slot) ||
        ls__evidence_axes(slot->shape, shape) < 1 || shape[0] < 1 ||
        (width = slot->floats / shape[0]) < 1)
        return false;
    first = slot->at + (at - slot->at) / width * width;
    last = first + width;
    if (first < at / LS__LEAF * LS__LEAF)
        first = at / LS__LEAF * LS__LEAF;
    if (last > (at / LS__LEAF + 1) * LS__LEAF)
        last = (at / LS__LEAF + 1) * LS__LEAF;
    for (int64_t i = first; i < last && i < g->n; i++)
        if (g->x[i] & 0x7fffffff)
            return false;
    return true;
}

static int stay(const side *s, const ls__kept *was)
{
    rule(s, "move");
    ls__evidence_number(s->e, "x", &was->x[s->e->element]);
    return 0;
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
    const ls__said *slot = ls__evidence_slot(s->e, at);
    way w;
    char name[64];

    if (strcmp(s->e->of->place.what, "average") == 0)
        return average(s);
    if (!slot)
        return ls__asked_unknown("what lies between parameters");
    if (!kind || !p || !g || !lr || at >= p->n || at >= g->n ||
        !ls__evidence_whole(s->e, "rule", "norm") || !find_way(s, slot, &w))
        return ls__asked_unknown("an update");
    if (!which && ls__evidence_stored(s->e, slot, s->a, s->b))
        return 0;
    if (w.is_frozen || stands_still(s, g, slot))
        return stay(s, which ? moment[which - 1] : p);
    snprintf(name, sizeof name, "update.%.20s", kind);
    rule(s, name);
    ls__evidence_number(s->e, "g", &g->x[at]);
    ls__evidence_number(s->e, "neg", lr->x);
    ls__evidence_number(s->e, "p", &p->x[at]);
    for (int i = 0; i < 3 && moment[i]; i++)
        ls__evidence_number(s->e, (const char *[]){"ma", "mb", "mc"}[i],
                            &moment[i]->x[at]);
    ls__evidence_word(s->e, "n", step_of(s) + 1);
    add_options(s, &w);
    add_clip(s, &w);
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
              {"norm", norm}};
    const ls__where *w = &e->of->place;

    if (strcmp(w->phase, "before") == 0)
        return ls__evidence_start(e, a, b);
    if (strcmp(w->phase, "batch") == 0 || strcmp(w->phase, "rows") == 0)
        return ls__evidence_row(e, a, b);
    if (strcmp(w->phase, "after") == 0)
        return update(&s);
    if (strcmp(w->what, "loss") == 0 || strcmp(w->what, "weight") == 0)
        return ls__evidence_sums(e, a, b);
    if (strcmp(w->what, "-lr") == 0 || strncmp(w->what, "share of", 8) == 0)
        return ls__evidence_rate(e, a, b);
    if (strcmp(w->what, "r1") == 0 || strcmp(w->what, "r2") == 0)
        return bias_correction(&s, w->what[1] == '1' ? "b1" : "b2");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(w->what, of[i].what) == 0)
            return of[i].make(&s);
    return ls__asked_unknown(w->what);
}

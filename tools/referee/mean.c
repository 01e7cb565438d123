/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction, between the gradients of devices and the update: a device's
 * sum, the mean of all, its norm. */
#include "record.h"
#include "step.h"

#include <stdlib.h>

/* A float of what the last chunk of each micro-batch left, one after the
 * other. */
static f32 device_sum(void)
{
    const said *slot = slot_of(element);
    int found = 0;
    f32 sum = 0;

    for (int64_t m = 0; m < micro_of_step() && slot; m++) {
        const array *k = before(of, m, slot->name);
        f32 x;

        if (!k)
            continue;
        x = word(k->x + element - slot->at);
        sum = found++ ? f_add(sum, x) : x;
    }
    return found == 1 ? f_add(sum, 0x80000000) : sum;
}

/* ------ the mean ------ */

/* Is it that of all rows ("exact"), "of shards" or the "sum"? */
static bool is_mean(const char *how)
{
    const char *is = option("mean");

    return is && !strcmp(is, how);
}

static f32 mean(void)
{
    const array *factor = whole("rule", "factor"), *g, *w;
    int64_t n = 0;
    f32 *x;

    if (!slot_of(element))
        return 0; /* between parameters */
    if (!factor)
        return unknown("a mean without a factor");
    while (of_device("gradient", n))
        n++;
    x = room_for(n + 1);
    for (int64_t d = 0; d < n; d++) {
        g = of_device("gradient", d);
        x[d] = word(g->x + element);
        if (!is_mean("of shards"))
            continue;
        if (!(w = of_device("weight", d)))
            return unknown("a mean without the weight of a device");
        x[d] = f_mul(x[d], f_div(F(1.0f), f_from(real_at(w->x))));
    }
    return n ? f_mul(tree(x, n), word(factor->x))
             : unknown("a mean of no device");
}

/* Doubles, one a device, by the tree. */
static f64 double_tree(const char *what)
{
    int64_t n = 0;
    const array *k;
    f64 *x;

    while (of_device(what, n))
        n++;
    x = (f64 *)(void *)room_for(2 * n + 2);
    for (int64_t d = 0; (k = of_device(what, d)); d++)
        x[d] = real_at(k->x);
    return d_tree(x, n);
}

/* 1 / W, of the devices' weights, or 1 / how many they are. */
static f32 factor(void)
{
    if (is_mean("exact"))
        return f_div(F(1.0f), f_from(double_tree("weight")));
    return f_div(F(1.0f), f_int(is_mean("of shards") ? devices_of_step() : 1));
}

/* ------ the norm ------ */

/* The squares of a block of 4096. */
static f32 squares(void)
{
    const array *g = whole("mean", "mean gradient");
    int64_t at = element * LEAF_WORDS, n;
    f32 *x;

    if (!g || at >= g->n)
        return unknown("squares of what there is not");
    n = least(g->n - at, LEAF_WORDS);
    x = words(g->x + at, n, 1);
    return row_sum(x, x, n);
}

static f32 norm(void)
{
    const array *g = whole("mean", "squares of blocks");
    f64 sum = 0;

    if (!g)
        return NAN32; /* nothing is clipped by it */
    for (int64_t i = 0; i < g->n; i++)
        sum = d_add(sum, d_from(word(g->x + i)));
    return f_from(d_sqrt(sum));
}

static f32 bias_correction(void)
{
    const char *option_of = of->what[1] == '1' ? "b1" : "b2";
    f64 b = d_of(real_or(option(option_of), 0));

    return correction(setting(b), number_of_step() + 1);
}

/* The peak of the learning rate is a control of the state before. */
static f32 peak(void)
{
    const json *lr[2];

    for (int side = 0; side < 2; side++) {
        const json *state = json_get(records[side].head, "state");

        lr[side] = json_get(json_get(state, "before"), "controls");
        lr[side] = lr[side] ? lr[side]->first : NULL;
    }
    if (!lr[0] || !json_same(lr[0], lr[1]) || !lr[0]->first ||
        !lr[0]->first->next || !lr[0]->first->next->text ||
        strcmp(lr[0]->first->text, "lr"))
        return unknown("a peak rate that no state has");
    return word_of(strtoull(lr[0]->first->next->text, NULL, 16), element % 2);
}

f32 mean_makes(void)
{
    static const struct {
        const char *what;
        f32 (*make)(void);
    } by[] = {{"gradient", device_sum}, {"mean gradient", mean},
              {"factor", factor}, {"squares of blocks", squares},
              {"norm", norm}, {"r1", bias_correction},
              {"r2", bias_correction}, {"peak rate", peak}};

    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        if (!strcmp(of->what, by[i].what))
            return by[i].make();
    return unknown(of->what);
}

/* ------ a step's line in a transcript ------ */

bool loss_of_step(record *r, f32 *loss, f64 *weight)
{
    const array *l, *w;
    f64 sum = 0;
    int64_t n = 0;

    arrays = r->arrays; /* all of them, for once */
    array_count = r->entries;
    words_begin(r);
    for (; (l = of_device("loss", n)) && (w = of_device("weight", n)); n++)
        if (is_mean("of shards"))
            sum = d_add(sum, d_div(real_at(l->x), real_at(w->x)));
    if (n != devices_of_step())
        return false;
    *weight = double_tree("weight");
    *loss = is_mean("of shards") ? f_from(d_div(sum, d_int(n)))
                                 : f_from(d_div(double_tree("loss"), *weight));
    return true;
}

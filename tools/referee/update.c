/* SPDX-License-Identifier: BSD-3-Clause */
/* The state after a step: parameters and moments after the update, the average
 * of the weights. */
#include "step.h"
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>

/* ------ optimizers: the new parameter, of moments that they change ------ */

static f32 less(const update *u, f32 by)
{
    return f_fma(f_neg(u->lr), by, u->p);
}

static f32 sgd(update *u) { return less(u, u->g); }

static f32 momentum(update *u)
{
    u->m[0] = f_fma(setting(u->momentum), u->m[0], u->g);
    return less(u, u->m[0]);
}

static f32 nesterov(update *u)
{
    u->m[0] = f_fma(setting(u->momentum), u->m[0], u->g);
    return less(u, f_fma(setting(u->momentum), u->m[0], u->g));
}

static void mix(f32 *m, f64 b, f32 x) /* m b + x (1 - b) */
{
    *m = f_fma(complement(b), x, f_mul(setting(b), *m));
}

static f32 by_moments(update *u, int greatest)
{
    f32 v;

    mix(&u->m[0], u->b1, u->g);
    mix(&u->m[1], u->b2, f_mul(u->g, u->g));
    v = f_mul(u->m[1], u->r2);
    if (greatest)
        v = u->m[2] = f_max(u->m[2], v);
    return f_div(f_mul(u->m[0], u->r1), f_add(f_sqrt(v), setting(u->eps)));
}

static f32 amsgrad(update *u) { return less(u, by_moments(u, 1)); }
static f32 adam(update *u) { return less(u, by_moments(u, 0)); }

/* The corrected m is b1 m / (1 - b1^(n+1)) + (1 - b1) g / (1 - b1^n). */
static f32 nadam(update *u)
{
    f32 c1 = complement(u->b1), b1 = setting(u->b1), v, x;
    f32 next = f_fma(b1, f_div(F(1.0f), u->r1), c1);

    mix(&u->m[0], u->b1, u->g);
    mix(&u->m[1], u->b2, f_mul(u->g, u->g));
    v = f_sqrt(f_mul(u->m[1], u->r2));
    x = f_fma(f_mul(c1, u->r1), u->g, f_mul(f_div(b1, next), u->m[0]));
    return less(u, f_div(x, f_add(v, setting(u->eps))));
}

static f32 adamw(update *u)
{
    return less(u, f_fma(u->weight_decay, u->p, by_moments(u, 0)));
}

/* The gradient by the root of its squares. */
static f32 by_root(const update *u)
{
    return f_mul(f_div(F(1.0f), f_sqrt(f_add(u->m[0], setting(u->eps)))), u->g);
}

static f32 rmsprop(update *u)
{
    mix(&u->m[0], u->decay, f_mul(u->g, u->g));
    return less(u, by_root(u));
}

static f32 adagrad(update *u)
{
    u->m[0] = f_fma(u->g, u->g, u->m[0]);
    return less(u, f_zero(u->m[0]) ? 0 : by_root(u));
}

static f32 lion(update *u)
{
    f32 x = f_fma(complement(u->b1), u->g, f_mul(setting(u->b1), u->m[0]));
    f32 sign = f_lt(x, 0) ? F(-1.0f) : f_lt(0, x) ? F(1.0f) : 0;

    mix(&u->m[0], u->b2, u->g);
    return less(u, f_fma(u->weight_decay, u->p, sign));
}

static const struct {
    const char *name;
    f32 (*makes)(update *u);
} updates[] = {{"sgd", sgd}, {"momentum", momentum}, {"nesterov", nesterov},
               {"adam", adam}, {"adamw", adamw}, {"rmsprop", rmsprop},
               {"adagrad", adagrad}, {"lion", lion}, {"amsgrad", amsgrad},
               {"nadam", nadam}};
enum { UPDATES = sizeof updates / sizeof *updates };

const char *update_name(int i) { return i < UPDATES ? updates[i].name : NULL; }

f32 update_by(const char *kind, update *u)
{
    for (int i = 0; i < UPDATES; i++)
        if (!strcmp(kind, updates[i].name))
            return updates[i].makes(u);
    return unknown(kind);
}

/* ------ groups of parameters ------ */

/* A parameter's optimizer, after groups and schedules. */
typedef struct way {
    bool is_own, is_frozen; /* some group has it; it stands still */
    f64 rate, decay;
    const array *share; /* of its decay, where that has a schedule */
} way;

static f64 setting_of(const char *name)
{
    return d_of(real_or(option(name), 0));
}

static bool is_set(const char *name)
{
    const char *text = option(name);

    return text && strcmp(text, "0") != 0;
}

/* Take in group i, "NAMES[ (vectors)]: rate R, decay D[, frozen]". */
static bool take_group(const said *slot, int i, way *w)
{
    static const char vectors[] = " (vectors)";
    int64_t shape[MOST_RANK];
    char name[32], names[256], rate[32], decay[32];
    const char *text, *end = NULL, *at;
    size_t n;
    int fits;

    sprintf(name, "group %d", i);
    text = at = option(name);
    while (at && (at = strstr(at, ": rate ")))
        end = at++;
    if (!end || (n = (size_t)(end - text)) >= sizeof names ||
        sscanf(end, ": rate %31[^,], decay %31[^,]", rate, decay) != 2)
        return false;
    memcpy(names, text, n);
    names[n] = 0;
    if (n >= sizeof vectors &&
        !strcmp(names + n - sizeof vectors + 1, vectors)) {
        if (axes(slot->shape, shape) >= 2)
            return true;
        names[n - sizeof vectors + 1] = 0;
    }
    fits = pattern_fits(names, slot->name);
    if (fits < 1)
        return fits == 0;
    w->rate = d_mul(w->rate, d_of(real_or(rate, 1)));
    w->decay = d_mul(w->decay, d_of(real_or(decay, 1)));
    w->is_frozen |= strstr(end, ", frozen") != NULL;
    return true;
}

static bool find_way(const said *slot, way *w)
{
    const char *groups = option("groups");
    long n = groups ? strtol(groups, NULL, 10) : 0;

    memset(w, 0, sizeof *w);
    w->rate = w->decay = D(1.0);
    w->is_own = n > 0;
    for (int i = 0; i < n; i++)
        if (!take_group(slot, i, w))
            return false;
    if (option("decay_schedule"))
        w->share = whole("rule", "share of decay");
    return w->share || !option("decay_schedule");
}

/* ------ the update ------ */

/* The gradient as the update reads it: clipped by norm, by value, and l2 times
 * the parameter added. */
static f32 clipped(f32 g, f32 p, f32 norm, const way *w)
{
    f32 clip = setting(setting_of("clip_norm"));
    f32 most = setting(setting_of("clip_value")), l;

    if (is_set("clip_norm") && !f_lt(norm, clip) && !f_nan(norm))
        g = f_mul(f_mul(g, f_div(F(1.0f), norm)), clip);
    if (is_set("clip_value"))
        g = f_min(f_max(g, f_neg(most)), most);
    if (!is_set("l2"))
        return g;
    l = setting(d_mul(setting_of("l2"), w->decay));
    return f_fma(w->share ? f_mul(l, word(w->share->x)) : l, p, g);
}

/* Find which of the arrays after an update it is: parameters 0, moments 1 to
 * 3. */
static int find_moments(const array *moment[3])
{
    int count = 0, which = 0;

    for (int64_t i = 0; i < array_count; i++) {
        const array *k = &arrays[i];

        if (strcmp(k->phase, "before") || !k->n || count == 3 ||
            !strcmp(k->what, "parameters") || !strcmp(k->what, "average"))
            continue;
        moment[count++] = k;
        if (!strcmp(k->what, of->what))
            which = count;
    }
    return which;
}

static f32 average(void)
{
    const array *p = whole("after", "parameters");
    const array *was = whole("before", "average");
    f64 d = setting_of("average");

    if (!p || !was || !is_set("average"))
        return unknown("an average of weights in this form");
    return f_fma(complement(d), word(p->x + element),
                 f_mul(setting(d), word(was->x + element)));
}

/* A table is the first parameter of an operator that looks rows up. */
static bool is_table(const said *slot)
{
    static const char *const tables[] = {"embed", "embed_bag", "sparse_dense",
                                         "sparse_dense_values"};

    for (int i = 0; i < node_count; i++)
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
            if (!strcmp(nodes[i].op, tables[k]) &&
                param(&nodes[i], 0) == slot)
                return true;
    return false;
}

/* Lazy Adam leaves a row of a table as it is where its gradient is zero, a row
 * that crosses a border of blocks being two. */
static bool stands_still(const array *g, const said *slot)
{
    int64_t shape[MOST_RANK], each, first, last;
    int64_t block = element / LEAF_WORDS * LEAF_WORDS;

    if (!is_set("lazy") || !is_table(slot) || axes(slot->shape, shape) < 1)
        return false;
    each = slot->floats / shape[0];
    first = slot->at + (element - slot->at) / each * each;
    last = least(least(first + each, block + LEAF_WORDS), g->n);
    for (int64_t i = first < block ? block : first; i < last; i++)
        if (word(g->x + i) & 0x7fffffff)
            return false;
    return true;
}

static f32 optimized(const char *kind, const array *g, const array *p,
                     const array *const moment[3], int which, const way *w)
{
    update u = {0};
    f32 out;

    u.b1 = setting_of("b1");
    u.b2 = setting_of("b2");
    u.eps = setting_of("eps");
    u.decay = setting_of("decay");
    u.momentum = setting_of("momentum");
    u.weight_decay = setting(d_mul(setting_of("weight_decay"), w->decay));
    if (w->share)
        u.weight_decay = f_mul(u.weight_decay, word(w->share->x));
    u.p = word(p->x + element);
    u.g = clipped(word(g->x + element), u.p, word(whole("rule", "norm")->x), w);
    u.lr = f_neg(word(whole("rule", "-lr")->x));
    if (w->is_own)
        u.lr = f_mul(u.lr, setting(w->rate));
    for (int i = 0; i < 3 && moment[i]; i++)
        u.m[i] = word(moment[i]->x + element);
    u.r1 = correction(setting(u.b1), number_of_step() + 1);
    u.r2 = correction(setting(u.b2), number_of_step() + 1);
    out = update_by(kind, &u);
    return which ? u.m[which - 1] : out;
}

f32 update_makes(void)
{
    const char *kind = option("optimizer");
    const array *moment[3] = {0};
    const array *p = whole("before", "parameters");
    const array *g = whole("mean", "mean gradient");
    int which = find_moments(moment);
    const said *slot = slot_of(element);
    f32 x;
    way w;

    if (!strcmp(of->what, "average"))
        return average();
    if (!slot)
        return 0; /* between parameters */
    if (!kind || !p || !g || !whole("rule", "-lr") || element >= p->n ||
        element >= g->n || !whole("rule", "norm") || !find_way(slot, &w))
        return unknown("an update");
    if (!which && stored_makes(slot, &x))
        return x;
    if (w.is_frozen || stands_still(g, slot))
        return word((which ? moment[which - 1] : p)->x + element);
    return optimized(kind, g, p, moment, which, &w);
}

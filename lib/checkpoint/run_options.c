/* A trainer's options and other settings as texts. */
#include "checkpoint/run_options.h"
#include "base/error.h"
#include "base/precision.h"
#include "base/real_text.h"
#include "base/utf8.h"
#include "rules/optim.h"
#include "rules/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 64 };

static const char *const keys[] = {
    [LS_KEYS_NNX] = "nnx", [LS_KEYS_LINEN] = "linen"};
static const char *const means[] = {
    [LS_MEAN_EXACT] = "exact", [LS_MEAN_OF_SHARDS] = "of shards",
    [LS_SUM] = "sum"};

/* ------ An object that is being filled; false: no memory ------ */

static bool put(json_t *object, const char *name, const char *value)
{
    return json_object_set_new(object, name, json_string(value)) == 0;
}

static bool put_int(json_t *object, const char *name, int64_t n)
{
    char text[TEXT];

    snprintf(text, sizeof text, "%lld", (long long)n);
    return put(object, name, text);
}

/* The shortest text that reads back as the same number: no double needs more
 * than 17 digits. */
static void real_text(char text[TEXT], double x)
{
    int digits = 1;

    do
        snprintf(text, TEXT, "%.*g", digits++, x);
    while (digits <= 17 && strtod(text, NULL) != x);
    ls__real_point(text);
}

static bool put_real(json_t *object, const char *name, double x)
{
    char text[TEXT];

    real_text(text, x);
    return put(object, name, text);
}

/* ------ What counts ------ */

/* Its name and its options: the momentum of adam is nobody's contradiction. */
static bool put_choice(json_t *to, const ls__choice *c, const void *of)
{
    bool good = put(to, c->what, c->name);
    const ls__option *o;

    for (int i = 0; good && (o = ls__choice_option(c, i)); i++) {
        double value = ls__option_get(o, of);

        if (o->type == LS__QUIET && value == 0)
            continue;
        good = o->type == LS__WHOLE ? put_int(to, o->name, (int64_t)value)
                                    : put_real(to, o->name, value);
    }
    return good;
}

static bool put_boundaries(json_t *to, const ls_schedule *s)
{
    for (int i = 0; i < s->boundaries; i++) {
        char name[TEXT];

        snprintf(name, sizeof name, "boundary %lld",
                 (long long)s->boundary[i].update);
        if (!put_real(to, name, s->boundary[i].factor))
            return false;
    }
    return true;
}

/* Their number too, so that one more is found as one less is. */
static bool put_groups(json_t *to, const ls_trainer_options *o)
{
    for (int i = 0; i < o->groups; i++) {
        const ls_group *g = &o->group[i];
        char name[TEXT], rate[TEXT], decay[TEXT], text[4 * TEXT];

        snprintf(name, sizeof name, "group %d", i);
        real_text(rate, g->rate);
        real_text(decay, g->decay);
        snprintf(text, sizeof text, "%.96s%s: rate %s, decay %s%s", g->names,
                 g->vectors ? " (vectors)" : "", rate, decay,
                 g->frozen ? ", frozen" : "");
        if (!put(to, name, text))
            return false;
    }
    return put_int(to, "groups", o->groups);
}

static bool put_options(json_t *to, const ls_trainer *t)
{
    const ls_trainer_options *o = &t->options;
    const ls_schedule *s = &o->schedule;

    return put_int(to, "devices", t->devices.of) &&
           put_int(to, "seed", o->seed) && put(to, "keys", keys[o->keys]) &&
           put_real(to, "lr", o->optimizer.lr) &&
           put_choice(to, ls__optim_choice(o->optimizer.kind), &o->optimizer) &&
           put_choice(to, ls__schedule_choice(s->kind), s) &&
           (!ls__schedule_has_boundaries(s->kind) || put_boundaries(to, s)) &&
           put_real(to, "clip_norm", o->clip_norm) &&
           (!o->clip_value || put_real(to, "clip_value", o->clip_value)) &&
           put_int(to, "accumulate", t->micro) &&
           put(to, "mean", means[o->mean]) &&
           put(to, "precision", ls__precision_name(o->precision)) &&
           (!o->average || put_real(to, "average", o->average)) &&
           put_groups(to, o);
}

/* A setting that had the name of another would silently replace it. */
static int check_setting(const json_t *object, const ls_setting *s, int i)
{
    if (!s->name || !s->value)
        return ls__fail(LS_EINVAL, "setting %d: its %s is NULL", i,
                        s->name ? "value" : "name");
    if (!ls__utf8_is(s->name) || !ls__utf8_is(s->value))
        return ls__fail(LS_EINVAL, "setting \"%s\": its %s is no UTF-8",
                        s->name, ls__utf8_is(s->name) ? "value" : "name");
    if (json_object_get(object, s->name))
        return ls__fail(LS_EINVAL, "setting \"%s\": stands there already; the "
                        "trainer's own options are kept without asking",
                        s->name);
    return 0;
}

static int put_settings(json_t *object, int settings,
                        const ls_setting *setting)
{
    if (settings < 0 || (settings && !setting))
        return ls__fail(LS_EINVAL, "%d settings%s", settings,
                        setting ? "" : ": setting is NULL");
    for (int i = 0; i < settings; i++) {
        int status = check_setting(object, &setting[i], i);

        if (status < 0)
            return status;
        if (!put(object, setting[i].name, setting[i].value))
            return ls__no_memory("settings", 0);
    }
    return 0;
}

int ls__run_options_new(json_t **out, const ls_trainer *t, int settings,
                        const ls_setting *setting)
{
    json_t *object = json_object();
    int status;

    if (!object || (t && !put_options(object, t)))
        status = ls__no_memory("settings", 0);
    else
        status = put_settings(object, settings, setting);
    if (status == 0)
        *out = object;
    else
        json_decref(object);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See optim_settings.h. */
#include "model/optim_settings.h"
#include "data/data_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------ Optimizers and schedules alike ------ */

const char *optim_settings_optimizer(int64_t kind)
{
    return ls_optimizer_name((ls_optimizer_kind)kind);
}

const char *optim_settings_schedule(int64_t kind)
{
    return ls_schedule_name((ls_schedule_kind)kind);
}

static bool optimizer_option(int64_t kind, int i, ls_option *option)
{
    return ls_optimizer_option((ls_optimizer_kind)kind, i, option);
}

static bool schedule_option(int64_t kind, int i, ls_option *option)
{
    return ls_schedule_option((ls_schedule_kind)kind, i, option);
}

static int optimizer_set(void *of, const char *name, double value)
{
    return ls_optimizer_set(of, name, value);
}

static int schedule_set(void *of, const char *name, double value)
{
    return ls_schedule_set(of, name, value);
}

static const struct family {
    const char *name; /* of the option that chooses */
    const char *(*kind)(int64_t kind);
    bool (*option)(int64_t kind, int i, ls_option *option);
    bool (*has)(int64_t kind, const char *name);
    int (*set)(void *of, const char *name, double value);
} families[] = {
    [SETTINGS_OPTIMIZER] = {"optimizer", optim_settings_optimizer,
                            optimizer_option, optim_settings_optimizer_has,
                            optimizer_set},
    [SETTINGS_SCHEDULE] = {"schedule", optim_settings_schedule, schedule_option,
                           optim_settings_schedule_has, schedule_set},
};

/* "decay_rate" is the part schedule:decay-rate, and "end_lr" schedule:end. */
static bool same_name(const char *member, const char *name)
{
    const char *colon = strchr(name, ':');

    name = colon ? colon + 1 : name;
    while (*member && (*member == *name || (*member == '_' && *name == '-')))
        member++, name++;
    return !*name && (!*member || strcmp(member, "_lr") == 0);
}

/* The option of a kind by its name; false: it has none. */
static bool option_of(const struct family *f, int64_t kind, const char *name,
                      ls_option *option)
{
    for (int i = 0; f->option(kind, i, option); i++)
        if (same_name(option->name, name))
            return true;
    return false;
}

bool optim_settings_optimizer_has(int64_t kind, const char *name)
{
    ls_option option;

    return option_of(&families[SETTINGS_OPTIMIZER], kind, name, &option);
}

bool optim_settings_schedule_has(int64_t kind, const char *name)
{
    ls_option option;

    return option_of(&families[SETTINGS_SCHEDULE], kind, name, &option);
}

/* ------ Places ------ */

/* Is option i of a kind the first of its name, and a real number? */
static bool is_new(const struct family *f, int64_t kind, const ls_option *o)
{
    ls_option other;

    for (int64_t k = 0; k < kind; k++)
        if (option_of(f, k, o->name, &other))
            return false;
    return !o->whole;
}

/* The option at a place; false past the last. */
static bool option_at(const struct family *f, int place, ls_option *option)
{
    for (int64_t kind = 0; f->kind(kind); kind++)
        for (int i = 0; f->option(kind, i, option); i++)
            if (is_new(f, kind, option) && place-- == 0)
                return true;
    return false;
}

/* The place of an option that has one. */
static int place_of(const struct family *f, const char *name)
{
    ls_option option;
    int place = 0;

    while (option_at(f, place, &option) && strcmp(option.name, name))
        place++;
    return place;
}

/* ------ Rows and values ------ */

/* The shortest text of a default; "" for none. */
static const char *start_text(opt_program *p, double start)
{
    char text[OPT_VALUE];

    snprintf(text, sizeof text, "%g", start);
    return isnan(start) ? "" : opt_keep(p, text);
}

/* An option's help, with the defaults of kinds that differ from the first. */
static const char *about_text(opt_program *p, const struct family *f,
                              const ls_option *o)
{
    char text[2 * OPT_VALUE];
    int begin = snprintf(text, sizeof text, "%s", o->about), at = begin;
    ls_option other;

    for (int64_t k = 0; f->kind(k) && at < (int)sizeof text; k++)
        if (option_of(f, k, o->name, &other) && !isnan(other.start) &&
            other.start != o->start)
            at += snprintf(text + at, sizeof text - (size_t)at, "; %s: %g",
                           f->kind(k), other.start);
    return at > begin ? opt_keep(p, text) : o->about;
}

/* Dashes for underscores, in a text that lives as long as the program. */
static const char *old_name(opt_program *p, const char *member)
{
    char text[OPT_VALUE];

    snprintf(text, sizeof text, "%s", member);
    for (char *at = text; (at = strchr(at, '_'));)
        *at = '-';
    return opt_keep(p, text);
}

/* The name of the part, of an old name. */
static const char *new_name(opt_program *p, const struct family *f,
                            const char *old)
{
    const char *end = strstr(old, "-lr");
    char text[OPT_VALUE];

    snprintf(text, sizeof text, "%s:%.*s", f->name,
             (int)(end ? end - old : (ptrdiff_t)strlen(old)), old);
    return opt_keep(p, text);
}

static bool is_decay(const char *name)
{
    return !strcmp(name, "weight_decay") || !strcmp(name, "l2");
}

void optim_settings_add(opt_program *p, optim_settings_of of,
                        optim_settings values)
{
    const struct family *f = &families[of];
    ls_option o;

    for (int i = 0; i < SETTINGS && option_at(f, i, &o); i++) {
        const char *was = old_name(p, o.name);
        opt row = {
            OPT_ROW(new_name(p, f, was), "X", OPT_REAL,
                    (size_t)i * sizeof(double), NULL,
                    start_text(p, o.start), about_text(p, f, &o)),
            .least = o.least, .below = o.below, .range = o.range,
            .of = f->name, .fits = f->has, .required = isnan(o.start),
            .may_change = true, .kept_as = o.name, .was = was,
            .marks = is_decay(o.name) ? OF_DECAY : 0,
        };

        opt_add(p, (opt_rows){1, &row, f->name}, values);
    }
}

/* Is a name that of an option of the family? */
static bool is_named(const struct family *f, const char *member,
                     const char *name)
{
    size_t n = strlen(f->name);

    return strncmp(name, f->name, n) == 0 && name[n] == ':' &&
           same_name(member, name);
}

/* Was the part on the command line, or has the model a default of its own? */
static bool given(const opt_line *line, const struct family *f,
                  const char *member)
{
    const opt_program *p = line->program;
    const opt_start *own = p->models[line->model]->own;

    for (int i = 0; i < p->count; i++)
        if (line->given[i] && is_named(f, member, p->option[i].name))
            return true;
    while (own && own->name && !is_named(f, member, own->name))
        own++;
    return own && own->name;
}

void optim_settings_settle(double *values, optim_settings_of of, int64_t kind,
                           const opt_line *line)
{
    const struct family *f = &families[of];
    ls_option o;

    for (int i = 0; f->option(kind, i, &o); i++)
        if (!o.whole && !isnan(o.start) && !given(line, f, o.name))
            values[place_of(f, o.name)] = o.start;
}

int optim_settings_set(const double *values, optim_settings_of of,
                       int64_t kind, void *chosen)
{
    const struct family *f = &families[of];
    int status = 0;
    ls_option o;

    for (int i = 0; f->option(kind, i, &o) && status == 0; i++)
        if (!o.whole)
            status = f->set(chosen, o.name, values[place_of(f, o.name)]);
    return opt_check_usage(status);
}

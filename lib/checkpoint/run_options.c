/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer's facts and other settings as objects of texts. */
#include "checkpoint/run_options.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "trainer/facts.h"

#include <stdio.h>

/* An object that is being filled; false: no memory. */
static bool put(json_t *object, const char *name, const char *value)
{
    return json_object_set_new(object, name, ls__json_string(value)) == 0;
}

/* The list is given up. */
static bool put_facts(json_t *to, ls__facts *f)
{
    bool good = !f->failed;

    for (int i = 0; i < f->count && good; i++)
        good = put(to, f->fact[i].name, f->fact[i].value);
    ls__facts_free(f);
    return good;
}

static bool put_options(json_t *to, const ls_trainer *t)
{
    ls__facts f = {.count = 0};

    ls__facts_of_run(t, &f);
    return put_facts(to, &f);
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
                        setting ? "" : ": settings is NULL");
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

/* A graph's object: the hash of its facts, and these. */
static json_t *graph_of(ls__facts *f)
{
    json_t *object = json_object(), *facts = json_object();
    char hex[65];
    bool good;

    ls__facts_hash(f->count, f->fact, hex);
    good = put_facts(facts, f);
    if (good && put(object, "hash", hex) &&
        json_object_set(object, "nodes", facts) == 0) {
        json_decref(facts);
        return object;
    }
    json_decref(facts);
    json_decref(object);
    return NULL;
}

int ls__run_graph_new(json_t **out, const ls_trainer *t)
{
    ls__facts f = {.count = 0};

    ls__facts_of_graph(t, true, &f);
    *out = graph_of(&f);
    return *out ? 0 : ls__no_memory("what is computed, for checkpoints", 0);
}

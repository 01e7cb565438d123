/* SPDX-License-Identifier: BSD-3-Clause */
/* A trainer's facts and other settings as objects of texts. */
#include "checkpoint/run_options.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "trainer/facts.h"

#include <stdio.h>

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

int ls__run_options_new(json_t **out, const ls_trainer *t, int settings,
                        const ls_setting *setting)
{
    json_t *object = t ? ls__facts_of_run(t) : json_object();
    int status = 0;

    if (settings < 0 || (settings && !setting))
        status = ls__fail(LS_EINVAL, "%d settings%s", settings,
                          setting ? "" : ": settings is NULL");
    for (int i = 0; i < settings && status == 0; i++)
        if ((status = check_setting(object, &setting[i], i)) == 0)
            object = ls__json_with_texts(object, 1, &setting[i]);
    if (status == 0 && !object)
        status = ls__no_memory("settings", 0);
    if (status == 0)
        *out = object;
    else
        json_decref(object);
    return status;
}

/* A graph's object: the hash of its facts, and these. */
int ls__run_graph_new(json_t **out, const ls_trainer *t)
{
    ls__facts f = {.count = 0};
    char hex[65];

    ls__facts_of_graph(t, true, &f);
    ls__facts_hash(f.count, f.fact, hex);
    *out = ls__json_with(json_object(), "hash", json_string(hex));
    *out = ls__json_with(*out, "nodes", ls__facts_json(&f));
    return *out ? 0 : ls__no_memory("what is computed, for checkpoints", 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences between a checkpoint and the run that would go on from it. */
#include "base/error.h"
#include "base/fact_list.h"
#include "base/json.h"
#include "checkpoint/checkpoint.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 112 };

/* Does a name match one of the patterns "lr,boundary *"? */
static bool matches(const char *name, const char *patterns)
{
    char pattern[512];

    while (*patterns) {
        size_t n = strcspn(patterns, ",");

        snprintf(pattern, sizeof pattern, "%.*s", (int)n, patterns);
        if (fnmatch(pattern, name, 0) == 0)
            return true;
        patterns += n + (patterns[n] == ',');
    }
    return false;
}

/* ------ what a checkpoint does not name ------ */

/* Options that are named where they are not off, as patterns. */
static const struct {
    const char *name;
    const char *of; /* as long as this one is the same; NULL: always */
} named_if_on[] = {{"group *", NULL}, {"average", NULL}, {"clip_value", NULL},
                   {"l2", NULL}, {"lazy", NULL}, {"boundary *", "schedule"},
                   {"decay_schedule", NULL}, {"dropout_schedule", NULL}};

/* Was an option off that a checkpoint does not name?  Others are those of
 * another choice, which is told already. */
static bool was_off(const char *name, const json_t *changed)
{
    for (size_t i = 0; i < sizeof named_if_on / sizeof *named_if_on; i++)
        if (fnmatch(named_if_on[i].name, name, 0) == 0 &&
            !(named_if_on[i].of &&
              json_object_get(changed, named_if_on[i].of)))
            return true;
    return false;
}

static int note(json_t *object, const char *name, const char *text)
{
    return json_object_set_new(object, name, json_string(text)) < 0
               ? ls__no_memory("changed options", strlen(name)) : 0;
}

/* ------ what is another ------ */

/* Note what is another, or was and is no more; of nodes also what only `now`
 * has. */
static int find_changed(const ls__comparison *c, const json_t *now,
                        const json_t *then, bool nodes)
{
    int status = 0;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)then, name, value)
        if (status == 0 && !json_equal(json_object_get(now, name), value))
            status = note(c->changed, name, json_string_value(value));
    json_object_foreach((json_t *)now, name, value)
        if (status == 0 && (nodes || was_off(name, c->changed)) &&
            !json_object_get(then, name))
            status = note(c->changed, name, "");
    return status;
}

static int refuse(int status, const ls__comparison *c, const char *name,
                  const char *is, const char *was)
{
    char of[SHOWN], now[SHOWN], then[SHOWN];

    ls__facts_part(of, SHOWN, name);
    ls__facts_part(now, SHOWN, is && *is ? is : "not set");
    ls__facts_part(then, SHOWN, *was ? was : "not set");
    return ls__fail(status, "%s: %s is %s, but was %s in the checkpoint",
                    c->folder, of, now, then);
}

int ls__checkpoint_compare(const ls__comparison *c, const json_t *now,
                           const json_t *then, bool nodes)
{
    int status = find_changed(c, now, then, nodes);
    const char *name;
    json_t *value;

    if (status < 0)
        return status;
    json_object_foreach(c->changed, name, value) {
        if (!matches(name, c->may_change))
            return refuse(nodes ? LS_ESHAPE : LS_EINVAL, c, name,
                          ls__json_word(now, name), json_string_value(value));
    }
    return 0;
}

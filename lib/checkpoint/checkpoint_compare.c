/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a checkpoint is another now. */
#include "base/error.h"
#include "base/fact_list.h"
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

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ------ what a checkpoint does not say ------ */

/* Options that a trainer has had only since checkpoints were first written, and
 * attributes since they have had a graph, as patterns, and what they were
 * before: where a checkpoint does not name them, they were that. */
static const struct {
    const char *name, *was;
    const char *of; /* as long as this one is the same; NULL: always */
} young[] = {{"groups", "0", NULL}, {"group *", "", NULL},
             {"average", "", NULL}, {"clip_value", "", NULL}, {"l2", "", NULL},
             {"lazy", "", NULL}, {"boundary *", "", "schedule"},
             {"decay_schedule", "", NULL}, {"dropout_schedule", "", NULL}};

/* Options of which nobody knows what they were: those that have been told only
 * as long as graphs. */
static const char *const untold[] = {"dropout_key"};

/* What such an option was; NULL: it is another one, or what it was then. */
static const char *was_before(const char *name, const char *is,
                              const json_t *changed)
{
    for (size_t i = 0; i < sizeof young / sizeof *young; i++)
        if (fnmatch(young[i].name, name, 0) == 0 && strcmp(is, young[i].was) &&
            !(young[i].of && json_object_get(changed, young[i].of)))
            return young[i].was;
    return NULL;
}

/* Older checkpoints told the first 96 characters of a group, once; the rest is
 * not known. */
static bool is_cut(const char *name, const char *is, const char *was)
{
    size_t a = strlen(is), b = strlen(was);
    const size_t cut = 96;

    return fnmatch("group *", name, 0) == 0 && a > b && b > cut &&
           memcmp(is, was, cut) == 0 &&
           strcmp(is + a - (b - cut), was + cut) == 0;
}

static int note(json_t *object, const char *name, const char *text)
{
    return json_object_set_new(object, name, json_string(text)) < 0
               ? ls__no_memory("changed options", strlen(name)) : 0;
}

static int note_untold(const ls__comparison *c, const json_t *then)
{
    int status = c->old ? note(c->unknown, "the graph", "") : 0;

    for (size_t i = 0; i < sizeof untold / sizeof *untold && status == 0; i++)
        if (c->old && !json_object_get(then, untold[i]))
            status = note(c->unknown, untold[i], "");
    return status;
}

/* ------ what is another ------ */

static int find_changed(const ls__comparison *c, const json_t *now,
                        const json_t *then)
{
    int status = 0;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)then, name, value) {
        const char *is = text_of(now, name), *was = json_string_value(value);

        if (is && strcmp(is, was) == 0)
            continue;
        status = c->old && is && is_cut(name, is, was)
                     ? note(c->unknown, name, "") : note(c->changed, name, was);
        if (status < 0)
            break;
    }
    return status;
}

/* all: what only `now` knows was not there. */
static int find_new(const ls__comparison *c, const json_t *now,
                    const json_t *then, bool all)
{
    int status = 0;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)now, name, value) {
        const char *was = was_before(name, json_string_value(value),
                                     c->changed);

        if (!was && all)
            was = "";
        if (was && !json_object_get(then, name) &&
            (status = note(c->changed, name, was)) < 0)
            break;
    }
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

static int find(const ls__comparison *c, const json_t *now, const json_t *then,
                bool all, int refused)
{
    int status = find_changed(c, now, then);
    const char *name;
    json_t *value;

    if (status == 0)
        status = find_new(c, now, then, all);
    if (status < 0)
        return status;
    json_object_foreach(c->changed, name, value) {
        if (!matches(name, c->may_change))
            return refuse(refused, c, name, text_of(now, name),
                          json_string_value(value));
    }
    return 0;
}

int ls__checkpoint_compare(ls__comparison *c, const json_t *now,
                           const json_t *then)
{
    int status = note_untold(c, then);

    return status < 0 ? status : find(c, now, then, false, LS_EINVAL);
}

int ls__checkpoint_compare_nodes(ls__comparison *c, const json_t *now,
                                 const json_t *then)
{
    return c->old ? 0 : find(c, now, then, true, LS_ESHAPE);
}

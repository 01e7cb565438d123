/* SPDX-License-Identifier: BSD-3-Clause */
/* See changes.h. */
#include "file/changes.h"
#include "base/error.h"
#include "base/json.h"
#include "file/line.h"

#include <stdbool.h>
#include <string.h>

/* Add to `out` what of `all` the other one has otherwise, or lacks. */
static bool add_others(json_t *out, const json_t *all, const json_t *other)
{
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)all, name, value) {
        const json_t *there = json_object_get(other, name);

        if ((!there || !json_equal(value, there)) &&
            json_object_set(out, name, value) < 0)
            return false;
    }
    return true;
}

json_t *ls__changes_between(const json_t *before, const json_t *now)
{
    json_t *from = json_object(), *to = json_object();

    if (from && to && add_others(from, before, now) &&
        add_others(to, now, before))
        return json_pack("{s:o,s:o}", "from", from, "to", to);
    json_decref(from);
    json_decref(to);
    return NULL;
}

/* Check that "from" and "to" are all that differs between the options: who
 * begins behind the line compares no more than these. */
static int check_change(const json_t *before, const json_t *now,
                        const json_t *from, const json_t *to)
{
    json_t *is = ls__changes_between(before, now);
    bool same = json_equal(json_object_get(is, "from"), from) &&
                json_equal(json_object_get(is, "to"), to);

    json_decref(is);
    if (!is)
        return ls__no_memory("a transcript's options", 0);
    return same ? 0 : ls__fail(LS_EFORMAT, "an event \"change\" whose \"from\" "
                               "and \"to\" are not what differs between the "
                               "options before and behind it");
}

static int follow_change(json_t *options, const json_t *from, json_t *to)
{
    json_t *before = json_copy(options), *value;
    const char *name;
    int status;

    json_object_foreach ((json_t *)from, name, value)
        (void)json_object_del(options, name);
    if (!before || json_object_update(options, to) < 0)
        status = ls__no_memory("a transcript's options", 0);
    else
        status = check_change(before, options, from, to);
    json_decref(before);
    return status;
}

/* kind, n, prev, what, from and to. */
enum { FIELDS = 6 };

int ls__changes_follow(json_t *options, const json_t *line)
{
    json_t *from = json_object_get(line, "from");
    json_t *to = json_object_get(line, "to");
    const char *what = ls__json_word(line, "what");

    if (ls__line_is(line, "head"))
        return json_object_update(options, json_object_get(line, "options")) < 0
                   ? ls__no_memory("a transcript's options", 0) : 0;
    if (!ls__line_is(line, "event") || !what || strcmp(what, "change") != 0)
        return 0;
    if (!json_is_object(from) || !json_is_object(to) ||
        json_object_size(line) != FIELDS)
        return ls__fail(LS_EFORMAT, "an event \"change\" without options "
                        "\"from\" and \"to\", or with a field that is added");
    return follow_change(options, from, to);
}

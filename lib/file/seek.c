/* SPDX-License-Identifier: BSD-3-Clause */
/* See seek.h. */
#include "file/seek.h"
#include "base/json.h"
#include "file/changes.h"
#include "file/file.h"

#include <string.h>

/* The state to go back to, to read a line again. */
typedef struct mark {
    int64_t at, lines;
    char prev[LS__HEX];
} mark;

static mark mark_of(const ls__chain *c)
{
    mark m = {.at = ftello(c->file), .lines = c->lines};

    memcpy(m.prev, c->prev, LS__HEX);
    return m;
}

static int go_back(ls__chain *c, const mark *m)
{
    c->lines = m->lines;
    memcpy(c->prev, m->prev, LS__HEX);
    return fseeko(c->file, m->at, SEEK_SET) < 0 ? ls__io_error(c->path, "seek")
                                                : 0;
}

static bool is_state(const json_t *line, int64_t batches)
{
    return ls__line_is(line, "state") && ls__json_count(line, "n") == batches;
}

/* Fail: the state with the options that are wanted was passed, or there is
 * none. */
static int not_found(const ls__chain *c, int64_t batches, const json_t *before,
                     const json_t *options, bool seen)
{
    char what[LS__MESSAGE / 2] = "";
    json_t *a = json_pack("{s:O}", "options", before);
    json_t *b = json_pack("{s:O}", "options", options);
    bool differ = seen && a && b &&
                  ls__line_differs(a, b, NULL, what, sizeof what);

    json_decref(a);
    json_decref(b);
    if (differ)
        return ls__fail(LS_EDIFFERS, "%s: line 1 (head): %s", c->path, what);
    return ls__fail(LS_ENOTFOUND, "%s: has no state of %lld batches", c->path,
                    (long long)batches);
}

int ls__seek(ls__chain *c, int64_t batches, json_t *before,
             const json_t *options)
{
    bool seen = false;

    for (;;) {
        mark here = mark_of(c);
        json_t *line;
        int status = ls__chain_read(c, &line);
        bool is = line && is_state(line, batches);
        bool past = seen && line && !is && !json_object_get(line, "what");

        if (status == 0 && line && before)
            status = ls__changes_follow(before, line);
        json_decref(line);
        if (status < 0)
            return status;
        if (is && c->lines > 1 && (!options || json_equal(before, options)))
            return go_back(c, &here);
        seen = seen || is;
        if (!line || past)
            return not_found(c, batches, before, options, seen);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See published.h. */
#include "verify/published.h"
#include "opt/opt.h"
#include "run/json_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events that lockstep-train has; and those that a program has alone. */
static const char *const known[] = {"change", "chosen", "evaluation", "plateau",
                                    "saved", "stop"};

static bool is_known(const char *what)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], what) == 0)
            return true;
    return false;
}

static bool is_kind(const json_t *line, const char *kind)
{
    const char *is = json_string_value(json_object_get(line, "kind"));

    return is && strcmp(is, kind) == 0;
}

/* The options from a line on, the head's or those of an event "change". */
static bool add_part(published *p, const json_t *line)
{
    bool head = is_kind(line, "head");
    json_t *to = json_object_get(line, head ? "options" : "to");
    json_t *all = head ? json_object()
                       : json_copy(p->part[p->parts - 1].options);
    leg *more = realloc(p->part, ((size_t)p->parts + 1) * sizeof *more);
    const char *name;
    json_t *value;

    p->part = more ? more : p->part;
    json_object_foreach (json_object_get(line, "from"), name, value)
        (void)json_object_del(all, name);
    if (!more || !all || json_object_update(all, to) < 0) {
        json_decref(all);
        return false;
    }
    p->part[p->parts++] = (leg){
        .first = json_integer_value(json_object_get(line, "n")),
        .options = all};
    return true;
}

static void keep(json_t **place, json_t *line)
{
    json_decref(*place);
    *place = json_incref(line);
}

/* state: the batches of the last line that has one. */
static bool take_event(published *p, json_t *line, int64_t state)
{
    const char *what = json_string_value(json_object_get(line, "what"));
    int64_t n = json_integer_value(json_object_get(line, "n"));

    if (!is_known(what) && !*p->own) {
        snprintf(p->own, sizeof p->own, "%.39s", what);
        p->own_at = n;
    }
    if (strcmp(what, "chosen") == 0)
        keep(&p->chosen, line);
    if (strcmp(what, "evaluation") == 0) {
        keep(&p->evaluation, line);
        p->evaluations++;
    }
    if (strcmp(what, "saved") == 0) {
        p->saved = n;
        keep(&p->best, p->evaluation);
        p->saved_by = p->evaluations;
    }
    if (strcmp(what, "change") != 0)
        return true;
    if (!add_part(p, line))
        return false;
    p->part[p->parts - 1].stated = state == n;
    return true;
}

/* The library has checked the file; these are its lines again. */
static int read_again(published *p)
{
    json_lines all;
    json_t *line = NULL;
    int64_t state = -1;
    int status = json_lines_open(&all, p->path);
    bool good = true;

    while (good && status == OPT_GO &&
           (status = json_lines_next(&all, &line)) == OPT_GO && line) {
        if (!p->head && (good = add_part(p, line)))
            p->head = json_incref(line);
        else if (is_kind(line, "state"))
            state = json_integer_value(json_object_get(line, "n"));
        else if (is_kind(line, "event"))
            good = take_event(p, line, state);
        json_decref(line);
    }
    json_lines_close(&all);
    if (status == OPT_GO && !(good && p->head))
        status = opt_fail(OPT_FAILED, "%s: cannot be read again: no memory",
                          p->path);
    return status;
}

int published_open(published *p, const char *path)
{
    int status;

    *p = (published){.path = path, .saved = -1};
    status = opt_check(ls_transcript_check(path, &p->facts));
    return status == OPT_GO ? read_again(p) : status;
}

void published_close(published *p)
{
    json_decref(p->head);
    json_decref(p->chosen);
    json_decref(p->evaluation);
    json_decref(p->best);
    for (int i = 0; i < p->parts; i++)
        json_decref(p->part[i].options);
    free(p->part);
    *p = (published){.path = p->path};
}

const char *published_text(const published *p, const char *name)
{
    return json_string_value(json_object_get(p->head, name));
}

const char *published_option(const published *p, const char *name)
{
    return json_string_value(
        json_object_get(json_object_get(p->head, "options"), name));
}

const char *published_trains(const published *p)
{
    static const char program[] = "lockstep-train ";
    const char *text = published_text(p, "program");
    size_t skipped = sizeof program - 1;

    return strncmp(text, program, skipped) == 0 && text[skipped] != '-'
               ? text + skipped : NULL;
}

int published_part(const published *p, int64_t n)
{
    int i = p->parts - 1;

    while (i > 0 && p->part[i].first >= n)
        i--;
    return i;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See published.h. */
#include "verify/published.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events that lockstep-train has; and those that a program has alone. */
static const char *const known[] = {"change", "evaluation", "plateau", "stop"};

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

/* state: of which batches the last line with one is. */
static bool take_event(published *p, const json_t *line, int64_t state)
{
    const char *what = json_string_value(json_object_get(line, "what"));
    int64_t n = json_integer_value(json_object_get(line, "n"));

    if (!is_known(what) && !*p->own) {
        snprintf(p->own, sizeof p->own, "%.39s", what);
        p->own_at = n;
    }
    if (strcmp(what, "change") != 0)
        return true;
    if (!add_part(p, line))
        return false;
    p->part[p->parts - 1].stated = state == n;
    return true;
}

/* The library has checked the file; these are its lines again. */
static bool read_lines(published *p, FILE *file)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t n;
    int64_t state = -1;
    bool good = true;

    while (good && (n = getline(&text, &room, file)) > 0) {
        json_t *line = json_loadb(text, (size_t)n, 0, NULL);

        if (!p->head && (good = line && add_part(p, line)))
            p->head = json_incref(line);
        else if (is_kind(line, "state"))
            state = json_integer_value(json_object_get(line, "n"));
        else if (is_kind(line, "event"))
            good = take_event(p, line, state);
        json_decref(line);
    }
    free(text);
    return good && p->head;
}

static bool read_again(published *p)
{
    FILE *file = fopen(p->path, "r");
    bool good = file && read_lines(p, file);

    if (file)
        fclose(file);
    return good;
}

int published_open(published *p, const char *path)
{
    int status;

    *p = (published){.path = path};
    status = opt_check(ls_transcript_check(path, &p->facts));
    if (status == OPT_GO && !read_again(p))
        status = opt_fail(OPT_FAILED, "%s: cannot be read again", path);
    return status;
}

void published_close(published *p)
{
    json_decref(p->head);
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

int published_part(const published *p, int64_t n)
{
    int i = p->parts - 1;

    while (i > 0 && p->part[i].first >= n)
        i--;
    return i;
}

int64_t published_batches(const published *p)
{
    return p->facts.batches;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See change.h.  In checkpoints an option has two names, that of its row,
 * "--schedule:decay-steps", and that of the trainer's own option,
 * "decay_steps". */
#include "train/change.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------ Lists of names ------ */

/* Name i of a list by commas; false past the last. */
static bool name_at(const char *list, int i, char name[OPT_VALUE])
{
    while (list && i-- > 0)
        list = (list = strchr(list, ',')) ? list + 1 : NULL;
    if (list)
        snprintf(name, OPT_VALUE, "%.*s", (int)strcspn(list, ","), list);
    return list;
}

static bool holds(const char *list, const char *wanted)
{
    char name[OPT_VALUE];

    for (int i = 0; wanted && name_at(list, i, name); i++)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

/* ------ What may change ------ */

/* Names are those of options: one stands for its parts, too. */
static void append_option(char list[CHANGE_TEXT], const opt *o)
{
    char name[OPT_VALUE];

    snprintf(name, sizeof name, "%.*s", opt_word_bytes(o), o->name);
    if (!holds(list, name))
        opt_append(list, CHANGE_TEXT, ",", "%s", name);
}

static void list_changeable(const run *r, char list[CHANGE_TEXT])
{
    const opt_program *p = &r->program;

    *list = 0;
    for (int i = 0; i < p->count; i++)
        if (p->option[i].may_change &&
            opt_takes(&p->option[i], p->models[r->line.model]))
            append_option(list, &p->option[i]);
}

/* An option that may change, or that has parts which may. */
static int check_name(const run *r, const char *name)
{
    char list[CHANGE_TEXT];
    bool may = false;

    for (int i = 0; i < r->program.count; i++) {
        const opt *o = &r->program.option[i];

        may |= (o->may_change || o->may_differ) &&
               strncmp(o->name, name, strlen(name)) == 0 &&
               (size_t)opt_word_bytes(o) == strlen(name);
    }
    if (may)
        return OPT_GO;
    list_changeable(r, list);
    return opt_fail(OPT_WRONG, "--change: \"%s\" is none of %s", name, list);
}

int change_check(const run *r, const char *list)
{
    char name[OPT_VALUE];
    int status = OPT_GO;

    for (int i = 0; status == OPT_GO && name_at(list, i, name); i++)
        status = check_name(r, name);
    return status;
}

/* The trainer's name of an option, which may be a pattern. */
static const char *kept_as(const opt *o, char room[OPT_VALUE])
{
    snprintf(room, OPT_VALUE, "%s", o->kept_as ? o->kept_as : o->name);
    for (char *at = room; (at = strchr(at, '-'));)
        *at = '_';
    return room;
}

/* It was not given, so it is the number of steps. */
static bool follows_steps(const run *r, const opt *o)
{
    return strcmp(o->name, "schedule:decay-steps") == 0 &&
           !run_given(r, o->name);
}

/* May be another: an option, its parts, and what follows from it: --change
 * schedule, --change steps. */
static bool may_be_another(const run *r, const char *list, const opt *o)
{
    char name[OPT_VALUE];

    snprintf(name, sizeof name, "%.*s", opt_word_bytes(o), o->name);
    return holds(list, name) ||
           (follows_steps(r, o) &&
            (holds(list, "steps") || holds(list, "epochs")));
}

const char *change_patterns(const run *r, const char *list,
                            char room[CHANGE_TEXT])
{
    char name[OPT_VALUE];

    *room = 0;
    for (int i = 0; i < r->program.count; i++) {
        const opt *o = &r->program.option[i];

        if (!o->may_change || !may_be_another(r, list, o))
            continue;
        opt_append(room, CHANGE_TEXT, ",", "--%s", o->name);
        opt_append(room, CHANGE_TEXT, ",", "%s", kept_as(o, name));
    }
    return room;
}

/* ------ What did change ------ */

/* Is an option what a name in a checkpoint stands for? */
static bool stands_for(const char *name, const opt *o)
{
    char pattern[OPT_VALUE];

    if (strncmp(name, "--", 2) == 0)
        return strcmp(name + 2, o->name) == 0;
    return fnmatch(kept_as(o, pattern), name, 0) == 0;
}

/* The option that a name stands for, of several one that was given; or NULL. */
static const opt *option_of(const run *r, const char *name)
{
    const opt *found = NULL;

    for (int i = 0; i < r->program.count; i++) {
        const opt *o = &r->program.option[i];

        if (stands_for(name, o) && (!found || run_given(r, o->name)))
            found = o;
    }
    return found;
}

/* The options to name, "" when one of them may not change. */
static void list_changed(const run *r, const ls_checkpoints *c,
                         char list[CHANGE_TEXT])
{
    ls_change change;

    *list = 0;
    for (int i = 0; ls_checkpoints_change(c, i, &change); i++) {
        const opt *o = option_of(r, change.name);

        if (!o || !o->may_change) {
            *list = 0;
            return;
        }
        append_option(list, o);
    }
}

/* "; --schedule :decay-steps=320 keeps it", where the number was that of the
 * steps. */
static void put_default(const run *r, const ls_checkpoints *c,
                        char out[CHANGE_TEXT])
{
    ls_change change;

    *out = 0;
    if (run_given(r, "schedule:decay-steps"))
        return;
    for (int i = 0; ls_checkpoints_change(c, i, &change); i++)
        if (strcmp(change.name, "decay_steps") == 0 && change.is)
            snprintf(out, CHANGE_TEXT, "; --schedule :decay-steps=%s keeps "
                     "the schedule as it was", change.was);
}

int change_refused(const run *r, const ls_checkpoints *c)
{
    char list[CHANGE_TEXT], hint[CHANGE_TEXT];

    list_changed(r, c, list);
    put_default(r, c, hint);
    if (!*list)
        return opt_fail(OPT_WRONG, "%s", ls_errmsg());
    return opt_fail(OPT_WRONG, "%s%s; --change %s goes on with bits of its "
                    "own", ls_errmsg(), hint, list);
}

bool change_is_of_old(const run *r, const ls_checkpoints *c)
{
    ls_change change;

    for (int i = 0; ls_checkpoints_change(c, i, &change); i++)
        if (strncmp(change.name, "--", 2) == 0 &&
            opt_find_old(&r->program, change.name + 2) >= 0)
            return true;
    return false;
}

bool change_has(const ls_checkpoints *c, const char *name)
{
    ls_change change;

    for (int i = 0; ls_checkpoints_change(c, i, &change); i++)
        if (strcmp(change.name, name) == 0)
            return true;
    return false;
}

/* Is "--lr" told as the trainer's own "lr"? */
static bool told_otherwise(const run *r, const ls_checkpoints *c,
                           const char *name)
{
    const opt *o = option_of(r, name);
    ls_change change;

    for (int i = 0; o && ls_checkpoints_change(c, i, &change); i++)
        if (strncmp(change.name, "--", 2) && !strchr(change.name, ':') &&
            stands_for(change.name, o))
            return true;
    return false;
}

static const char *shown(const char *value)
{
    return value && *value ? value : "not set";
}

void change_tell(const run *r, const ls_checkpoints *c, int64_t step,
                 const char *before, char out[CHANGE_TEXT])
{
    const char *between = ": ";
    size_t at = (size_t)snprintf(out, CHANGE_TEXT, "%s",
                                 before ? before : "");
    size_t start;
    ls_change change;

    if (at >= CHANGE_TEXT - OPT_VALUE || !ls_checkpoints_change(c, 0, &change))
        return;
    at += (size_t)snprintf(out + at, CHANGE_TEXT - at, "%s", at ? "; " : "");
    start = at;
    at += (size_t)snprintf(out + at, CHANGE_TEXT - at, "step %" PRId64, step);
    for (int i = 0; ls_checkpoints_change(c, i, &change); i++) {
        if ((strncmp(change.name, "--", 2) == 0 &&
             told_otherwise(r, c, change.name)) || at >= CHANGE_TEXT)
            continue;
        at += (size_t)snprintf(out + at, CHANGE_TEXT - at, "%s%s %s (was %s)",
                               between, change.name, shown(change.is),
                               shown(change.was));
        between = ", ";
    }
    fprintf(stderr, "note: changed from %s; the bits are this run's own\n",
            characters_shown(out + start));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences of two lines, and those that are allowed. */
#include "file/line.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ what may differ ------ */

/* All that two transcripts of one training may differ in.  docs/transcript.md
 * has the same table (test/tools/verify/transcript.sh). */
/* clang-format off */
static const struct {
    const char *kind, *field, *because;
    bool always; /* or as `because` says, which the caller decides */
} may_differ[] = {
    {"any", "prev", "it follows from the line before, which is compared",
     true},
    {"head", "lockstep", "the version of the contract counts, not the release",
     true},
    {"head", "data[].name", "a file is its bytes and its role; "
     "it may be called otherwise", true},
    {"end", "model", "where `lockstep` differs: the file names the release; "
     "`contents` is compared", false},
    {"event", "folds`, `seed`, `table`, `tried", "of `chosen`: who trains "
     "again does not search again", false},
};
/* clang-format on */

static bool passes(const char *kind, const char *field)
{
    for (size_t i = 0; i < sizeof may_differ / sizeof *may_differ; i++)
        if (may_differ[i].always && strcmp(may_differ[i].field, field) == 0 &&
            (strcmp(may_differ[i].kind, "any") == 0 ||
             (kind && strcmp(may_differ[i].kind, kind) == 0)))
            return true;
    return false;
}

/* ------ comparing ------ */

static bool is_passed(const char *name, const char *const *passed)
{
    for (; passed && *passed; passed++)
        if (strcmp(name, *passed) == 0)
            return true;
    return false;
}

/* A value as a short text; to be freed. */
static char *value_text(const json_t *value)
{
    if (!value)
        return strdup("missing");
    return json_is_string(value)
               ? strdup(json_string_value(value))
               : ls__json_text(value, LS__CANONICAL | JSON_ENCODE_ANY);
}

static void tell(const char *of, const char *name, const json_t *file,
                 const json_t *here, const ls__sides *s)
{
    char *a = value_text(file), *b = value_text(here);

    snprintf(s->text, s->size, "%s%s%.60s is %.80s %s, %.80s %s", of,
             *of ? " " : "", name, a ? a : "?", s->name[0], b ? b : "?",
             s->name[1]);
    free(a);
    free(b);
}

/* The file of a role; NULL: the list has none. */
static const json_t *file_of(const json_t *files, const char *role)
{
    json_t *one;
    size_t i;

    json_array_foreach (files, i, one)
        if (strcmp(ls__json_word(one, "role"), role) == 0)
            return one;
    return NULL;
}

enum { FILE_TEXT = 100 };

_Static_assert(FILE_TEXT > 64 + sizeof " of  bytes" + 20, "hash and number");

static const char *file_text(const json_t *one, char text[FILE_TEXT])
{
    if (!one)
        return "missing";
    snprintf(text, FILE_TEXT, "%.64s of %lld bytes",
             ls__json_word(one, "sha256"),
             (long long)ls__json_count(one, "bytes"));
    return text;
}

/* The first role with another file, by digest and not by name. */
static bool files_differ(const json_t *file, const json_t *here,
                         const ls__sides *s)
{
    for (int side = 0; side < 2; side++) {
        json_t *one;
        size_t i;

        json_array_foreach (side ? here : file, i, one) {
            const char *role = ls__json_word(one, "role");
            char room[2][FILE_TEXT];
            const char *a = file_text(file_of(file, role), room[0]);
            const char *b = file_text(file_of(here, role), room[1]);

            if (strcmp(a, b) == 0)
                continue;
            snprintf(s->text, s->size, "data %.80s is %s %s, %s %s", role, a,
                     s->name[0], b, s->name[1]);
            return true;
        }
    }
    return false;
}

/* The first name with different values, or in one object only; `of` is the
 * object's own name. */
static bool objects_differ(const char *of, const json_t *file,
                           const json_t *here, const char *const *passed,
                           const ls__sides *s)
{
    const char *kind = ls__json_word(file, "kind");

    for (int side = 0; side < 2; side++) {
        const json_t *all = side ? here : file;
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)all, name, value) {
            const json_t *a = json_object_get(file, name);
            const json_t *b = json_object_get(here, name);

            if (is_passed(name, passed) || (!*of && passes(kind, name)) ||
                (a && b && json_equal(a, b)))
                continue;
            if (json_is_array(a) && json_is_array(b)) {
                if (files_differ(a, b, s))
                    return true;
                continue;
            }
            if (json_is_object(a) && json_is_object(b))
                return objects_differ(name, a, b, NULL, s);
            tell(of, name, a, b, s);
            return true;
        }
    }
    return false;
}

bool ls__sides_differ(const json_t *a, const json_t *b,
                      const char *const *passed, const ls__sides *sides)
{
    return objects_differ("", a, b, passed, sides);
}

bool ls__line_differs(const json_t *file, const json_t *here,
                      const char *const *passed, char *out, size_t size)
{
    return ls__sides_differ(file, here, passed,
                            &(ls__sides){out, size, {"in the file", "here"}});
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See pair.h. */
#define _GNU_SOURCE
#include "verify/pair.h"
#include "opt/opt.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *path;
    FILE *file;
    char *line;
    size_t room;
} reader;

static int reader_open(reader *r, const char *path)
{
    *r = (reader){.path = path, .file = fopen(path, "r")};
    return r->file ? OPT_GO
                   : opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
}

static void reader_close(reader *r)
{
    if (r->file)
        fclose(r->file);
    free(r->line);
}

/* The next line; NULL: there is none. */
static json_t *reader_next(reader *r)
{
    ssize_t n = getline(&r->line, &r->room, r->file);

    return n > 0 ? json_loadb(r->line, (size_t)n, 0, NULL) : NULL;
}

static bool is_passed(const char *name)
{
    return strcmp(name, "prev") == 0 || strcmp(name, "lockstep") == 0;
}

/* Names of files are left out: the same bytes may be called otherwise. */
static void strip_names(json_t *line)
{
    size_t i;
    json_t *one;

    json_array_foreach (json_object_get(line, "data"), i, one)
        json_object_del(one, "name");
}

/* "loss: 40c86a77 and 40c86a78" */
static void tell(const char *of, const char *name, const json_t *a,
                 const json_t *b, char text[PAIR_TEXT])
{
    size_t flags = JSON_ENCODE_ANY | JSON_COMPACT;
    char *x = a ? json_dumps(a, flags) : NULL;
    char *y = b ? json_dumps(b, flags) : NULL;

    snprintf(text, PAIR_TEXT, "%s%s%.60s: %.150s and %.150s", of,
             *of ? " " : "", name, x ? x : "none", y ? y : "none");
    free(x);
    free(y);
}

static bool objects_differ(const char *of, json_t *a, json_t *b,
                           char text[PAIR_TEXT])
{
    for (int side = 0; side < 2; side++) {
        const char *name;
        json_t *value;

        json_object_foreach (side ? b : a, name, value) {
            json_t *x = json_object_get(a, name);
            json_t *y = json_object_get(b, name);

            if (is_passed(name) || (x && y && json_equal(x, y)))
                continue;
            if (json_is_object(x) && json_is_object(y))
                return objects_differ(name, x, y, text);
            tell(of, name, x, y, text);
            return true;
        }
    }
    return false;
}

static bool lines_differ(int64_t line, json_t *a, json_t *b,
                         char text[PAIR_TEXT])
{
    char what[PAIR_TEXT] = "";
    const json_t *n = json_object_get(a ? a : b, "n");
    const char *kind =
        json_string_value(json_object_get(a ? a : b, "kind"));

    if (a && b) {
        strip_names(a);
        strip_names(b);
        if (!objects_differ("", a, b, what))
            return false;
    } else {
        snprintf(what, sizeof what, "the %s file ends before it",
                 a ? "second" : "first");
    }
    snprintf(text, PAIR_TEXT, "line %lld (%.20s of %lld): %.400s",
             (long long)line, kind, (long long)json_integer_value(n), what);
    return true;
}

int pair_compare(const char *a, const char *b, bool *same,
                 char text[PAIR_TEXT])
{
    reader x = {0}, y = {0};
    int status = reader_open(&x, a);
    bool more = true;

    if (status == OPT_GO)
        status = reader_open(&y, b);
    *same = true;
    for (int64_t line = 1; status == OPT_GO && *same && more; line++) {
        json_t *p = reader_next(&x), *q = reader_next(&y);

        more = p || q;
        if (more)
            *same = !lines_differ(line, p, q, text);
        else
            snprintf(text, PAIR_TEXT, "%lld lines", (long long)line - 1);
        json_decref(p);
        json_decref(q);
    }
    reader_close(&x);
    reader_close(&y);
    return status;
}

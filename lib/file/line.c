/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a transcript, read as strictly as they are written. */
#include "chain/line.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ which fields a kind has ------ */

typedef struct field {
    const char *name; /* sorted */
    ls__field_type type;
} field;

typedef struct kind {
    const char *name;
    bool is_open; /* may have further fields: texts, or objects of texts */
    const field *fields;
} kind;

static const field head[] = {
    {"bits", LS__COUNT_FIELD},    {"data", LS__FILES_FIELD},
    {"devices", LS__COUNT_FIELD}, {"every", LS__COUNT_FIELD},
    {"gradient", LS__ONE_OR_NONE},
    {"graph", LS__HEX64},         {"kind", LS__TEXT_FIELD},
    {"layout", LS__HEX64},        {"lockstep", LS__TEXT_FIELD},
    {"maker", LS__TEXT_FIELD},    {"micro", LS__COUNT_FIELD},
    {"options", LS__TEXTS_FIELD}, {"plan", LS__COUNT_FIELD},
    {"prev", LS__HEX64},          {"program", LS__TEXT_FIELD},
    {"rows", LS__ONE_OR_NONE},    {"source", LS__HEX64_OR_NONE},
    {"sum", LS__TEXT_FIELD},      {"version", LS__COUNT_FIELD},
    {0},
};

static const field state[] = {
    {"kind", LS__TEXT_FIELD}, {"n", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {"root", LS__HEX64}, {"updates", LS__COUNT_FIELD}, {0},
};

static const field step[] = {
    {"gradient", LS__HEX64_OR_NONE},
    {"kind", LS__TEXT_FIELD}, {"loss", LS__HEX8}, {"lr", LS__HEX8},
    {"n", LS__COUNT_FIELD}, {"norm", LS__HEX8}, {"prev", LS__HEX64},
    {"rows", LS__HEX64_OR_NONE},
    {"updated", LS__COUNT_FIELD}, {"weight", LS__HEX16}, {0},
};

static const field steps[] = {
    {"first", LS__COUNT_FIELD},
    {"kind", LS__TEXT_FIELD}, {"last", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {"root", LS__HEX64},
    {0},
};

static const field event[] = {
    {"kind", LS__TEXT_FIELD}, {"n", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {"what", LS__TEXT_FIELD}, {0},
};

static const field end[] = {
    {"kind", LS__TEXT_FIELD}, {"lines", LS__COUNT_FIELD},
    {"model", LS__TEXT_FIELD}, {"n", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {"root", LS__HEX64}, {"state", LS__HEX64}, {0},
};

static const field record[] = {
    {"bits", LS__COUNT_FIELD},    {"device", LS__TEXT_FIELD},
    {"devices", LS__COUNT_FIELD}, {"graph", LS__HEX64},
    {"kind", LS__TEXT_FIELD},     {"layout", LS__HEX64},
    {"lockstep", LS__TEXT_FIELD}, {"maker", LS__TEXT_FIELD},
    {"micro", LS__COUNT_FIELD},   {"options", LS__TEXTS_FIELD},
    {"plan", LS__COUNT_FIELD},    {"prev", LS__HEX64},
    {"step", LS__COUNT_FIELD},    {"values", LS__COUNT_FIELD},
    {"version", LS__COUNT_FIELD}, {0},
};

static const field slot[] = {
    {"at", LS__COUNT_FIELD}, {"floats", LS__COUNT_FIELD},
    {"kind", LS__TEXT_FIELD}, {"name", LS__TEXT_FIELD}, {"prev", LS__HEX64},
    {"shape", LS__TEXT_FIELD}, {0},
};

static const field node[] = {
    {"inputs", LS__TEXTS_FIELD}, {"kind", LS__TEXT_FIELD},
    {"name", LS__TEXT_FIELD},    {"node", LS__COUNT_FIELD},
    {"of", LS__TEXTS_FIELD},
    {"op", LS__TEXT_FIELD},      {"params", LS__TEXTS_FIELD},
    {"passes", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {"shape", LS__TEXT_FIELD},   {"tied", LS__COUNT_FIELD},
    {0},
};

static const field array[] = {
    {"device", LS__COUNT_FIELD}, {"first", LS__COUNT_FIELD},
    {"floats", LS__COUNT_FIELD}, {"index", LS__COUNT_FIELD},
    {"kind", LS__TEXT_FIELD},    {"leaves", LS__TEXT_FIELD},
    {"micro", LS__COUNT_FIELD},  {"name", LS__TEXT_FIELD},
    {"node", LS__COUNT_FIELD},   {"op", LS__TEXT_FIELD},
    {"phase", LS__TEXT_FIELD},   {"pieces", LS__HEX64},
    {"prev", LS__HEX64},         {"root", LS__HEX64},
    {"rows", LS__COUNT_FIELD},
    {"shape", LS__TEXT_FIELD},   {"what", LS__TEXT_FIELD},
    {0},
};

static const field leaf[] = {
    {"bits", LS__TEXT_FIELD}, {"kind", LS__TEXT_FIELD},
    {"leaf", LS__COUNT_FIELD}, {"prev", LS__HEX64}, {0},
};

static const field number[] = {
    {"bits", LS__TEXT_FIELD}, {"device", LS__COUNT_FIELD},
    {"kind", LS__TEXT_FIELD}, {"micro", LS__COUNT_FIELD},
    {"phase", LS__TEXT_FIELD}, {"prev", LS__HEX64}, {"what", LS__TEXT_FIELD},
    {0},
};

static const field close[] = {
    {"kind", LS__TEXT_FIELD}, {"lines", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {0},
};

static const kind kinds[LS__FORMS][8] = {
    [LS__TRANSCRIPT] = {
        {"head", false, head}, {"state", false, state}, {"step", false, step},
        {"steps", false, steps}, {"event", true, event}, {"end", false, end}},
    [LS__RECORD] = {
        {"record", false, record}, {"slot", false, slot},
        {"node", false, node},
        {"array", false, array}, {"leaf", false, leaf},
        {"number", false, number}, {"close", false, close}},
};

static const kind *find_kind(ls__line_form form, const char *name)
{
    for (const kind *k = kinds[form]; name && k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static const field *find_field(const kind *k, const char *name)
{
    for (const field *f = k->fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* ------ what a field may hold ------ */

static bool is_hex(const json_t *value, size_t digits)
{
    const char *text = json_string_value(value);

    return text && json_string_length(value) == digits &&
           strspn(text, "0123456789abcdef") == digits;
}

static bool is_texts(const json_t *value)
{
    const char *name;
    json_t *one;

    if (!json_is_object(value))
        return false;
    json_object_foreach ((json_t *)value, name, one)
        if (!json_is_string(one))
            return false;
    return true;
}

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < INT64_C(1) << 53;
}

static bool is_file(const json_t *value)
{
    return json_object_size(value) == 3 &&
           is_count(json_object_get(value, "bytes")) &&
           json_is_string(json_object_get(value, "name")) &&
           is_hex(json_object_get(value, "sha256"), 64);
}

static bool is_files(const json_t *value)
{
    size_t i;
    json_t *one;

    if (!json_is_array(value))
        return false;
    json_array_foreach (value, i, one)
        if (!is_file(one))
            return false;
    return true;
}

static bool holds(const json_t *value, ls__field_type type)
{
    switch (type) {
    case LS__COUNT_FIELD: return is_count(value);
    case LS__HEX8: return is_hex(value, 8);
    case LS__HEX16: return is_hex(value, 16);
    case LS__HEX64:
    case LS__HEX64_OR_NONE: return is_hex(value, 64);
    case LS__ONE_OR_NONE: return json_integer_value(value) == 1;
    case LS__TEXT_FIELD: return json_is_string(value);
    case LS__TEXTS_FIELD: return is_texts(value);
    case LS__FILES_FIELD: return is_files(value);
    }
    return false;
}

static bool may_lack(ls__field_type type)
{
    return type == LS__ONE_OR_NONE || type == LS__HEX64_OR_NONE;
}

/* ------ reading ------ */

static int check_fields(const json_t *line, const kind *k, const char *where)
{
    const char *name;
    json_t *value;

    for (const field *f = k->fields; f->name; f++) {
        value = json_object_get(line, f->name);
        if (value ? !holds(value, f->type) : !may_lack(f->type))
            return ls__fail(LS_EFORMAT, "%s: a line \"%s\" whose field \"%s\" "
                            "is %s", where, k->name, f->name,
                            value ? "not what it must be" : "missing");
    }
    json_object_foreach ((json_t *)line, name, value)
        if (!find_field(k, name) &&
            !(k->is_open && (json_is_string(value) || is_texts(value))))
            return ls__fail(LS_EFORMAT, "%s: a line \"%s\" with a field "
                            "\"%.40s\", which is not known", where, k->name,
                            name);
    return 0;
}

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS };

static int check_canonical(const json_t *line, const char *text, size_t bytes,
                           const char *where)
{
    char *written = ls__new(bytes + 1, 1, "a line");
    size_t n = written ? json_dumpb(line, written, bytes, CANONICAL) : 0;
    bool same = n == bytes && memcmp(written, text, bytes) == 0;

    free(written);
    if (!n)
        return ls__no_memory("a line", bytes);
    return same ? 0 : ls__fail(LS_EFORMAT, "%s: not canonical JSON (keys "
                               "sorted, no blanks)", where);
}

int ls__line_read(ls__line_form form, const char *text, size_t bytes,
                  const char *where, json_t **line)
{
    json_error_t error;
    const kind *k;
    int status;

    *line = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!*line)
        return ls__json_fail(where, "no line of a transcript or record", 0,
                             &error);
    k = find_kind(form, json_string_value(json_object_get(*line, "kind")));
    status = k ? check_fields(*line, k, where)
               : ls__fail(LS_EFORMAT, "%s: no kind of line that is known",
                          where);
    if (status == 0)
        status = check_canonical(*line, text, bytes, where);
    if (status < 0) {
        json_decref(*line);
        *line = NULL;
    }
    return status;
}

char *ls__line_write(const json_t *object)
{
    return ls__json_text(object, CANONICAL);
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
               : ls__json_text(value, CANONICAL | JSON_ENCODE_ANY);
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

/* The first name that one has and the other has not, or has otherwise; `of` is
 * the object's own name. */
static bool objects_differ(const char *of, const json_t *file,
                           const json_t *here, const char *const *passed,
                           const ls__sides *s)
{
    for (int side = 0; side < 2; side++) {
        const json_t *all = side ? here : file;
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)all, name, value) {
            const json_t *a = json_object_get(file, name);
            const json_t *b = json_object_get(here, name);

            if (is_passed(name, passed) || (a && b && json_equal(a, b)))
                continue;
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

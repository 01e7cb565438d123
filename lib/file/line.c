/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a transcript, read as strictly as they are written. */
#include "file/line.h"
#include "base/assert.h"
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
    {"contents", LS__HEX64_OR_EMPTY},
    {"kind", LS__TEXT_FIELD}, {"lines", LS__COUNT_FIELD},
    {"model", LS__HEX64_OR_EMPTY}, {"n", LS__COUNT_FIELD}, {"prev", LS__HEX64},
    {"root", LS__HEX64}, {"state", LS__HEX64}, {0},
};

static const kind kinds[] = {
    {"head", false, head}, {"state", false, state}, {"step", false, step},
    {"steps", false, steps}, {"event", true, event}, {"end", false, end}, {0},
};

static const kind *find_kind(const char *name)
{
    for (const kind *k = kinds; name && k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static const field *find_field(const kind *k, const char *name)
{
    for (const field *f = k->fields; f->name; f++) {
        LS__ASSERT(!f[1].name || strcmp(f->name, f[1].name) < 0);
        if (strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

/* ------ what a field may hold ------ */

static bool is_hex(const json_t *value, size_t digits)
{
    const char *text = json_string_value(value);

    return text && json_string_length(value) == digits &&
           strspn(text, "0123456789abcdef") == digits;
}

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < INT64_C(1) << 53;
}

/* A word that does nothing to a terminal. */
static bool is_plain(const char *text)
{
    size_t bytes = strlen(text);

    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return false;
    return bytes > 0;
}

/* Is it a name that never leaves a folder when it is opened? */
static bool is_name(const json_t *value)
{
    const char *name = json_string_value(value);

    return name && json_string_length(value) == strlen(name) &&
           is_plain(name) && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool is_file(const json_t *value)
{
    return json_object_size(value) == 4 &&
           is_count(json_object_get(value, "bytes")) &&
           is_name(json_object_get(value, "name")) &&
           is_name(json_object_get(value, "role")) &&
           is_hex(json_object_get(value, "sha256"), 64);
}

/* The most files of a run; a folder of pictures is one. */
enum { MOST_FILES = 1000 };

static const char *role_of(const json_t *files, size_t i)
{
    return ls__json_word(json_array_get(files, i), "role");
}

/* Each role is there once.  Nothing here allocates memory: that there is none
 * is no fault of the line. */
static bool is_files(const json_t *value)
{
    size_t n = json_array_size(value);

    if (!json_is_array(value) || n > MOST_FILES)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_file(json_array_get(value, i)))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(role_of(value, i), role_of(value, k)) == 0)
                return false;
    }
    return true;
}

bool ls__line_is(const json_t *line, const char *what)
{
    const char *is = ls__json_word(line, "kind");

    return is && strcmp(is, what) == 0;
}

bool ls__line_has_files(const json_t *line)
{
    return is_files(json_object_get(line, "data"));
}

/* "file --data" says what follows a path, as ":X" of an array of several, and
 * never the path. */
static bool is_setting(const char *name, const json_t *value)
{
    static const char of_file[] = "file ";
    const char *text = json_string_value(value);

    return text && (strncmp(name, of_file, sizeof of_file - 1) != 0 ||
                    !*text || (*text == ':' && is_plain(text)));
}

static bool is_texts(const json_t *value)
{
    const char *name;
    json_t *one;

    if (!json_is_object(value))
        return false;
    json_object_foreach ((json_t *)value, name, one)
        if (!is_setting(name, one))
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
    case LS__HEX64_OR_EMPTY: return is_hex(value, 64) || is_hex(value, 0);
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

static int check_canonical(const json_t *line, const char *text, size_t bytes,
                           const char *where)
{
    char *written = ls__new(bytes + 1, 1, "a line");
    size_t n = written ? json_dumpb(line, written, bytes, LS__CANONICAL) : 0;
    bool same = n == bytes && memcmp(written, text, bytes) == 0;

    free(written);
    if (!n)
        return ls__no_memory("a line", bytes);
    return same ? 0 : ls__fail(LS_EFORMAT, "%s: not canonical JSON (keys "
                               "sorted, no blanks)", where);
}

int ls__line_read(const char *text, size_t bytes, const char *where,
                  json_t **line)
{
    json_error_t error;
    const kind *k;
    int status;

    *line = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!*line)
        return ls__json_fail(where, "no line of a transcript", 0,
                             &error);
    k = find_kind(ls__json_word(*line, "kind"));
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
    return ls__json_text(object, LS__CANONICAL);
}

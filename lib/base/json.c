/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "base/json.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A shortage leaves the error empty more often than not. */
int ls__json_fail(const char *path, const char *what, size_t first,
                  const json_error_t *error)
{
    if (!*error->text || json_error_code(error) == json_error_out_of_memory)
        return ls__no_memory(path, 0);
    return ls__fail(LS_EFORMAT, "%s: %s, at byte %zu: %s", path, what,
                    first + (size_t)error->position, error->text);
}

json_t *ls__json_string(const char *text)
{
    size_t n = strlen(text);
    char *hex;
    json_t *value;

    if (ls__utf8_is(text))
        return json_string(text);
    if (!(hex = ls__new(2 * n + 3, 1, "JSON")))
        return NULL;
    strcpy(hex, "0x");
    for (size_t i = 0; i < n; i++)
        snprintf(hex + 2 + 2 * i, 3, "%02x", (unsigned char)text[i]);
    value = json_string(hex);
    free(hex);
    return value;
}

json_t *ls__json_with(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *ls__json_with_texts(json_t *object, int n, const ls_setting *text)
{
    for (int i = 0; i < n; i++)
        object = ls__json_with(object, text[i].name,
                               ls__json_string(text[i].value));
    return object;
}

json_t *ls__json_and(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

bool ls__json_are_texts(const json_t *object)
{
    const char *name;
    json_t *one;

    json_object_foreach ((json_t *)object, name, one)
        if (!json_is_string(one))
            return false;
    return json_is_object(object);
}

char *ls__json_text(const json_t *value, size_t flags)
{
    size_t n = json_dumpb(value, NULL, 0, flags);
    char *text = n ? ls__new(n + 1, 1, "JSON") : NULL;

    if (text && json_dumpb(value, text, n, flags) == n)
        return text;
    free(text);
    ls__no_memory("JSON", n);
    return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_parts.h. */
#include "opt/json_parts.h"
#include "opt/opt.h"

#include <stdio.h>

json_t *json_with(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *json_and(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

int json_print(json_t *value, size_t flags)
{
    if (!value || json_dumpf(value, stdout, flags | JSON_ENSURE_ASCII) < 0) {
        json_decref(value);
        return opt_fail(OPT_FAILED, "what was found does not become JSON: no "
                        "memory, or a text that is no UTF-8");
    }
    json_decref(value);
    putchar('\n');
    return OPT_GO;
}

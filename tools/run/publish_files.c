/* SPDX-License-Identifier: BSD-3-Clause */
/* See publish_files.h. */
#define _GNU_SOURCE
#include "run/publish_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *publish_sums(const json_t *data)
{
    char *text = NULL;
    size_t size = 0, i;
    json_t *one;
    FILE *f = open_memstream(&text, &size);
    bool good = f != NULL;

    json_array_foreach (data, i, one)
        good = good &&
               fprintf(f, "# %s, %lld bytes\n%s  %s\n",
                       json_string_value(json_object_get(one, "role")),
                       (long long)json_integer_value(
                           json_object_get(one, "bytes")),
                       json_string_value(json_object_get(one, "sha256")),
                       json_string_value(json_object_get(one, "name"))) > 0;
    if (good && json_array_size(data) == 0)
        good = fputs("# The run read no files.\n", f) >= 0;
    good = f && fclose(f) == 0 && good;
    if (good)
        return text;
    free(text);
    return NULL;
}

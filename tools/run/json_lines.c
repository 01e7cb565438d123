/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_lines.h. */
#define _GNU_SOURCE
#include "run/json_lines.h"
#include "opt/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int failed(const json_lines *l)
{
    return opt_fail(OPT_FAILED, "%s: cannot be read again: %s", l->path,
                    strerror(errno));
}

int json_lines_open(json_lines *l, const char *path)
{
    *l = (json_lines){.path = path, .file = fopen(path, "re")};
    return l->file ? OPT_GO : failed(l);
}

int json_lines_next(json_lines *l, json_t **line)
{
    ssize_t n = getline(&l->text, &l->room, l->file);

    *line = NULL;
    if (n < 0)
        return feof(l->file) && !ferror(l->file) ? OPT_GO : failed(l);
    if ((*line = json_loadb(l->text, (size_t)n, 0, NULL)))
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: cannot be read again: no memory, or no "
                    "JSON", l->path);
}

void json_lines_close(json_lines *l)
{
    if (l->file)
        fclose(l->file);
    free(l->text);
    *l = (json_lines){.path = l->path};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See published.h. */
#include "verify/published.h"
#include "opt/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library has checked the file; this is its first line again. */
static json_t *read_head(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t n = file ? getline(&line, &room, file) : -1;
    json_t *head = n > 0 ? json_loadb(line, (size_t)n, 0, NULL) : NULL;

    free(line);
    if (file)
        fclose(file);
    return head;
}

int published_open(published *p, const char *path)
{
    int status;

    *p = (published){.path = path};
    status = opt_check(ls_transcript_check(path, &p->facts));
    if (status == OPT_GO && !(p->head = read_head(path)))
        status = opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    return status;
}

void published_close(published *p)
{
    json_decref(p->head);
    p->head = NULL;
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

int64_t published_batches(const published *p)
{
    return p->facts.batches;
}

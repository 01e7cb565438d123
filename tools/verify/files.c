/* SPDX-License-Identifier: BSD-3-Clause */
/* See files.h. */
#define _GNU_SOURCE
#include "verify/files.h"
#include "opt/opt.h"
#include "run/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Does a path end in a name, but for slashes? */
static bool ends_in(const char *path, const char *name)
{
    size_t n = strlen(path), m = strlen(name);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n >= m && strncmp(path + n - m, name, m) == 0 &&
           (n == m || path[n - m - 1] == '/');
}

/* A folder of pictures may be meant itself. */
char *files_find(const char *data, const char *name)
{
    char *path = NULL;
    int n = data && is_folder(data) ? asprintf(&path, "%s/%s", data, name)
                                    : asprintf(&path, "%s", data ? data : name);

    if (n >= 0 && data && access(path, F_OK) != 0 && ends_in(data, name)) {
        free(path);
        n = asprintf(&path, "%s", data);
    }
    if (n < 0)
        opt_fail(OPT_FAILED, "no memory for the names of files");
    return n < 0 ? NULL : path;
}

/* One file, or a folder's list, against what the transcript says of it. */
static int compare(const char *path, const char *name, const char *recorded,
                   bool *same, char text[FILES_TEXT])
{
    int64_t bytes;
    char hex[65];
    int status = is_folder(path) ? listing_digest(path, &bytes, hex)
                                 : opt_check(ls_file_digest(path, &bytes, hex));

    if (status != OPT_GO)
        return status;
    *same = strcmp(hex, recorded) == 0;
    if (!*same)
        snprintf(text, FILES_TEXT, "%.160s: SHA-256 %.16s.. recorded, %.16s.. "
                 "here", name, recorded, hex);
    return OPT_GO;
}

static int compare_weights(const published *p, const char *weights, bool *same,
                           char text[FILES_TEXT])
{
    if (*p->facts.model)
        return compare(weights, weights, p->facts.model, same, text);
    return opt_fail(OPT_FAILED, "%s: names no model: the run was not saved, or "
                    "has no end yet", p->path);
}

int files_compare(const published *p, const char *data, const char *weights,
                  bool *same, char text[FILES_TEXT])
{
    const json_t *all = json_object_get(p->head, "data");
    int status = OPT_GO, files = (int)json_array_size(all) + (weights != NULL);
    size_t i;
    json_t *one;

    *same = true;
    json_array_foreach (all, i, one) {
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *hex = json_string_value(json_object_get(one, "sha256"));
        char *path = files_find(data, name);

        status = path ? compare(path, name, hex, same, text) : OPT_FAILED;
        free(path);
        if (status != OPT_GO || !*same)
            return status;
    }
    if (weights)
        status = compare_weights(p, weights, same, text);
    if (status == OPT_GO && *same && files)
        snprintf(text, FILES_TEXT, "%d of %d", files, files);
    else if (status == OPT_GO && *same)
        snprintf(text, FILES_TEXT, "the run read none");
    return status;
}

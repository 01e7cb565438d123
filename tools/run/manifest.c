/* SPDX-License-Identifier: BSD-3-Clause */
/* See manifest.h. */
#define _GNU_SOURCE
#include "run/manifest.h"
#include "run/listing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory for the names of files");
}

const char *manifest_name(const char *path, char name[MANIFEST_NAME])
{
    size_t last = strlen(path), first;

    while (last > 1 && path[last - 1] == '/')
        last--;
    for (first = last; first > 0 && path[first - 1] != '/';)
        first--;
    last = last - first < MANIFEST_NAME ? last - first : MANIFEST_NAME - 1;
    memmove(name, path + first, last);
    name[last] = 0;
    return name;
}

static int grow(manifest *m)
{
    int room = m->room ? 2 * m->room : 8;
    ls_data_file *file = realloc(m->file, (size_t)room * sizeof *file);

    if (!file)
        return no_memory();
    m->file = file;
    m->room = room;
    return OPT_GO;
}

typedef int digest_fn(const char *path, int64_t *bytes, char sha256[65]);

static int digest_file(const char *path, int64_t *bytes, char sha256[65])
{
    return opt_check(ls_file_digest(path, bytes, sha256));
}

static int add_by(manifest *m, const char *path, digest_fn *digest)
{
    char name[MANIFEST_NAME], *hex = malloc(65);
    ls_data_file f = {.name = strdup(manifest_name(path, name))};
    int status = m->count == m->room ? grow(m) : OPT_GO;

    f.sha256 = hex;
    if (status == OPT_GO && !(f.name && hex))
        status = no_memory();
    if (status == OPT_GO)
        status = digest(path, &f.bytes, hex);
    if (status == OPT_GO) {
        m->file[m->count++] = f;
        return OPT_GO;
    }
    free((char *)f.name);
    free(hex);
    return status;
}

static int add(manifest *m, const char *path)
{
    return add_by(m, path, digest_file);
}

static int is_of_set(const struct dirent *e)
{
    return apart_is_of_set(e->d_name);
}

static int add_folder(manifest *m, const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_of_set, alphasort), status = OPT_GO;

    if (n < 0)
        return opt_fail(OPT_FAILED, "%s: cannot be listed", folder);
    for (int i = 0; i < n; i++) {
        char *path = NULL;

        if (status == OPT_GO &&
            asprintf(&path, "%s/%s", folder, entry[i]->d_name) < 0)
            status = no_memory();
        if (status == OPT_GO)
            status = add(m, path);
        free(path);
        free(entry[i]);
    }
    free(entry);
    if (status == OPT_GO && n == 0) /* pictures */
        status = add_by(m, folder, listing_digest);
    return status;
}

/* Images have their labels beside them, if the name says so and they are
 * there. */
static int add_labels(manifest *m, const char *images)
{
    char *labels = apart_labels(images);
    struct stat info;
    int status = OPT_GO;

    if (labels && stat(labels, &info) == 0 && S_ISREG(info.st_mode))
        status = add(m, labels);
    free(labels);
    return status;
}

static int add_any(manifest *m, const char *path)
{
    struct stat info;
    int status;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(m, path);
    status = add(m, path);
    return status == OPT_GO ? add_labels(m, path) : status;
}

int manifest_read(manifest *m, const run *r)
{
    int status = OPT_GO;

    for (int i = 0; i < r->program.count && status == OPT_GO; i++) {
        const opt *o = &r->program.option[i];
        bool quoted;
        const char *value =
            o->is_file ? opt_value(o, NULL, &quoted) : NULL;
        char *path = value && *value ? data_file(value) : NULL;

        if (value && *value)
            status = path ? add_any(m, path) : no_memory();
        free(path);
    }
    return status;
}

void manifest_free(manifest *m)
{
    for (int i = 0; i < m->count; i++) {
        free((char *)m->file[i].name);
        free((char *)m->file[i].sha256);
    }
    free(m->file);
    *m = (manifest){0};
}

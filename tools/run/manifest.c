/* SPDX-License-Identifier: BSD-3-Clause */
/* See manifest.h. */
#define _GNU_SOURCE
#include "run/manifest.h"
#include "opt/characters.h"
#include "run/listing.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The name of a file or folder without its path, one that a transcript may
 * have; to be freed. */
static char *name_of(const char *path)
{
    char *copy = strdup(path), *name = copy ? strdup(basename(copy)) : NULL;

    free(copy);
    if (name)
        characters_clean(name);
    return name;
}

/* The same of "." and "..", too, which are called something. */
static char *plain_name(const char *path)
{
    char *name = name_of(path), *real;

    if (!name || (strcmp(name, "/") && strcmp(name, ".") && strcmp(name, "..")))
        return name;
    free(name);
    real = realpath(path, NULL);
    name = real && real[1] ? name_of(real) : strdup("root");
    free(real);
    return name;
}

static int grow(manifest *m)
{
    int room = m->room ? 2 * m->room : 8;
    ls_data_file *file = realloc(m->file, (size_t)room * sizeof *file);

    if (!file)
        return opt_no_memory("the names of files");
    m->file = file;
    m->room = room;
    return OPT_GO;
}

typedef int digest_fn(const char *path, int64_t *bytes, char sha256[65]);

static int digest_file(const char *path, int64_t *bytes, char sha256[65])
{
    return opt_check(ls_file_digest(path, bytes, sha256));
}

/* word: the file among those of an option; NULL: it has one. */
static int add_by(manifest *m, const char *option, const char *word,
                  const char *path, digest_fn *digest)
{
    char *hex = malloc(65), *role = NULL;
    ls_data_file f = {.name = plain_name(path), .sha256 = hex};
    int n = asprintf(&role, "--%s%s%s", option, word ? " " : "",
                     word ? word : "");
    int status = m->count == m->room ? grow(m) : OPT_GO;

    f.role = n < 0 ? NULL : role;
    if (status == OPT_GO && !(f.name && hex && f.role))
        status = opt_no_memory("the names of files");
    if (status == OPT_GO)
        status = digest(path, &f.bytes, hex);
    if (status == OPT_GO) {
        m->file[m->count++] = f;
        return OPT_GO;
    }
    free((char *)f.name);
    free((char *)f.role);
    free(hex);
    return status;
}

static int is_of_set(const struct dirent *e)
{
    return apart_is_of_set(e->d_name);
}

/* The names of a set's files say what they are. */
static int add_folder(manifest *m, const char *option, const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_of_set, alphasort), status = OPT_GO;

    if (n < 0)
        return opt_fail(OPT_FAILED, "%s: cannot be listed", folder);
    for (int i = 0; i < n; i++) {
        char *path = NULL;

        if (status == OPT_GO &&
            asprintf(&path, "%s/%s", folder, entry[i]->d_name) < 0)
            status = opt_no_memory("the names of files");
        if (status == OPT_GO)
            status = add_by(m, option, entry[i]->d_name, path, digest_file);
        free(path);
        free(entry[i]);
    }
    free(entry);
    if (status == OPT_GO && n == 0) /* pictures */
        status = add_by(m, option, NULL, folder, listing_digest);
    return status;
}

/* Images have their labels beside them, if the name says so and they are there,
 * and no other option names them. */
static int add_labels(manifest *m, const run *r, const char *option,
                      const char *images)
{
    bool named = (strcmp(option, "x") == 0 && run_given(r, "y")) ||
                 (strcmp(option, "eval-x") == 0 && run_given(r, "eval-y"));
    char *labels = named ? NULL : apart_labels(images);
    struct stat info;
    int status = OPT_GO;

    if (labels && stat(labels, &info) == 0 && S_ISREG(info.st_mode))
        status = add_by(m, option, "labels", labels, digest_file);
    free(labels);
    return status;
}

static int add_any(manifest *m, const run *r, const char *option,
                   const char *path)
{
    struct stat info;
    int status;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(m, option, path);
    status = add_by(m, option, NULL, path, digest_file);
    return status == OPT_GO ? add_labels(m, r, option, path) : status;
}

int manifest_read(manifest *m, const run *r, bool of_old)
{
    int status = OPT_GO;

    for (int i = 0; i < r->program.count && status == OPT_GO; i++) {
        const opt *o = &r->program.option[i];
        bool quoted;
        const char *value =
            o->is_file ? opt_value(o, NULL, &quoted) : NULL;
        char *path = value && *value ? data_file(value) : NULL;

        if (value && *value)
            status = path ? add_any(m, r, of_old && o->was ? o->was : o->name,
                                    path)
                          : opt_no_memory("the names of files");
        free(path);
    }
    return status;
}

void manifest_free(manifest *m)
{
    for (int i = 0; i < m->count; i++) {
        free((char *)m->file[i].name);
        free((char *)m->file[i].role);
        free((char *)m->file[i].sha256);
    }
    free(m->file);
    *m = (manifest){0};
}

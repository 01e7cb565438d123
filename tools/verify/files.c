/* SPDX-License-Identifier: BSD-3-Clause */
/* See files.h. */
#define _GNU_SOURCE
#include "verify/files.h"
#include "opt/opt.h"
#include "run/publish_files.h"
#include "verify/find_file.h"
#include "verify/recorded.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An entry of the manifest. */
typedef struct entry {
    const char *name, *role, *sha256;
    int64_t bytes;
} entry;

static entry entry_of(const json_t *one)
{
    return (entry){json_string_value(json_object_get(one, "name")),
                   json_string_value(json_object_get(one, "role")),
                   json_string_value(json_object_get(one, "sha256")),
                   json_integer_value(json_object_get(one, "bytes"))};
}

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory for the names of files");
}

/* The first difference counts. */
__attribute__((format(printf, 2, 3)))
static void differ(files *f, const char *format, ...)
{
    va_list args;

    if (!f->same)
        return;
    f->same = false;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

/* ------ finding ------ */

/* Does a path end in a name, but for slashes? */
static bool ends_in(const char *path, const char *name)
{
    size_t n = strlen(path), m = strlen(name);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n >= m && strncmp(path + n - m, name, m) == 0 &&
           (n == m || path[n - m - 1] == '/');
}

/* The path of a file of that name; a folder of pictures may be meant itself.
 * To be freed. */
static char *by_name(const files *f, const char *data, const char *name)
{
    const char *slash = strrchr(f->of->path, '/');
    char *path = NULL;
    int n;

    if (data && !is_folder(data))
        return strdup(data);
    if (data)
        n = asprintf(&path, "%s/%s", data, name);
    else
        n = asprintf(&path, "%.*s%s", slash ? (int)(slash - f->of->path) + 1
                                            : 0, f->of->path, name);
    if (n < 0)
        return NULL;
    if (!data || access(path, F_OK) == 0 || !ends_in(data, name))
        return path;
    free(path);
    return strdup(data);
}

/* *path: one that has the bytes; where there is none, one that has the name. */
static int find(files *f, const entry *e, const char *data, char **path)
{
    char hex[65] = "", *other;
    int64_t bytes;

    if (!(*path = by_name(f, data, e->name)))
        return no_memory();
    if (access(*path, F_OK) == 0 &&
        find_digest(*path, &bytes, hex) != OPT_GO)
        return OPT_FAILED;
    if (strcmp(hex, e->sha256) == 0)
        return OPT_GO;
    other = data && is_folder(data) ? find_file(data, e->bytes, e->sha256)
                                    : NULL;
    if (other) {
        free(*path);
        *path = other;
        return OPT_GO;
    }
    if (!*hex)
        return opt_fail(OPT_FAILED, "%s: No such file; --data PATH says where "
                        "the file of %s is, or a folder with it (SHA-256 "
                        "%.16s..)", *path, e->role, e->sha256);
    differ(f, "%.160s (%.80s): SHA-256 %.16s.. recorded, %.16s.. here",
           e->name, e->role, e->sha256, hex);
    return OPT_GO;
}

/* ------ linking ------ */

/* "--data" of the role "--data labels", where that is an option which
 * lockstep-train reads files by; to be freed, NULL: it is none. */
static char *option_of(const char *role)
{
    char *option = NULL, *text = NULL;

    if (asprintf(&text, "%s%.*s", recorded_file, (int)strcspn(role, " "),
                 role) < 0)
        return NULL;
    if (recorded_option(text, NULL))
        option = strdup(text + strlen(recorded_file));
    free(text);
    return option;
}

char *files_path(const files *f, const char *option, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s%s%s", f->links.folder, option,
                    name ? "/" : "", name ? name : "") < 0
               ? NULL : path;
}

static int link_to(const files *f, const char *option, const entry *e,
                   const char *path)
{
    char *full = realpath(path, NULL), *folder = files_path(f, option, NULL);
    char *link = files_path(f, option, e->name);
    int status = full && folder && link ? OPT_GO : no_memory();

    if (status == OPT_GO && ((mkdir(folder, 0700) != 0 && errno != EEXIST) ||
                             symlink(full, link) != 0))
        status = opt_fail(OPT_FAILED, "%s: no link could be made: %s", link,
                          strerror(errno));
    free(full);
    free(folder);
    free(link);
    return status;
}

static int take(files *f, const entry *e, const char *data)
{
    char *path, *option;
    int status = find(f, e, data, &path);

    option = status == OPT_GO ? option_of(e->role) : NULL;
    if (option)
        status = link_to(f, option, e, path);
    free(option);
    free(path);
    f->count++;
    return status;
}

/* ------ options and files ------ */

/* Is there a file with the option as its role, or as the role's beginning? */
static bool has_role(const json_t *all, const char *option, const char **name)
{
    size_t n = strlen(option), i;
    json_t *one;

    *name = NULL;
    json_array_foreach (all, i, one) {
        entry e = entry_of(one);

        if (strncmp(e.role, option, n) != 0 || (e.role[n] && e.role[n] != ' '))
            continue;
        *name = e.role[n] ? NULL : e.name;
        return true;
    }
    return false;
}

/* Each option that reads has a file, in every part of the run. */
static void check_options(files *f, const json_t *all)
{
    size_t skipped = strlen(recorded_file);
    const char *name, *is;
    json_t *value;

    for (int i = 0; i < f->of->parts; i++)
        json_object_foreach (f->of->part[i].options, name, value)
            if (strncmp(name, recorded_file, skipped) == 0 &&
                !has_role(all, name + skipped, &is))
                differ(f, "%.80s is an option, and no file of the transcript "
                       "has that role", name + skipped);
}

/* Each file of a lockstep-train has an option that reads it. */
static void check_roles(files *f, const json_t *all)
{
    json_t *one;
    size_t i;

    json_array_foreach (all, i, one) {
        entry e = entry_of(one);
        char name[128];

        snprintf(name, sizeof name, "%s%.*s", recorded_file,
                 (int)strcspn(e.role, " "), e.role);
        if (published_trains(f->of) && !published_option(f->of, name))
            differ(f, "%.160s has the role %.80s, and no option reads it",
                   e.name, e.role);
    }
}

char *files_option(const files *f, const char *option, const char *behind)
{
    const char *name, *end;
    char *path, *all = NULL;

    if (!has_role(json_object_get(f->of->head, "data"), option, &name)) {
        opt_fail(OPT_FAILED, "%s: %s is an option, and no file has that role",
                 f->of->path, option);
        return NULL;
    }
    end = name ? strrchr(name, '.') : NULL;
    if (*behind && (!end || (strcmp(end, ".npz") && strcmp(end, ".onnx")))) {
        opt_fail(OPT_FAILED, "%s: %s names \"%.80s\" in a file that has no "
                 "arrays by name", f->of->path, option, behind);
        return NULL;
    }
    path = files_path(f, option, name);
    if (!path || asprintf(&all, "%s%s", path, behind) < 0) {
        no_memory();
        all = NULL;
    }
    free(path);
    return all;
}

/* ------ */

/* "2 of 2: --data t.csv, --init m.safetensors; ..". */
static void tell(files *f, const json_t *all, const char *weights)
{
    int n = 0, most = (int)sizeof f->text - 120, i;
    json_t *one;
    size_t k;

    i = snprintf(f->text, sizeof f->text, "%d of %d:", f->count, f->count);
    json_array_foreach (all, k, one) {
        entry e = entry_of(one);

        if (i + (int)(strlen(e.role) + strlen(e.name)) + 4 < most) {
            i += snprintf(f->text + i, sizeof f->text - (size_t)i, "%s %s %s",
                          n ? "," : "", e.role, e.name);
            n++;
        }
    }
    if (weights)
        i += snprintf(f->text + i, sizeof f->text - (size_t)i, "%s the model",
                      n++ ? "," : "");
    if (n < f->count)
        i += snprintf(f->text + i, sizeof f->text - (size_t)i, " and %d more",
                      f->count - n);
    snprintf(f->text + i, sizeof f->text - (size_t)i, "; their digests are "
             "those that whoever wrote the transcript put there");
}

int files_open(files *f, const published *of, const char *data)
{
    const json_t *all = json_object_get(of->head, "data");
    int status;
    json_t *one;
    size_t i;

    *f = (files){.of = of, .same = true};
    status = scratch_open(&f->links, "verify");
    json_array_foreach (all, i, one) {
        entry e = entry_of(one);

        if (status == OPT_GO)
            status = take(f, &e, data);
    }
    check_options(f, all);
    check_roles(f, all);
    if (status == OPT_GO && f->same && f->count)
        tell(f, all, NULL);
    else if (status == OPT_GO && f->same)
        snprintf(f->text, sizeof f->text, "the run read none");
    return status;
}

void files_close(files *f)
{
    scratch_close(&f->links);
}

int files_compare_model(files *f, const char *weights)
{
    const char *recorded = f->of->facts.model;
    int64_t bytes;
    char hex[65];

    if (!*recorded)
        return opt_fail(OPT_FAILED, "%s: names no model: the run was not saved "
                        "as F.safetensors, or has no end yet", f->of->path);
    if (find_digest(weights, &bytes, hex) != OPT_GO)
        return OPT_FAILED;
    f->count++;
    if (strcmp(hex, recorded) != 0)
        differ(f, "%.160s: SHA-256 %.16s.. recorded, %.16s.. here", weights,
               recorded, hex);
    if (f->same)
        tell(f, json_object_get(f->of->head, "data"), weights);
    return OPT_GO;
}

int files_compare_sums(files *f, const char *path)
{
    char *sums = publish_sums(json_object_get(f->of->head, "data"));
    char hex[65], here[65];
    int64_t bytes;
    int status = sums ? OPT_GO : no_memory();

    if (status == OPT_GO && access(path, F_OK) == 0) {
        ls_digest(sums, strlen(sums), hex);
        status = opt_check(ls_file_digest(path, &bytes, here));
        if (status == OPT_GO && strcmp(hex, here) != 0)
            differ(f, "%.160s names other files than the transcript", path);
    }
    free(sums);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See listing.h. */
#define _GNU_SOURCE
#include "run/listing.h"
#include "opt/opt.h"

#include <lockstep/transcript.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 32 }; /* folders within folders: links may lead in circles */

/* Paths below the folder, which all begin with its own. */
typedef struct paths {
    char **path;
    int64_t n, room;
    size_t skip; /* bytes of the folder's own path */
} paths;

/* Takes the path over. */
static int add_path(paths *all, char *path)
{
    if (all->n == all->room) {
        int64_t room = all->room ? 2 * all->room : 256;
        char **more = realloc(all->path, (size_t)room * sizeof *more);

        if (!more) {
            free(path);
            return opt_no_memory("the names of files");
        }
        all->path = more;
        all->room = room;
    }
    all->path[all->n++] = path;
    return OPT_GO;
}

static int add_folder(paths *all, const char *folder, int depth);

static int add_entry(paths *all, const char *folder, const char *name,
                     int depth)
{
    struct stat info;
    char *path;
    int status = OPT_GO;

    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return opt_no_memory("the names of files");
    if (stat(path, &info) != 0)
        status = opt_fail(OPT_FAILED, "%s: cannot be read", path);
    else if (S_ISDIR(info.st_mode))
        status = add_folder(all, path, depth + 1);
    else if (S_ISREG(info.st_mode))
        return add_path(all, path);
    free(path);
    return status;
}

static int add_folder(paths *all, const char *folder, int depth)
{
    DIR *dir = depth < DEEPEST ? opendir(folder) : NULL;
    int status = OPT_GO;

    if (!dir)
        return opt_fail(OPT_FAILED, "%s: cannot be listed", folder);
    for (struct dirent *e; status == OPT_GO && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            status = add_entry(all, folder, e->d_name, depth);
    closedir(dir);
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Write the list into a text, which the caller frees. */
static int write_list(const paths *all, int64_t *bytes, char **text,
                      size_t *size)
{
    FILE *f = open_memstream(text, size);
    int status = f ? OPT_GO : opt_no_memory("the names of files");

    *bytes = 0;
    for (int64_t i = 0; i < all->n && status == OPT_GO; i++) {
        int64_t n;
        char hex[65];

        status = opt_check(ls_file_digest(all->path[i], &n, hex));
        if (status == OPT_GO &&
            fprintf(f, "%s  %s\n", hex, all->path[i] + all->skip) < 0)
            status = opt_no_memory("the names of files");
        *bytes += status == OPT_GO ? n : 0;
    }
    if (f && fclose(f) != 0 && status == OPT_GO)
        status = opt_no_memory("the names of files");
    return status;
}

int listing_digest(const char *folder, int64_t *bytes, char sha256[65])
{
    size_t n = strlen(folder), size = 0;
    paths all = {0};
    char *text = NULL, *name;
    int status;

    while (n > 1 && folder[n - 1] == '/')
        n--;
    if (!(name = strndup(folder, n)))
        return opt_no_memory("the names of files");
    all.skip = n + 1;
    status = add_folder(&all, name, 0);
    if (status == OPT_GO && all.n == 0)
        status = opt_fail(OPT_FAILED, "%s: no file is in it", name);
    if (all.n)
        qsort(all.path, (size_t)all.n, sizeof *all.path, by_bytes);
    if (status == OPT_GO)
        status = write_list(&all, bytes, &text, &size);
    if (status == OPT_GO)
        ls_digest(text, size, sha256);
    for (int64_t i = 0; i < all.n; i++)
        free(all.path[i]);
    free(all.path);
    free(text);
    free(name);
    return status;
}

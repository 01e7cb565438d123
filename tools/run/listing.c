/* SPDX-License-Identifier: BSD-3-Clause */
/* See listing.h. */
#define _GNU_SOURCE
#include "run/listing.h"
#include "opt/opt.h"

#include <lockstep/transcript.h>

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths below the folder, which all begin with its own. */
typedef struct paths {
    char **path;
    int64_t n, room;
    size_t skip; /* bytes of the folder's own path */
} paths;

static int add_path(paths *all, const char *path)
{
    if (all->n == all->room) {
        int64_t room = all->room ? 2 * all->room : 256;
        char **more = realloc(all->path, (size_t)room * sizeof *more);

        if (!more)
            return opt_no_memory("the names of files");
        all->path = more;
        all->room = room;
    }
    if (!(all->path[all->n] = strdup(path)))
        return opt_no_memory("the names of files");
    all->n++;
    return OPT_GO;
}

static int add_entry(paths *all, FTS *walk, FTSENT *e)
{
    if (e->fts_level > 0 && *e->fts_name == '.')
        return fts_set(walk, e, FTS_SKIP);
    switch (e->fts_info) {
    case FTS_F:
        return add_path(all, e->fts_path);
    case FTS_NS:
    case FTS_SLNONE:
        return opt_fail(OPT_FAILED, "%s: cannot be read", e->fts_path);
    case FTS_DC: /* a link leads in a circle */
    case FTS_DNR:
        return opt_fail(OPT_FAILED, "%s: cannot be listed", e->fts_path);
    default:
        return OPT_GO;
    }
}

static int add_folder(paths *all, char *folder)
{
    char *const path[] = {folder, NULL};
    FTS *walk = fts_open(path, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    int status = OPT_GO;

    for (FTSENT *e; walk && status == OPT_GO && (e = fts_read(walk));)
        status = add_entry(all, walk, e);
    if (!walk || (status == OPT_GO && errno))
        status = opt_no_file(folder);
    if (walk)
        fts_close(walk);
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
    all.skip = n + (name[n - 1] != '/');
    status = add_folder(&all, name);
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

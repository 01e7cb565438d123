/* SPDX-License-Identifier: BSD-3-Clause */
/* See apart.h. */
#define _GNU_SOURCE
#include "run/apart.h"
#include "opt/opt.h"

#include <dirent.h>
#include <fnmatch.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Compare the names of files that are not there yet: one name in one folder. */
static bool same_name(const char *a, const char *b)
{
    char *x = strdup(a), *y = strdup(b);
    char *dir_x = strdup(a), *dir_y = strdup(b);
    struct stat in_x, in_y;
    bool same = x && y && dir_x && dir_y &&
                !strcmp(basename(x), basename(y)) &&
                stat(dirname(dir_x), &in_x) == 0 &&
                stat(dirname(dir_y), &in_y) == 0 && same_inode(&in_x, &in_y);

    free(x);
    free(y);
    free(dir_x);
    free(dir_y);
    return same;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    bool is_a = stat(a, &x) == 0, is_b = stat(b, &y) == 0;

    if (is_a && is_b)
        return S_ISREG(x.st_mode) && same_inode(&x, &y);
    return !is_a && !is_b && same_name(a, b);
}

/* ------ Images and labels, as lockstep/files.h finds them ------ */

bool apart_is_of_set(const char *name)
{
    static const char *const names[] = {"t*images*", "t*labels*", "[xy]_t*.npy",
                                        "*_batch*.bin"};
    bool found = false;

    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = fnmatch(names[i], name, 0) == 0;
    return found;
}

/* Does a folder hold, among the files of its sets, this one? */
static bool in_folder(const char *folder, const char *path)
{
    DIR *dir = opendir(folder);
    bool found = false;

    if (!dir)
        return false;
    for (struct dirent *e; !found && (e = readdir(dir));) {
        char *of_set = NULL;

        if (apart_is_of_set(e->d_name) &&
            asprintf(&of_set, "%s/%s", folder, e->d_name) > 0)
            found = same_file(of_set, path);
        free(of_set);
    }
    closedir(dir);
    return found;
}

char *apart_labels(const char *images)
{
    static const struct {
        const char *images, *labels;
    } pairs[] = {{"images-idx3", "labels-idx1"}, {"images-idx4", "labels-idx1"},
                 {"images.idx3", "labels.idx1"}, {"images.idx4", "labels.idx1"},
                 {"images", "labels"}, {"x_", "y_"}, {"x.", "y."}};
    const char *slash = strrchr(images, '/'), *at = NULL;
    const char *name = slash ? slash + 1 : images;
    char *labels = NULL;
    size_t i = 0;

    while (i < sizeof pairs / sizeof *pairs &&
           !(at = strstr(name, pairs[i].images)))
        i++;
    if (at && asprintf(&labels, "%.*s%s%s", (int)(at - images), images,
                       pairs[i].labels, at + strlen(pairs[i].images)) < 0)
        labels = NULL;
    return labels;
}

/* Are these the labels of those images? */
static bool are_labels(const char *images, const char *path)
{
    char *labels = apart_labels(images);
    bool same = labels && same_file(labels, path);

    free(labels);
    return same;
}

/* ------ */

bool apart_is_written(const apart_file *file)
{
    return file->use == APART_WRITTEN || file->use == APART_ASIDE ||
           file->use == APART_REPLACED;
}

static bool may_be_one(const apart_file *a, const apart_file *b)
{
    if (!a->path || !b->path || (!apart_is_written(a) && !apart_is_written(b)))
        return true;
    return (a->use == APART_BEGUN && b->use == APART_REPLACED) ||
           (b->use == APART_BEGUN && a->use == APART_REPLACED) ||
           !same_file(a->path, b->path);
}

static bool is_part(const apart_file *of, const apart_file *file)
{
    return of->path && file->path && apart_is_written(file) &&
           (in_folder(of->path, file->path) ||
            (of->use == APART_IMAGES && are_labels(of->path, file->path)));
}

static int check_parts(int count, const apart_file *file)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++)
            if (is_part(&file[k], &file[i]))
                return opt_fail(OPT_WRONG, "%s: belongs to what %s names, and "
                                "%s would replace it", file[i].path,
                                file[k].option, file[i].option);
    return OPT_GO;
}

int apart_check(int count, const apart_file *file)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (!may_be_one(&file[i], &file[k]))
                return opt_fail(OPT_WRONG, "%s: is named by %s and by %s, and "
                                "one of the two would be lost", file[k].path,
                                file[k].option, file[i].option);
    return check_parts(count, file);
}

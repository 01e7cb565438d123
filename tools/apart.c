/* See apart.h. */
#define _GNU_SOURCE
#include "apart.h"
#include "opt.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of files that are not there yet: one name in one folder. */
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

static bool is_written(apart_use use)
{
    return use == APART_WRITTEN || use == APART_REPLACED;
}

static bool may_be_one(const apart_file *a, const apart_file *b)
{
    if (!a->path || !b->path || (!is_written(a->use) && !is_written(b->use)))
        return true;
    return (a->use == APART_BEGUN && b->use == APART_REPLACED) ||
           (b->use == APART_BEGUN && a->use == APART_REPLACED) ||
           !same_file(a->path, b->path);
}

int apart_check(int count, const apart_file *file)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (!may_be_one(&file[i], &file[k]))
                return opt_fail(OPT_WRONG, "%s: is named by %s and by %s, and "
                                "one of the two would be lost", file[k].path,
                                file[k].option, file[i].option);
    return OPT_GO;
}

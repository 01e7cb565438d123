/* SPDX-License-Identifier: BSD-3-Clause */
/* See writable.h. */
#define _GNU_SOURCE
#include "run/writable.h"
#include "opt/opt.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_folder(const char *path)
{
    char *there = realpath(path, NULL), *copy = there ? there : strdup(path);
    int status = OPT_GO;

    if (!copy || access(dirname(copy), W_OK) < 0)
        status = opt_fail(errno == ENOENT || errno == ENOTDIR ? OPT_WRONG
                                                              : OPT_FAILED,
                          "%s: its folder: %s", path, strerror(errno));
    free(copy);
    return status;
}

static int check_file(const char *path, bool aside)
{
    struct stat info;
    bool there = stat(path, &info) == 0;

    if (!strcmp(path, "-"))
        return opt_fail(OPT_WRONG, "-: is not a file; /dev/stdout is the "
                        "standard output");
    if (there && !S_ISREG(info.st_mode) && (aside || S_ISDIR(info.st_mode)))
        return opt_fail(OPT_WRONG, "%s: is not a regular file", path);
    if (!there && lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        return opt_fail(OPT_WRONG, "%s: is a link to nothing", path);
    if (aside || !there)
        return check_folder(path);
    return access(path, W_OK) == 0 ? OPT_GO : opt_no_file(path);
}

static int check_own_folder(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno == ENOENT ? check_folder(path) : OPT_GO;
    return S_ISDIR(info.st_mode)
               ? OPT_GO
               : opt_fail(OPT_WRONG, "%s: is not a folder", path);
}

int writable_check(const char *path, opt_use use)
{
    return use >= OPT_FOLDER ? check_own_folder(path)
                             : check_file(path, use != OPT_WRITTEN);
}

int writable_check_plot(const char *path)
{
    static const char *const others[] = {".png", ".jpg", ".jpeg", ".gif",
                                         ".webp", ".pdf", ".eps", ".ps"};
    const char *dot = path ? strrchr(path, '.') : NULL;

    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(dot, others[i]) == 0)
            return opt_fail(OPT_WRONG, "%s: --plot writes SVG; name a file "
                            "that ends in .svg", path);
    return OPT_GO;
}

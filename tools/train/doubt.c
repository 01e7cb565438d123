/* SPDX-License-Identifier: BSD-3-Clause */
/* See doubt.h. */
#define _GNU_SOURCE
#include "train/doubt.h"
#include "opt/opt.h"
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char MARK[] = "going-back";

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The entry of a file is on disk when its folder is. */
static int settle(const char *path, int folder, bool is_done)
{
    int error = is_done && output_sync(folder) == 0 ? 0 : errno;

    if (folder >= 0)
        close(folder);
    if (!error)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s/%s: %s", path, MARK, strerror(error));
}

int doubt_put(const char *path)
{
    int folder = open_folder(path);
    int mark = openat(folder, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    bool is_there = mark >= 0 && output_sync(mark) == 0;

    if (mark >= 0)
        close(mark);
    return settle(path, folder, is_there);
}

bool doubt_is(const char *path)
{
    int folder = open_folder(path);
    bool is = folder >= 0 && faccessat(folder, MARK, F_OK, 0) == 0;

    if (folder >= 0)
        close(folder);
    return is;
}

int doubt_end(const char *path)
{
    int folder;

    if (!doubt_is(path))
        return OPT_GO;
    folder = open_folder(path);
    return settle(path, folder, unlinkat(folder, MARK, 0) == 0);
}

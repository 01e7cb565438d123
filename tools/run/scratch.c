/* SPDX-License-Identifier: BSD-3-Clause */
/* See scratch.h.  A process locks a file in its folder, until it ends; a folder
 * with a file that can be locked is nobody's. */
#define _GNU_SOURCE
#include "run/scratch.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_one(const char *name, const struct stat *info, int flag,
                      struct FTW *at)
{
    (void)info, (void)flag, (void)at;
    return remove(name);
}

static int remove_all(const char *folder)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Lock a folder of this user; -1: another process has it. */
static int lock_folder(const char *folder)
{
    struct stat info;
    char *path;
    int fd;

    if (lstat(folder, &info) < 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != geteuid() || asprintf(&path, "%s/.lock", folder) < 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    free(path);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Remove what was left under names that begin as this one. */
static void remove_left(const char *in, const char *name)
{
    DIR *dir = opendir(in);

    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[SCRATCH];
        int fd;

        if (strlen(e->d_name) != strlen(name) + 6 ||
            strncmp(e->d_name, name, strlen(name)) ||
            snprintf(path, sizeof path, "%s/%s", in, e->d_name) >= SCRATCH ||
            (fd = lock_folder(path)) < 0)
            continue;
        (void)remove_all(path);
        close(fd);
    }
    if (dir)
        closedir(dir);
}

int scratch_open(scratch *s, const char *kind)
{
    const char *in = getenv("TMPDIR");
    char name[32];

    in = in && *in ? in : "/tmp";
    snprintf(name, sizeof name, "lockstep-%s-", kind);
    remove_left(in, name);
    for (;;) { /* again where another process took it for one that was left */
        struct stat info;

        snprintf(s->folder, SCRATCH, "%s/%sXXXXXX", in, name);
        if (!mkdtemp(s->folder)) {
            int error = errno;

            opt_fail(OPT_FAILED, "%s: %s", s->folder, strerror(error));
            *s->folder = 0;
            return OPT_FAILED;
        }
        s->lock = lock_folder(s->folder);
        if (stat(s->folder, &info) == 0)
            return OPT_GO;
        if (s->lock >= 0)
            close(s->lock);
    }
}

void scratch_close(scratch *s)
{
    if (!*s->folder)
        return;
    if (remove_all(s->folder) != 0)
        fprintf(stderr, "note: %s is left\n", characters_shown(s->folder));
    if (s->lock >= 0)
        close(s->lock);
    *s->folder = 0;
}

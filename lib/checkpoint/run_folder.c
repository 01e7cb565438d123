/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock is flock's, of the folder itself: it ends with the process, however
 * that ends, and leaves no file behind. */
#define _GNU_SOURCE
#include "checkpoint/run_folder.h"
#include "base/error.h"
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Ask for two seconds: a run that was killed lets go of its lock only when the
 * process has been taken apart. */
static bool locked_out(int fd)
{
    const struct timespec pause = {0, 20 * 1000 * 1000};

    for (int i = 0; i < 100; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Locks the folder.  Where no lock can be had at all (some network file
 * systems), two runs in one folder are not noticed. */
static int lock(ls__folder *dir)
{
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd < 0)
        return ls__io_error(dir->path, "the folder cannot be opened");
    if (!locked_out(dir->fd))
        return 0;
    ls__run_folder_close(dir);
    return ls__fail(LS_EBUSY, "%s: another run keeps its checkpoints there",
                    dir->path);
}

int ls__run_folder_open(ls__folder *dir, const char *path)
{
    int status = ls__path_check(path);

    *dir = (ls__folder){path, -1};
    if (status < 0)
        return status;
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return ls__io_error(path, "the folder cannot be made");
    return lock(dir);
}

static bool is_there(const ls__folder *dir)
{
    struct stat mine, there;

    return dir->fd >= 0 && fstat(dir->fd, &mine) == 0 &&
           stat(dir->path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

int ls__run_folder_find(ls__folder *dir)
{
    if (is_there(dir))
        return 0;
    ls__run_folder_close(dir);
    return lock(dir);
}

void ls__run_folder_close(ls__folder *dir)
{
    if (dir->fd >= 0)
        close(dir->fd);
    dir->fd = -1;
}

/* Reading and writing whole files, with every failure named. */
#define _GNU_SOURCE
#include "base/file.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ls__io_error(const char *path, const char *what)
{
    return ls__fail(LS_EIO, "%s: %s: %s", path, what, strerror(errno));
}

/* ------ Reading ------ */

static int read_bytes(int fd, const char *path, char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, bytes, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ls__io_error(path, "reading failed");
        if (n == 0)
            return ls__fail(LS_EIO, "%s: became shorter while it was read",
                            path);
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

static int read_open(int fd, const char *path, char **bytes, size_t *size)
{
    struct stat info;
    int status;

    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return ls__fail(LS_EIO, "%s: is not a regular file", path);
    *size = (size_t)info.st_size;
    *bytes = ls__new(*size + 1, 1, path);
    if (!*bytes)
        return LS_ENOMEM;
    if ((status = read_bytes(fd, path, *bytes, *size)) < 0)
        free(*bytes);
    return status;
}

/* Opened without blocking: a FIFO without a writer would not return. */
int ls__file_read(const char *path, char **bytes, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int status;

    if (fd < 0)
        return ls__fail(LS_EIO, "%s: %s", path, strerror(errno));
    status = read_open(fd, path, bytes, size);
    close(fd);
    return status;
}

FILE *ls__file_stream(int fd, const char *mode)
{
    FILE *file = fd < 0 ? NULL : fdopen(fd, mode);
    int error = errno;

    if (!file && fd >= 0)
        close(fd);
    errno = error;
    return file;
}

/* ------ Writing aside ------ */

/* Renaming over a device or a folder would destroy or fail: refuse early. */
static int check_target(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return ls__fail(LS_EIO, "%s: is not a regular file", path);
    return 0;
}

int ls__aside_open(ls__aside *file, const char *path)
{
    size_t room = strlen(path) + 32;
    int status = check_target(path);

    *file = (ls__aside){.path = path, .fd = -1};
    if (status < 0)
        return status;
    file->temp = ls__new(room, 1, "file name");
    if (!file->temp)
        return LS_ENOMEM;
    snprintf(file->temp, room, "%s.tmp-%ld", path, (long)getpid());
    file->fd =
        open(file->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
             0666);
    if (file->fd >= 0)
        return 0;
    status = ls__io_error(path, "a file beside it cannot be created");
    free(file->temp);
    file->temp = NULL;
    return status;
}

int ls__aside_write(ls__aside *file, const void *data, size_t bytes)
{
    const char *p = data;

    while (bytes > 0) {
        ssize_t n = write(file->fd, p, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ls__io_error(file->path, "writing failed");
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* Some folders may be written but not opened, some file systems cannot sync
 * one (EINVAL): nothing better is to be had there. */
int ls__folder_sync(const char *folder, const char *name)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = 0;

    if (fd < 0)
        return 0;
    if (fsync(fd) < 0 && errno != EINVAL)
        status = ls__io_error(name, "its folder could not be synced");
    close(fd);
    return status;
}

/* A rename is on disk when its folder is. */
static int sync_parent(const char *path)
{
    size_t room = strlen(path) + 1;
    char *copy = ls__new(room, 1, "file name");
    int status;

    if (!copy)
        return LS_ENOMEM;
    memcpy(copy, path, room);
    status = ls__folder_sync(dirname(copy), path);
    free(copy);
    return status;
}

int ls__aside_finish(ls__aside *file)
{
    int fd = file->fd;

    if (fsync(fd) < 0)
        return ls__io_error(file->path, "syncing failed");
    file->fd = -1;
    if (close(fd) < 0)
        return ls__io_error(file->path, "closing failed");
    if (rename(file->temp, file->path) < 0)
        return ls__io_error(file->path, "renaming failed");
    free(file->temp);
    file->temp = NULL;
    return sync_parent(file->path);
}

/* After a failure: the file aside goes.  After a success: nothing is left. */
void ls__aside_close(ls__aside *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temp)
        unlink(file->temp);
    free(file->temp);
}


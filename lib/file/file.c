/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing files, with every failure named. */
#define _GNU_SOURCE
#include "file/file.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int ls__io_error(const char *path, const char *what)
{
    return ls__fail(LS_EIO, "%s: %s: %s", path, what, strerror(errno));
}

int ls__path_check(const char *path)
{
    return *path ? 0 : ls__fail(LS_EINVAL, "a path is empty");
}

/* ------ Reading ------ */

/* Opened without blocking: a FIFO without a writer would not return. */
int ls__file_open(ls__file *file, const char *path)
{
    struct stat info = {0};
    int fd, status = ls__path_check(path);

    *file = (ls__file){0};
    if (status < 0)
        return status;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ls__fail(LS_EIO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return ls__fail(LS_EIO, "%s: is not a regular file%s", path,
                        S_ISFIFO(info.st_mode)
                            ? ": write what the pipe gives to a file" : "");
    }
    *file = (ls__file){path, fd, info.st_size, NULL};
    return 0;
}

int ls__file_read(const ls__file *file, void *out, size_t n, int64_t at)
{
    char *to = out;

    LS__ASSERT(at >= 0 &&
               (!file->memory || at + (int64_t)n <= file->size));
    if (file->memory && n) {
        memcpy(out, file->memory + at, n);
        return 0;
    }
    while (n > 0) {
        ssize_t got = pread(file->fd, to, n, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ls__fail(LS_EIO, "%s: reading failed at byte %lld: %s",
                            file->path, (long long)at, strerror(errno));
        if (got == 0)
            return ls__fail(LS_EIO, "%s: became shorter while it was read; it "
                            "ends before byte %lld", file->path, (long long)at);
        to += got;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

/* A row of a file on disk takes half a microsecond longer than one in memory:
 * MNIST and CIFAR-10 are small. */
enum { SMALL = 64 << 20 };

int ls__file_keep(ls__file *file)
{
    uint8_t *memory;
    int status;

    if (file->size > SMALL || file->memory)
        return 0;
    if (!(memory = ls__new((size_t)file->size, 1, file->path)))
        return LS_ENOMEM;
    status = ls__file_read(file, memory, (size_t)file->size, 0);
    if (status == 0)
        file->memory = memory;
    else
        free(memory);
    return status;
}

void ls__file_close(ls__file *file)
{
    if (file->path && file->fd >= 0)
        close(file->fd);
    free(file->memory);
    *file = (ls__file){0};
}

int ls__head_read(uint8_t head[LS__HEAD], const char *path)
{
    ls__file file;
    int status = ls__file_open(&file, path);

    if (status < 0)
        return status;
    memset(head, 0xff, LS__HEAD);
    status = ls__file_read(
        &file, head, file.size < LS__HEAD ? (size_t)file.size : LS__HEAD, 0);
    ls__file_close(&file);
    return status;
}

int ls__file_load(const char *path, size_t most, char **bytes, size_t *size)
{
    ls__file file;
    int status = ls__file_open(&file, path);

    if (status < 0)
        return status;
    *bytes = NULL;
    *size = (size_t)file.size;
    if (*size > most)
        status = ls__fail(LS_EFORMAT, "%s: is %zu bytes long; more than %zu "
                          "are not read", path, *size, most);
    else if (!(*bytes = ls__new(*size + 1, 1, path)))
        status = LS_ENOMEM;
    else
        status = ls__file_read(&file, *bytes, *size, 0);
    if (status < 0)
        free(*bytes);
    ls__file_close(&file);
    return status;
}

/* ------ Writing ------ */

int ls__newfile_create(ls__newfile *out, int folder, const char *name, int mode)
{
    out->fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
                     O_NOFOLLOW, mode);
    return out->fd < 0 ? -1 : 0;
}

int ls__newfile_write(ls__newfile *out, const void *data, size_t bytes)
{
    const char *p = data;

    while (bytes > 0) {
        ssize_t n = write(out->fd, p, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ls__io_error(out->path, "writing failed");
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int ls__newfile_write_at(ls__newfile *out, const void *data, size_t bytes,
                         int64_t at)
{
    if (lseek(out->fd, at, SEEK_SET) < 0)
        return ls__io_error(out->path, "writing failed");
    return ls__newfile_write(out, data, bytes);
}

/* A signal, as of a limit or a terminal, is no failure. */
static int sync_file(int fd)
{
    int bad;

    while ((bad = fsync(fd)) < 0 && errno == EINTR)
        ;
    return bad;
}

int ls__newfile_finish(ls__newfile *out)
{
    int fd = out->fd;

    if (sync_file(fd) < 0)
        return ls__io_error(out->path, "syncing failed");
    out->fd = -1;
    if (close(fd) < 0 && errno != EINTR) /* which closes, too */
        return ls__io_error(out->path, "closing failed");
    return 0;
}

void ls__newfile_close(ls__newfile *out)
{
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
}

/* Some file systems cannot sync a folder (EINVAL): nothing better is to be had
 * there. */
int ls__folder_sync(int folder, const char *path)
{
    if (sync_file(folder) < 0 && errno != EINVAL)
        return ls__io_error(path, "its folder could not be synced");
    return 0;
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

enum { RANDOM = 8, TEMP = 32, TRIES = 100 };

_Static_assert(sizeof ".tmp-" + 2 * RANDOM <= TEMP, "a name aside");

/* Renaming over a device or a folder would destroy or fail: refuse early. *mode
 * is that of the file that is there, or -1; a link stands for that file. */
static int find_target(ls__aside *file, int *mode)
{
    const char *path = file->out.path;
    struct stat info;
    int status = ls__path_check(path);

    *mode = -1;
    if (status < 0)
        return status;
    if (stat(path, &info) < 0 && lstat(path, &info) == 0)
        return ls__fail(LS_EIO, "%s: is a link to nothing", path);
    if (stat(path, &info) < 0)
        return (file->place = ls__text_copy(path)) ? 0 : LS_ENOMEM;
    if (!S_ISREG(info.st_mode))
        return ls__fail(LS_EIO, "%s: is not a regular file", path);
    *mode = (int)(info.st_mode & 0777);
    file->place = realpath(path, NULL);
    if (file->place)
        return 0;
    return errno == ENOMEM ? ls__no_memory("a path", strlen(path))
                           : ls__io_error(path, "where it is");
}

/* A name that nobody can have made beforehand. */
static int name_temp(ls__aside *file)
{
    size_t room = strlen(file->place) + TEMP;
    uint8_t random[RANDOM];
    int at = snprintf(file->temp, room, "%s.tmp-", file->place);

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return ls__io_error(file->out.path, "no random name can be had");
    for (int i = 0; i < RANDOM; i++)
        at += snprintf(file->temp + at, room - (size_t)at, "%02x", random[i]);
    return 0;
}

/* ------ What a run that was killed left aside ------ */

/* Lock a file aside until it is closed or its writer's process ends, in any
 * way.  False: another process has it, or removed it before it was locked.
 * Where files cannot be locked nobody removes any. */
static bool claim(int fd, const char *name)
{
    struct stat mine, there;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &mine) < 0 ||
           (lstat(name, &there) == 0 && mine.st_dev == there.st_dev &&
            mine.st_ino == there.st_ino);
}

static bool is_temp(const char *name, const char *of)
{
    size_t n = strlen(of);

    return strncmp(name, of, n) == 0 && strncmp(name + n, ".tmp-", 5) == 0 &&
           strspn(name + n + 5, "0123456789abcdef") == 2 * RANDOM &&
           !name[n + 5 + 2 * RANDOM];
}

static void remove_if_left(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK |
                    O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

/* Remove what processes that are no more left beside this place. */
static int remove_left(const char *place)
{
    const char *slash = strrchr(place, '/');
    char *folder = ls__text_copy(slash ? place : "./");
    DIR *dir;
    int status;

    if (!folder)
        return LS_ENOMEM;
    if (slash)
        folder[slash - place + 1] = 0;
    dir = opendir(folder);
    status = dir || errno != ENOMEM ? 0 : ls__no_memory("a folder", 0);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (is_temp(e->d_name, slash ? slash + 1 : place))
            remove_if_left(dirfd(dir), e->d_name);
    if (dir)
        closedir(dir);
    free(folder);
    return status;
}

/* Create the file that may never be read by more people than the one it
 * replaces. */
static int create_temp(ls__aside *file, int mode)
{
    int status;

    for (int i = 0; i < TRIES; i++) {
        if ((status = name_temp(file)) < 0)
            return status;
        if (ls__newfile_create(&file->out, AT_FDCWD, file->temp,
                              mode < 0 ? 0666 : mode) < 0) {
            if (errno != EEXIST)
                break;
        } else if (claim(file->out.fd, file->temp)) {
            return mode < 0 || fchmod(file->out.fd, (mode_t)mode) == 0
                       ? 0 : ls__io_error(file->out.path, "its mode is lost");
        } else {
            ls__newfile_close(&file->out);
        }
    }
    status = ls__io_error(file->out.path,
                          "a file in its folder cannot be created");
    free(file->temp);
    file->temp = NULL;
    return status;
}

int ls__aside_open(ls__aside *file, const char *path)
{
    int mode, status;

    *file = (ls__aside){.out = {path, -1}};
    status = find_target(file, &mode);
    if (status == 0)
        status = remove_left(file->place);
    if (status == 0 &&
        !(file->temp = ls__new(strlen(file->place) + TEMP, 1, "file name")))
        status = LS_ENOMEM;
    if (status == 0)
        status = create_temp(file, mode);
    if (status < 0)
        ls__aside_close(file);
    return status;
}

/* A rename is on disk when its folder is.  Some folders may be written but not
 * opened: nothing better is to be had there. */
static int sync_parent(const char *path)
{
    char *copy = ls__text_copy(path);
    int fd, status = 0;

    if (!copy)
        return LS_ENOMEM;
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd >= 0) {
        status = ls__folder_sync(fd, path);
        close(fd);
    }
    return status;
}

int ls__aside_finish(ls__aside *file)
{
    const char *path = file->out.path;
    int lock = fcntl(file->out.fd, F_DUPFD_CLOEXEC, 0); /* until the end */
    int status = ls__newfile_finish(&file->out);

    if (status == 0 && rename(file->temp, file->place) < 0)
        status = ls__io_error(path, "renaming failed");
    if (lock >= 0)
        close(lock);
    if (status < 0)
        return status;
    free(file->temp);
    file->temp = NULL;
    return sync_parent(file->place);
}

/* Delete the file aside after a failure; after a success nothing is left of
 * it. */
void ls__aside_close(ls__aside *file)
{
    ls__newfile_close(&file->out);
    if (file->temp)
        unlink(file->temp);
    free(file->temp);
    free(file->place);
    file->temp = file->place = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See output.h. */
#define _GNU_SOURCE
#include "run/output.h"
#include "opt/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 100 };

/* ------ A signal that ends the process ------ */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDS = sizeof ends / sizeof *ends };

static const char *volatile unfinished; /* its path; NULL: there is none */

/* The default comes after it, for the signal that is raised again. */
static void take_along(int number)
{
    int error = errno;

    if (unfinished)
        (void)unlink(unfinished);
    raise(number);
    errno = error;
}

/* Catches a signal, unless it is caught or ignored already. */
static void answer(void)
{
    struct sigaction old, new = {.sa_handler = take_along,
                                 .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&new.sa_mask);
    for (int i = 0; i < ENDS; i++)
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ends[i], &new, NULL);
}

/* ------ The file aside ------ */

/* Gives the new file the old one's permissions, as far as this process can give
 * it away. */
static void make_alike(int fd, const struct stat *old)
{
    struct stat new;

    if (fstat(fd, &new) == 0 &&
        (new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) < 0 &&
        fchown(fd, (uid_t)-1, old->st_gid) < 0)
        errno = 0; /* then it is this user's */
    (void)fchmod(fd, old->st_mode & 0777);
}

/* A file aside is locked by whoever writes it, until the process ends, however
 * that does.  False: somebody else has it, or removed it before it was
 * locked. */
static bool claim(int fd, const char *name)
{
    struct stat mine, there;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &mine) < 0 ||
           (lstat(name, &there) == 0 && mine.st_dev == there.st_dev &&
            mine.st_ino == there.st_ino);
}

/* Remove what a process that was killed left under this name. */
static void remove_left(const char *name)
{
    int fd = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlink(name);
    if (fd >= 0)
        close(fd);
}

/* A new file beside the one that it will replace, with owner and mode of that
 * one.  -1: there can be none. */
static int make_temp(output *o, const struct stat *old)
{
    int fd = -1;

    for (int i = 0; fd < 0 && i < NAMES; i++) {
        free(o->temp);
        if (asprintf(&o->temp, "%s.tmp-lockstep-%d", o->place, i) < 0) {
            o->temp = NULL;
            return -1;
        }
        remove_left(o->temp);
        fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
        if (fd >= 0 && !claim(fd, o->temp)) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
        unfinished = o->temp;
    if (fd >= 0 && old)
        make_alike(fd, old);
    return fd;
}

static void forget(output *o)
{
    unfinished = NULL;
    free(o->temp);
    free(o->place);
    o->temp = o->place = NULL;
}

/* /dev/stdout and the like: what else goes there must not be lost. */
static bool is_standard(const struct stat *info)
{
    struct stat s;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &s) == 0 && s.st_dev == info->st_dev &&
            s.st_ino == info->st_ino)
            return true;
    return false;
}

/* NULL: it cannot be, and there is no file more than before. */
static FILE *open_aside(output *o)
{
    struct stat info;
    bool there = stat(o->path, &info) == 0;
    FILE *file;
    int fd;

    if (there && (!S_ISREG(info.st_mode) || is_standard(&info)))
        return NULL;
    o->place = there ? realpath(o->path, NULL) : strdup(o->path);
    if (!o->place || (!there && lstat(o->path, &info) == 0)) /* a link */
        return NULL;
    if ((fd = make_temp(o, there ? &info : NULL)) < 0)
        return NULL;
    if (!(file = fdopen(fd, "w"))) {
        close(fd);
        (void)unlink(o->temp);
    }
    answer();
    return file;
}

int output_open(output *o, const char *path)
{
    *o = (output){.path = path};
    if ((o->file = open_aside(o)))
        return OPT_GO;
    forget(o);
    o->file = fopen(path, "w");
    return o->file ? OPT_GO : opt_no_file(path);
}

/* ------ The end ------ */

int output_sync(int fd)
{
    int bad;

    while ((bad = fsync(fd)) < 0 && errno == EINTR)
        ;
    return bad;
}

static bool copy(FILE *from, FILE *to)
{
    char part[1 << 14];
    size_t n;

    while ((n = fread(part, 1, sizeof part, from)) > 0)
        if (fwrite(part, 1, n, to) < n)
            return false;
    return !ferror(from) && fflush(to) == 0 && output_sync(fileno(to)) == 0;
}

/* The file as it is, empty; only a regular one that was there. */
static FILE *open_place(const char *place)
{
    int fd = open(place, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    FILE *file = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        ftruncate(fd, 0) == 0)
        file = fdopen(fd, "w");
    if (!file)
        close(fd);
    return file;
}

/* Call the file aside by a name that no later run removes. */
static void keep(output *o)
{
    char *name = NULL;

    for (int i = 0; i < NAMES; i++) {
        if (asprintf(&name, "%s.result-%d", o->place, i) < 0)
            return;
        if (link(o->temp, name) == 0)
            break;
        free(name);
        name = NULL;
    }
    if (name) {
        (void)unlink(o->temp);
        free(o->temp);
        o->temp = name;
    }
}

/* No other file can take its place: it is a mount point, or another user's in a
 * folder like /tmp.  The result goes into it, or stays where it is. */
static int copy_over(output *o)
{
    FILE *from = fopen(o->temp, "re"), *to;
    bool good;
    int error;

    if (!from)
        return opt_no_file(o->path);
    to = open_place(o->place);
    good = to && copy(from, to);
    error = errno;
    fclose(from);
    if (to && fclose(to) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good)
        (void)unlink(o->temp);
    else {
        keep(o);
        opt_fail(OPT_FAILED, "%s: %s; what would be there is in %s", o->path,
                 strerror(error), o->temp);
    }
    free(o->temp);
    o->temp = NULL;
    return good ? OPT_GO : OPT_FAILED;
}

/* A write that failed before has left its reason. */
static int close_whole(output *o)
{
    int lock = fcntl(fileno(o->file), F_DUPFD_CLOEXEC, 0); /* until the end */
    bool bad = fflush(o->file) != 0 || ferror(o->file);
    int status;

    if (!bad && o->temp)
        bad = output_sync(fileno(o->file)) != 0;
    bad = fclose(o->file) != 0 || bad;
    if (bad)
        status = opt_no_file(o->path);
    else {
        unfinished = NULL; /* it is whole */
        status = !o->temp || rename(o->temp, o->place) == 0 ? OPT_GO
                                                            : copy_over(o);
    }
    if (lock >= 0)
        close(lock);
    return status;
}

int output_close(output *o, int status)
{
    if (!o->file)
        return status;
    if (status == OPT_GO)
        status = close_whole(o);
    else
        fclose(o->file);
    if (o->temp && status != OPT_GO)
        (void)unlink(o->temp);
    forget(o);
    o->file = NULL;
    return status;
}

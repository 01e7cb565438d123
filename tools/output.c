/* See output.h. */
#define _GNU_SOURCE
#include "output.h"
#include "opt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 100 };

static int failed(const char *path)
{
    return opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
}

/* A new file beside the one that it will replace, with the mode of that one.
 * -1: there can be none. */
static int make_temp(output *o, const struct stat *old)
{
    int fd = -1;

    for (int i = 0; fd < 0 && i < NAMES; i++) {
        free(o->temp);
        if (asprintf(&o->temp, "%s.tmp-%ld-%d", o->place, (long)getpid(), i) <
            0) {
            o->temp = NULL;
            return -1;
        }
        fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd >= 0 && old)
        (void)fchmod(fd, old->st_mode & 07777);
    return fd;
}

static void forget(output *o)
{
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
    return file;
}

int output_open(output *o, const char *path)
{
    *o = (output){.path = path};
    if ((o->file = open_aside(o)))
        return OPT_GO;
    forget(o);
    o->file = fopen(path, "w");
    return o->file ? OPT_GO : failed(path);
}

/* A write that failed before has left its reason. */
static int close_whole(output *o)
{
    bool bad = fflush(o->file) != 0 || ferror(o->file);

    if (!bad && o->temp)
        bad = fsync(fileno(o->file)) != 0;
    bad = fclose(o->file) != 0 || bad;
    if (!bad && o->temp)
        bad = rename(o->temp, o->place) < 0;
    return bad ? failed(o->path) : OPT_GO;
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

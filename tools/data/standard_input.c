/* SPDX-License-Identifier: BSD-3-Clause */
/* See standard_input.h. */
#define _GNU_SOURCE
#include "data/standard_input.h"
#include "opt/opt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Write all of it. */
static int put(int to, const char *bytes, ssize_t n)
{
    while (n > 0) {
        ssize_t done = write(to, bytes, (size_t)n);

        if (done < 0 && errno != EINTR)
            return -1;
        bytes += done > 0 ? done : 0;
        n -= done > 0 ? done : 0;
    }
    return 0;
}

static int copy(int to)
{
    static char piece[1 << 16];
    ssize_t n;

    while ((n = read(STDIN_FILENO, piece, sizeof piece)) != 0)
        if ((n < 0 && errno != EINTR) || (n > 0 && put(to, piece, n) < 0))
            return -1;
    return 0;
}

/* A pipe is read from its beginning to its end, and once. */
static int refuse_pipe(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0 || !S_ISFIFO(info.st_mode))
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: is not a regular file; - reads a pipe, as "
                    "COMMAND | %s .. - ..", path, opt_program_name);
}

const char *standard_input(const char *path)
{
    static char there[32];
    int fd;

    if (refuse_pipe(path) != OPT_GO)
        return NULL;
    if (strcmp(path, "-") || *there)
        return strcmp(path, "-") ? path : there;
    fd = memfd_create("standard input", MFD_CLOEXEC);
    if (fd < 0 || copy(fd) < 0) {
        opt_fail(OPT_FAILED, "standard input: %s", strerror(errno));
        return NULL;
    }
    snprintf(there, sizeof there, "/dev/fd/%d", fd);
    opt_call(there, "standard input");
    return there;
}

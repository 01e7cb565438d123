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

static bool copy(FILE *to)
{
    static char piece[1 << 16];
    size_t n;

    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
        if (fwrite(piece, 1, n, to) < n)
            return false;
    return !ferror(stdin) && fflush(to) == 0;
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
    FILE *file; /* which stays open */
    int fd;

    if (refuse_pipe(path) != OPT_GO)
        return NULL;
    if (strcmp(path, "-") || *there)
        return strcmp(path, "-") ? path : there;
    fd = memfd_create("standard input", MFD_CLOEXEC);
    if (fd < 0 || !(file = fdopen(fd, "w")) || !copy(file)) {
        opt_fail(OPT_FAILED, "standard input: %s", strerror(errno));
        return NULL;
    }
    snprintf(there, sizeof there, "/dev/fd/%d", fd);
    opt_call(there, "standard input");
    return there;
}

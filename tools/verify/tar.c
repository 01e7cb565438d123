/* SPDX-License-Identifier: BSD-3-Clause */
/* See tar.h.  libarchive reads all kinds of archives, and would be the largest
 * thing that this program links for the one kind that is wanted here. */
#define _GNU_SOURCE
#include "verify/tar.h"
#include "opt/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, NAME = 100, SIZE_AT = 124, SIZE = 12, SUM_AT = 148,
       SUM = 8, TYPE_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345, PREFIX = 155 };

typedef struct tar {
    const char *path;
    FILE *file;
    char block[BLOCK];
    char folder[NAME + 1]; /* that all names begin with; "": none */
    bool begun;
} tar;

__attribute__((format(printf, 2, 3)))
static int refuse(const tar *t, const char *format, ...)
{
    char why[256];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return opt_fail(OPT_FAILED, "%s: %s: it is not a tar of a published "
                    "folder, as tar --format=ustar -cf makes it", t->path, why);
}

bool tar_is(const char *path)
{
    FILE *f = fopen(path, "rb");
    char block[BLOCK];
    bool is = f && fread(block, 1, BLOCK, f) == BLOCK &&
              memcmp(block + MAGIC_AT, "ustar", 5) == 0;

    if (f)
        fclose(f);
    return is;
}

/* Digits to the base of eight; -1: they are none. */
static int64_t octal(const char *text, int room)
{
    int64_t x = 0;
    int i = 0, digits = 0;

    while (i < room && text[i] == ' ')
        i++;
    for (; i < room && text[i] >= '0' && text[i] <= '7'; i++, digits++)
        x = 8 * x + (text[i] - '0');
    return digits && digits < room && (i == room || !text[i] || text[i] == ' ')
               ? x : -1;
}

static bool has_sum(const tar *t)
{
    int64_t sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM ? ' '
                                               : (unsigned char)t->block[i];
    return octal(t->block + SUM_AT, SUM) == sum;
}

static bool is_plain(const char *name)
{
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127 || *p == '/')
            return false;
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The name of a file without its folder, which is that of all; NULL after a
 * message. */
static const char *name_of(tar *t, char name[NAME + 1])
{
    char *slash, *at = name;

    memcpy(name, t->block, NAME);
    name[NAME] = 0;
    if (strncmp(at, "./", 2) == 0)
        at += 2;
    if ((slash = strchr(at, '/')))
        *slash = 0;
    if (!is_plain(at) || (slash && !is_plain(slash + 1)) ||
        t->block[PREFIX_AT]) {
        refuse(t, "a file in it has a name that leads elsewhere");
        return NULL;
    }
    if (!t->begun)
        strcpy(t->folder, slash ? at : "");
    t->begun = true;
    if (strcmp(t->folder, slash ? at : "") != 0) {
        refuse(t, "its files are of several folders");
        return NULL;
    }
    return slash ? slash + 1 : at;
}

/* Copy the bytes, and skip what fills the last block. */
static int copy(tar *t, FILE *to, int64_t bytes)
{
    while (bytes > 0) {
        size_t n = bytes < BLOCK ? (size_t)bytes : BLOCK;

        if (fread(t->block, 1, BLOCK, t->file) != BLOCK)
            return refuse(t, "it ends before a file in it");
        if (fwrite(t->block, 1, n, to) != n)
            return opt_fail(OPT_FAILED, "%s: a file of it cannot be written: "
                            "%s", t->path, strerror(errno));
        bytes -= (int64_t)n;
    }
    return OPT_GO;
}

static int take(tar *t, const char *folder)
{
    int64_t size = octal(t->block + SIZE_AT, SIZE);
    char room[NAME + 1], *path = NULL;
    const char *name = name_of(t, room);
    FILE *to = NULL;
    int status, fd;

    if (!name)
        return OPT_FAILED;
    if (size < 0)
        return refuse(t, "a file in it has no size");
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return opt_fail(OPT_FAILED, "no memory for the names of files");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        status = refuse(t, "a file in it is there twice");
    else if (fd < 0 || !(to = fdopen(fd, "wb")))
        status = opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    else
        status = copy(t, to, size);
    if (to && fclose(to) != 0 && status == OPT_GO)
        status = opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    free(path);
    return status;
}

/* A block of zeros ends it. */
static bool is_end(const tar *t)
{
    for (int i = 0; i < BLOCK; i++)
        if (t->block[i])
            return false;
    return true;
}

static int take_all(tar *t, const char *folder)
{
    int status = OPT_GO;

    while (status == OPT_GO) {
        char type;

        if (fread(t->block, 1, BLOCK, t->file) != BLOCK)
            return refuse(t, "it has no end");
        if (is_end(t))
            return OPT_GO;
        type = t->block[TYPE_AT];
        if (!has_sum(t))
            status = refuse(t, "a checksum of it is wrong");
        else if (type == '0' || !type)
            status = take(t, folder);
        else if (type != '5') /* a folder is made of what is in it */
            status = refuse(t, "it holds something else than plain files");
    }
    return status;
}

int tar_unpack(const char *path, const char *folder)
{
    tar t = {.path = path, .file = fopen(path, "rb")};
    int status;

    if (!t.file)
        return opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    status = take_all(&t, folder);
    fclose(t.file);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: regular ones read at any place, and atomic writes: a new file is
 * written aside, synced and renamed, so that it appears whole or not at all and
 * a failure leaves the old one. */
#ifndef LS_FILE_FILE_H
#define LS_FILE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* LS_EIO: "PATH: WHAT: " and what errno says. */
int ls__io_error(const char *path, const char *what);

/* LS_EINVAL for an empty path; the system would say that it is not there, or
 * cannot be renamed. */
int ls__path_check(const char *path);

/* ------ Reading ------ */

/* An open regular file.  Nothing of it is mapped: reading behind the end of a
 * mapped file that was truncated kills the process. */
typedef struct ls__file {
    const char *path; /* borrowed; NULL: not open */
    int fd;          /* -1: there is nothing but the memory */
    int64_t size;    /* when it was opened */
    uint8_t *memory; /* all of it, where it is kept there */
} ls__file;

/* Open a regular file; anything else is refused, and never waited for. */
int ls__file_open(ls__file *file, const char *path);

/* Read n bytes that begin at byte `at`.  LS_EIO names the byte at which the
 * file ends now. */
int ls__file_read(const ls__file *file, void *out, size_t n, int64_t at);

/* Keep the bytes of a small file in memory from now on; a large one stays on
 * disk. */
int ls__file_keep(ls__file *file);

/* Accepts a cleared one. */
void ls__file_close(ls__file *file);

/* The first bytes of a file, its magic number; 0xff where it is shorter. */
enum { LS__HEAD = 8 };
int ls__head_read(uint8_t head[LS__HEAD], const char *path);

/* All bytes of a file, with a zero byte after them; to be freed.  LS_EFORMAT:
 * it is longer than `most` bytes. */
int ls__file_load(const char *path, size_t most, char **bytes, size_t *size);

/* ------ Writing ------ */

/* A new file that is being written. */
typedef struct ls__newfile {
    const char *path; /* for messages; borrowed */
    int fd;           /* -1: not open */
} ls__newfile;

/* Make a file `name` in an open folder (or AT_FDCWD), where there is nothing of
 * that name, not even a link.  errno says why not. */
int ls__newfile_create(ls__newfile *out, int folder, const char *name,
                       int mode);
int ls__newfile_write(ls__newfile *out, const void *data, size_t bytes);
/* Write over bytes that are there already, from byte `at` on. */
int ls__newfile_write_at(ls__newfile *out, const void *data, size_t bytes,
                         int64_t at);
/* Put the bytes on disk. */
int ls__newfile_finish(ls__newfile *out);
/* Free it, after a failure, too. */
void ls__newfile_close(ls__newfile *out);

/* A file on its way to where it shall appear. */
typedef struct ls__aside {
    ls__newfile out;
    char *place; /* the path, or the file that a link names */
    char *temp;  /* the file that is written: PLACE.tmp-RANDOM */
} ls__aside;

/* Open, write to `out` as often as needed, finish; then close, also after a
 * failure of any of them, which leaves nothing aside.  LS_EIO names the path.
 * Only a regular file is replaced; a link stays one, and the file that it names
 * is replaced.  The new file has the old one's mode.  Files aside that a killed
 * process left of this file are removed. */
int ls__aside_open(ls__aside *file, const char *path);
int ls__aside_finish(ls__aside *file);
void ls__aside_close(ls__aside *file);

/* A stream that takes over the descriptor that a call gave, -1 too: NULL, with
 * errno, and nothing is open. */
FILE *ls__file_stream(int fd, const char *mode);

/* Sync an open folder: files that were made or renamed in it are on disk then.
 * A failure names `path`. */
int ls__folder_sync(int folder, const char *path);

#endif

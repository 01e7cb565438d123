/* Whole files: read into memory, or written aside, synced and renamed, so that
 * a file appears whole or not at all and a failure leaves what was there. */
#ifndef LS_BASE_FILE_H
#define LS_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

/* LS_EIO: "PATH: WHAT: " and what errno says. */
int ls__io_error(const char *path, const char *what);

/* All bytes of a regular file, with a zero byte after them; to be freed.  No
 * more memory is asked for than the file is long. */
int ls__file_read(const char *path, char **bytes, size_t *size);

/* A stream that takes over the descriptor that a call gave, -1 too: NULL, with
 * errno, and nothing is open. */
FILE *ls__file_stream(int fd, const char *mode);

/* A file on its way. */
typedef struct ls__aside {
    const char *path; /* where it shall appear; borrowed */
    char *temp;       /* where it is written: PATH.tmp-PID */
    int fd;
} ls__aside;

/* Open, write as often as needed, finish; then close, also after a failure of
 * any of them, which leaves nothing aside.  LS_EIO names the path. */
int ls__aside_open(ls__aside *file, const char *path);
int ls__aside_write(ls__aside *file, const void *data, size_t bytes);
int ls__aside_finish(ls__aside *file);
void ls__aside_close(ls__aside *file);

/* Put a folder's list of names on disk: what was made or renamed in it.  A
 * failure names `name`. */
int ls__folder_sync(const char *folder, const char *name);

#endif

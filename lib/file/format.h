/* SPDX-License-Identifier: BSD-3-Clause */
/* The kind of a file that its reader cannot read: the first bytes (its magic
 * number) tell, and the message then names it and what to type. */
#ifndef LS_FILE_FORMAT_H
#define LS_FILE_FORMAT_H

#include <stdbool.h>

/* The kind that a reader wanted: one of these. */
typedef enum ls__wanted {
    LS__SAFETENSORS = 1,
    LS__NPY = 2,
    LS__NPZ = 4,
    LS__TEXT_TABLE = 8,
    LS__PICTURES = 16, /* PNG or JPEG */
    LS__PIXELS = 32,   /* IDX or .npy */
    LS__LINES = 64     /* of a transcript */
} ls__wanted;

/* Does a file hold a picture, of a format that is read or not? */
bool ls__format_is_picture(const char *path);

/* Give a reader's failure (LS_EFORMAT or LS_ENOTSUP) a message that names the
 * file's other format, where that is known.  Returns status. */
int ls__format_tell(int status, const char *path, ls__wanted wanted);

/* LS_EFORMAT, with such a message, for a file that a reader of texts must not
 * begin: it is of another format, and no text that by chance has the same first
 * letters.  0: it may be what was wanted. */
int ls__format_check(const char *path, ls__wanted wanted);

#endif

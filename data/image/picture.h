/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture from a PNG or JPEG file.  Sizes are looked at before memory is
 * asked for, and what a file lacks, or has wrong, is an error: no picture is
 * half a picture. */
#ifndef LS_IMAGE_PICTURE_H
#define LS_IMAGE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A side, all pixels, and the bytes of a file. */
enum {
    LS__PICTURE_SIDE = 65535,
    LS__PICTURE_PIXELS = 1 << 26,
    LS__PICTURE_FILE = 1 << 28
};

typedef struct ls__picture {
    int64_t height, width;
    int channels;    /* grey, grey and alpha, red green blue, these and alpha */
    uint8_t *pixels; /* (height, width, channels); NULL: only looked at */
} ls__picture;

/* Is a file named as a picture, .png, .jpg, .jpeg or .jpe? */
bool ls__picture_named(const char *path);

/* Read a picture, or look how large it is.  LS_EFORMAT: it is none, or
 * broken; LS_ENOTSUP: too large, or not to be read by this
 * build.  To be freed. */
int ls__picture_read(ls__picture *p, const char *path);
int ls__picture_look(ls__picture *p, const char *path);
void ls__picture_free(ls__picture *p);

/* ------ What a decoder is given, and its parts ------ */

/* All bytes of a file, or with `look` those that it begins with. */
typedef struct ls__coded {
    const char *path; /* for messages */
    const uint8_t *bytes;
    size_t n;
    bool look;
} ls__coded;

int ls__png_decode(ls__picture *p, const ls__coded *from);
int ls__jpeg_decode(ls__picture *p, const ls__coded *from);

/* Take the size that a header says, and make room for the pixels unless the
 * picture is only looked at. */
int ls__picture_size(ls__picture *p, const ls__coded *from, int64_t height,
                     int64_t width, int channels);

/* The camera's orientation, 1 to 8 as EXIF has it, by n bytes of a JPEG's APP1
 * marker, or of a PNG's chunk eXIf; 1: they do not say. */
int ls__picture_orientation(const uint8_t *exif, size_t n);

/* Turn a picture so that orientation 1 is right. */
int ls__picture_turn(ls__picture *p, int orientation);

#endif

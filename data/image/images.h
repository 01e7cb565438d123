/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of images with labels, as it lies in its files: where each row's pixels
 * are, and how they are arranged.  Nothing is converted here. */
#ifndef LS_IMAGE_IMAGES_H
#define LS_IMAGE_IMAGES_H

#include "base/memory.h"
#include "image/album.h"
#include "image/idx.h"

#include <lockstep/images.h>

enum { LS__IMAGE_PARTS = 64 };

/* Rows of one file, or of memory: row i at first + i * stride. */
typedef struct ls__part {
    ls__file file;         /* of one of these two; the other is cleared */
    const uint8_t *memory;
    int64_t first, rows, stride;
} ls__part;

typedef struct ls__images {
    int64_t rows;
    int64_t shape[3]; /* height, width, channels */
    bool planar;      /* in the file channels come first, as in CIFAR-10 */
    bool real;        /* floats; else bytes */
    int32_t *label;   /* [rows] */
    int64_t classes;  /* labels are below this */
    ls__album *album; /* pictures in files of their own; else NULL, and */
    int parts;
    ls__part part[LS__IMAGE_PARTS];
    /* The owner of a part's pixels in memory: one of these two. */
    uint8_t *inflated;
    ls_array array;
    ls__arena arena; /* of names */
} ls__images;

/* Open a set: a file, or the training or test set of a folder, as the options
 * say.  LS_ENOTFOUND: the folder holds no such set. */
int ls__images_open(ls__images *im, const char *path,
                    const ls_images_options *options);
/* Accepts a cleared one. */
void ls__images_close(ls__images *im);

/* The same of a list of pictures. */
int ls__images_list(ls__images *im, int64_t n, const char *const *path,
                    const ls_images_options *options);

/* Bytes of a row's pixels. */
int64_t ls__images_row_bytes(const ls__images *im);

/* Row i's pixels, of no album: where they lie in memory, or read into `room`.
 * NULL: the file is not what it was when it was opened, and ls_errmsg() says
 * so. */
const uint8_t *ls__images_row(const ls__images *im, int64_t i, void *room);

/* ------ A reader for each format ------ */

/* CIFAR's binary forms: records of a label, or two, and 3 x 32 x 32 bytes.
 * Each call adds a file.  Of 20 `classes` the coarse labels are meant. */
int ls__cifar_add(ls__images *im, const char *path, int classes);

/* Pixels of an IDX or a .npy file: (N,H,W) or (N,H,W,C); of the latter with
 * `alone` (H,W,C), one image. */
int ls__idx_images(ls__images *im, const char *path);
int ls__npy_images(ls__images *im, const char *path, bool alone);

/* The set's labels, whole numbers (N) of an IDX or a .npy file. */
int ls__labels_read(ls__images *im, const char *path);

/* Open a file for a part, and keep it in memory if it is small; the path is
 * copied. */
int ls__images_file(ls__images *im, ls__file *file, const char *path);

#endif

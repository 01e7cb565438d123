/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of images with their labels, as a source of rows.  Of liblockstep_data:
 * link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_IMAGES_H
#define LOCKSTEP_IMAGES_H

#include <lockstep/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which images of a folder are read, and how they are normalised. */
typedef struct ls_images_options {
    size_t size; /* ls_images_defaults() writes it */
    bool test;           /* of a folder: its test set, not its training set */
    const char *labels;  /* their file; NULL: in the images' folder */
    const char *image;   /* the name of the array of images; NULL: "image" */
    const char *label;   /* the name of the array of labels; NULL: "label" */
    int channels;        /* of mean and std: the images', or 1 for all; 0: no
                            normalisation */
    const double *mean, *std;
    bool unlabelled;     /* the images alone: no labels are looked for, and the
                            source has one array */
} ls_images_options;

/* Returns options that are all 0: the training set, not normalised. */
LS_API void ls_images_defaults_bytes(ls_images_options *options, size_t size);
static inline ls_images_options ls_images_defaults(void)
{
    ls_images_options o;

    ls_images_defaults_bytes(&o, sizeof o);
    return o;
}

/* Images as LS_F32 (H,W,C) and labels as LS_I32 from a file or a folder:
 *     CIFAR-10   data_batch_1.bin and on, test_batch.bin, or one .bin file
 *     IDX        unsigned bytes (N,H,W) or (N,H,W,C), plain or gzip'd; in a
 *                folder by MNIST's names, train-images-idx3-ubyte and so on;
 *                else the only train*images* or t10k*images*
 *     .npy       (N,H,W) or (N,H,W,C); train-images.npy or x_train.npy
 * and labels in a file of their own, found by putting "labels" in the place of
 * "images" (idx1 for idx3), or y for x, in the name.  A plain file stays open,
 * and rows are read when they are wanted: one that has become shorter is then a
 * failure of the source (LS_EUSER of ls_loader_fill, which names the byte).
 * A byte u becomes u / 255, a number of another type itself; then x becomes
 * (x - mean[c]) / std[c], all in floats.
 * LS_EFORMAT, LS_ESHAPE, LS_ERANGE: the file, and what is wrong where in it;
 * LS_ENOTFOUND: a folder without such a set. */
LS_API int ls_source_images(ls_source *source, const char *path,
                            const ls_images_options *options);

#ifdef __cplusplus
}
#endif

#endif

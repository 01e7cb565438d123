/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of images with their labels, as a source of rows.  Of liblockstep_data:
 * link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_IMAGES_H
#define LOCKSTEP_IMAGES_H

#include <lockstep/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a picture becomes one of a given height and width: the largest part of
 * these proportions, in its middle; all of it, in the middle of black; or all
 * of it, and its proportions change. */
typedef enum ls_image_fit {
    LS_IMAGE_CROP,
    LS_IMAGE_FIT,
    LS_IMAGE_STRETCH,
} ls_image_fit;

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

    /* Of pictures in files of their own: */
    int64_t shape[3];    /* height, width, channels (1: grey, 3: colour, 4: and
                            alpha) that all are made; 0: all are of one size,
                            and grey if all are */
    ls_image_fit fit;
    bool skip_broken;    /* files that are no pictures, or broken ones, are left
                            out, for which all are decoded at once; else they
                            are an error */
    int threads;         /* that decode; 0: as many as the program has CPUs */
    int n_classes;       /* 0: the folders there are, in the order of their */
    const char *const *class_names; /* names' bytes; else these, in this order,
                                       and another folder is an error */
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
 *     pictures   a folder for each class, or these in train/, and in test/
 *                (valid/, val/): all files in them, .png, .jpg, .jpeg
 * and labels in a file of their own, found by putting "labels" in the place of
 * "images" (idx1 for idx3), or y for x, in the name; of pictures the number of
 * their folder.  A plain file stays open, and rows are read when they are
 * wanted: one that has become shorter is then a failure of the source
 * (LS_EUSER of ls_loader_fill, which names the byte).
 * A byte u becomes u / 255, a number of another type itself; then x becomes
 * (x - mean[c]) / std[c], all in floats.
 * LS_EFORMAT, LS_ESHAPE, LS_ERANGE: the file, and what is wrong where in it;
 * LS_ENOTFOUND: a folder without such a set.
 *
 * A picture is decoded when its row is wanted, by threads that live as long as
 * the call, and kept in memory as bytes, up to 1 GiB for all of a source; what
 * a row holds depends on the file alone.  All are looked at when the source is
 * opened.  16 bits become 8, v / 257 rounded; palettes are looked up, a JPEG is
 * turned as its EXIF orientation says, profiles and gamma are passed over.
 * JPEG is decoded with the accurate integer transform and chroma is repeated,
 * not smoothed, so that a file gives the same bytes on all machines with the
 * same library.  Alpha a lies on white unless it is asked for, and grey is
 *     (v a + 255 (255 - a) + 127) / 255
 *     (19595 r + 38470 g + 7471 b + 32768) >> 16
 * Of n pixels of an axis that are taken m are made, in whole numbers, each the
 * mean of what it covers: with pixel i of n at [i m, (i+1) m), pixel j of m at
 * [j n, (j+1) n), and w(i, j) the length that both have in common, it is
 *     (2 s + d) / (2 d),  s = sum wy(y, i) wx(x, j) v(i, j),  d = ny nx
 * LS_IMAGE_CROP takes h W / H of the columns of a picture of width w and height
 * h that becomes W x H, if w H > h W, else w H / W of the rows, and leaves half
 * of the others, rounded down, before them; LS_IMAGE_FIT makes it h W / w high,
 * or w H / h wide, and has the border likewise.
 * A file with another format than its name says, one above 256 MiB, a side
 * above 65,535 or more than 2^26 pixels is an error (LS_EFORMAT, LS_ENOTSUP),
 * found before memory is asked for. */
LS_API int ls_source_images(ls_source *source, const char *path,
                            const ls_images_options *options);

/* The same of n files, PNG or JPEG, in this order and without labels. */
LS_API int ls_source_pictures(ls_source *source, int64_t n,
                              const char *const *path,
                              const ls_images_options *options);

/* Returns the name of class i of a source that one of these made, the path of a
 * row, and how many files were left out: NULL, or 0, past the last, of other
 * images, and once another source has taken this one over.  Both are the
 * source's. */
LS_API const char *ls_images_class(const ls_source *source, int64_t i);
LS_API const char *ls_images_file(const ls_source *source, int64_t row);
LS_API int64_t ls_images_left_out(const ls_source *source);

/* Cut a source in two: `held` becomes a source of these rows of it, in this
 * order, each named once, and `source` one of the others, in theirs.  Both
 * share what the source was, which is closed with the second of them; they may
 * be used by two threads.  On a failure the source is as it was. */
LS_API int ls_source_split(ls_source *source, int64_t n, const int64_t *rows,
                           ls_source *held);

#ifdef __cplusplus
}
#endif

#endif

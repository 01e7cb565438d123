/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of images with their labels, as a source of rows.  Of liblockstep_data:
 * link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_IMAGES_H
#define LOCKSTEP_IMAGES_H

#include <lockstep/random.h>
#include <lockstep/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Resizing of a picture to a height and width: crop the largest part of these
 * proportions, in its middle; fit all of it, in the middle of black (padding);
 * or stretch all of it to new proportions. */
typedef enum ls_image_fit {
    LS_IMAGE_CROP,
    LS_IMAGE_FIT,
    LS_IMAGE_STRETCH,
} ls_image_fit;

/* The images of a folder that are read, and their normalisation. */
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
    bool alone;          /* a .npy file of (H,W,C) is one image, not N of (H,W)
                          */

    /* Of pictures in files of their own: */
    int64_t shape[3];    /* height, width, channels (1: grey, 3: colour, 4: and
                            alpha) that all are made; 0: all are of one size,
                            and grey if all are */
    ls_image_fit fit;
    bool skip_broken;    /* files that are no pictures, or broken ones, are left
                            out, for which all are decoded at once, and so are
                            classes without a picture; else they are an error */
    int threads;         /* that decode; 0: as many as the program has CPUs */
    int n_classes;       /* of pictures, 0 or without names: the folders there
                            are, in the order of their names' bytes; */
    const char *const *class_names; /* else these, in this order, and another
                                       folder is an error */
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
 *     CIFAR-100  train.bin, test.bin, or one .bin file: the 100 fine labels, or
 *                with n_classes 20 the coarse ones
 *     IDX        unsigned bytes (N,H,W) or (N,H,W,C), plain or gzip'd; in a
 *                folder by MNIST's names, train-images-idx3-ubyte and so on;
 *                else the only train*images* or t10k*images*
 *     .npy       (N,H,W) or (N,H,W,C); train-images.npy or x_train.npy
 *     pictures   a folder for each class, or these in train/, and in test/
 *                (valid/, val/): all files in them, PNG or JPEG by what they
 *                hold; hidden ones, __MACOSX, Thumbs.db and desktop.ini are
 *                passed over
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
 * opened.  16 bits become 8, v / 257 rounded; palettes are looked up, a picture
 * is turned as its EXIF orientation says (a PNG's where eXIf stands before its
 * pixels), profiles and gamma are passed over.
 * JPEG is decoded with the accurate integer transform and chroma is repeated,
 * not smoothed, so that a file gives the same bytes on all machines with the
 * same library.  Alpha a lies on white unless it is asked for, and grey is
 *     (v a + 255 (255 - a) + 127) / 255
 *     (19595 r + 38470 g + 7471 b + 32768) >> 16
 * An axis of n pixels is resized to m in whole numbers, each pixel the mean of
 * what it covers (area averaging): with pixel i of n at [i m, (i+1) m), pixel j
 * of m at [j n, (j+1) n), and w(i, j) the length that both share, it is
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

/* Returns the message of the first file that was left out for reason i, its
 * name first, and in *files the number of such files; NULL past the last.  The
 * text is the source's.  Beyond 16 reasons files are only counted, by
 * ls_images_left_out. */
LS_API const char *ls_images_left_out_why(const ls_source *source, int i,
                                          int64_t *files);

/* Get the label of a row of such a source without reading its image.  Returns
 * false past the last, and where there are no labels. */
LS_API bool ls_images_label(const ls_source *source, int64_t row,
                            int32_t *label);

/* Cut a source in two: `held` becomes a source of these rows of it, in this
 * order, each named once, and `source` one of the others, in theirs.  Both
 * share what the source was, which is closed with the second of them; they may
 * be used by two threads.  On a failure the source is as it was. */
LS_API int ls_source_split(ls_source *source, int64_t n, const int64_t *rows,
                           ls_source *held);

/* Make a second source of the same rows, for what reads them beside a loader;
 * both share what the source was, as after ls_source_split. */
LS_API int ls_source_share(ls_source *source, ls_source *again);

/* Augmentation: changes of an image, new ones each time it is seen; all 0:
 * none. */
typedef struct ls_augment_options {
    size_t size; /* ls_augment_defaults() writes it */
    ls_key key;  /* that all is drawn by */
    const char *image; /* the array of images, LS_F32 (H,W,C); NULL: the first
                          such one */
    const char *label; /* of mixup: the array of labels; NULL: the first of
                          LS_I32 without axes */
    const char *other, *share; /* the names of two arrays that mixup adds to
                                  the source; NULL: none are added */
    bool flip;
    int crop;
    double rotate;                /* degrees, to 180 */
    double scale_low, scale_high; /* both 0: 1 */
    double brightness, contrast;
    int cutout;
    double mixup;                 /* to 1 */
    int channels;                 /* of mean and std, as of ls_images_options */
    const double *mean, *std;
    int threads; /* that do it; 0: as many as the program has CPUs */
} ls_augment_options;

/* Returns options that change nothing. */
LS_API void ls_augment_defaults_bytes(ls_augment_options *options, size_t size);
static inline ls_augment_options ls_augment_defaults(void)
{
    ls_augment_options o;

    ls_augment_defaults_bytes(&o, sizeof o);
    return o;
}

/* Augment the images of a source, numbers of 0 to 1, in each epoch anew.  Its
 * rows then differ by epoch (ls_source.by_epoch).  For row r of epoch e uniform
 * numbers u0, u1, .. are drawn of
 *     ls_random_uniform(ls_key_fold_in(ls_key_fold_in(key, e), r), .., 0, 1)
 * and nothing else, so that no worker, rank, order or batch shows in them.  In
 * this order:
 *     crop P        P black pixels around the image, and of that the H x W that
 *                   begin floor(u0 (2 P + 1)) rows and floor(u1 (2 P + 1))
 *                   columns from its corner
 *     rotate D,     turned about its middle by (2 u2 - 1) D degrees and
 *     scale A, B    enlarged A + u3 (B - A) times, black around it: a pixel is
 *                   that between four pixels, linear in both directions
 *     flip          left becomes right if u4 < 1/2
 *     brightness B  times a number in [max(0, 1 - B), 1 + B], by u5; then what
 *                   is below 0 or above 1 becomes that
 *     contrast C    f x + (1 - f) m likewise, f by u6 and m the mean of grey:
 *                   0.2989 r + 0.587 g + 0.114 b, or of all numbers where there
 *                   are not 3 channels
 *     cutout S      black in S rows from floor(u7 H) - S / 2 on, and in columns
 *                   by u8, as far as they are in the image
 *     mixup A       f x + (1 - f) x2, x2 being row floor(u9 rows) of this epoch
 *                   after all of the above and f of the distribution
 *                   Beta(A, A): v / (v + w) of the first v = u^(1/A) and
 *                   w = u'^(1/A) with v + w <= 1, (u, u') being (u10, u11),
 *                   (u12, u13) and so on, at most 16 pairs
 * and then (x - mean[c]) / std[c], all of it in floats.
 * An image that is mixed is of both labels, and so is its loss, f of the one
 * and 1 - f of the other.  So the source gets two arrays more, of the names
 * `other` and `share`: the label of x2 (LS_I32) and f (LS_F32), both without
 * axes.  The loss of them, with the inputs y, other and share, is
 *     ls_mean_loss(ls_add(
 *         ls_mul(share, ls_label_terms(logits, y, 0)),
 *         ls_mul(ls_scale_shift(share, -1, 1),
 *                ls_label_terms(logits, other, 0))), NULL)
 * Where the names are given and mixup is 0 they are the row's own label and 1:
 * so a source to evaluate on gets the arrays that such a graph wants.
 * Meanings are torchvision's (RandomCrop(padding), RandomAffine,
 * RandomHorizontalFlip, ColorJitter, MixUp) but for the order, pixels that are
 * linear, and mixup's f and x2, which each image has of its own where MixUp
 * draws one f for a batch; cutout is that of DeVries and Taylor.
 * The source is taken over, and is as it was on a failure.  LS_ENOTFOUND,
 * LS_ESHAPE: it has no such array; LS_ERANGE: an option beyond its range;
 * LS_EINVAL: mean or std is missing, or no float; mixup without the two names,
 * one without the other, or a name that an array has already. */
LS_API int ls_source_augment(ls_source *source,
                             const ls_augment_options *options);

#ifdef __cplusplus
}
#endif

#endif

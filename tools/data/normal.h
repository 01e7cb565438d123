/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation of images: a byte u becomes u / 255, a number of another type
 * itself, then x becomes (x - mean) / std of its channel (lockstep/files.h);
 * for pictures also how they become one size, and the names of their classes.
 * The model file tells it to who predicts. */
#ifndef TOOLS_NORMAL_H
#define TOOLS_NORMAL_H

#include <lockstep/images.h>

#include <stdbool.h>

/* The name of its text in a file's metadata. */
#define NORMAL_KEY "lockstep.images"

enum { NORMAL_CHANNELS = 1024 };

typedef struct normal {
    bool is;      /* the rows are images */
    int channels; /* of mean and std; 0: neither */
    double mean[NORMAL_CHANNELS], std[NORMAL_CHANNELS];
    int64_t shape[3]; /* of pictures; 0: the images are none */
    int64_t fit;      /* ls_image_fit */
    int classes;      /* 0: they have no names */
    char **class_name; /* its own */
} normal;

/* The words of ls_image_fit; NULL past the last. */
const char *normal_fit(int64_t fit);

/* Takes what is known of a source of pictures; of others nothing.  OPT_FAILED
 * after a message: a name is no UTF-8. */
int normal_take(normal *n, const ls_source *source);

/* The options to read more images with, all but which they are. */
ls_images_options normal_options(const normal *n);

/* Returns JSON, to be freed; NULL after a message. */
char *normal_write(const normal *n);

/* The same from the text of a file that may hold anything; `path` is for
 * messages. */
int normal_load(normal *n, const char *text, const char *path);

void normal_free(normal *n);

/* Note on the standard error output which files of a source are left out, and
 * why. */
void normal_tell_left_out(const ls_source *source);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What training does with the numbers of images: a byte u becomes u / 255, a
 * number of another type itself, then x becomes (x - mean) / std of its channel
 * (lockstep/files.h).  The model file tells it to who predicts. */
#ifndef TOOLS_NORMAL_H
#define TOOLS_NORMAL_H

#include <stdbool.h>

/* The name of its text in a file's metadata. */
#define NORMAL_KEY "lockstep.images"

enum { NORMAL_CHANNELS = 1024 };

typedef struct normal {
    bool is;      /* the rows are images */
    int channels; /* of mean and std; 0: neither */
    double mean[NORMAL_CHANNELS], std[NORMAL_CHANNELS];
} normal;

/* As JSON, to be freed; NULL after a message. */
char *normal_write(const normal *n);

/* The same from the text of a file that may hold anything; `path` is for
 * messages. */
int normal_load(normal *n, const char *text, const char *path);

#endif

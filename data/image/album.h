/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures in files of their own, PNG and JPEG: one folder for each class, or a
 * list of files.  They are decoded when their rows are wanted, and kept in
 * memory as far as there is room for them. */
#ifndef LS_IMAGE_ALBUM_H
#define LS_IMAGE_ALBUM_H

#include "base/memory.h"

#include <lockstep/images.h>

#include <pthread.h>

/* Files that were left out for one reason: the message about the first; its
 * name is `name` bytes of it. */
typedef struct ls__refused {
    int64_t files;
    const char *first;
    size_t name;
} ls__refused;

enum { LS__REASONS = 16 };

typedef struct ls__album {
    int64_t pictures, room; /* their number, and the lists' room */
    const char **path;
    int32_t *label;
    int64_t classes;
    const char **class_name;
    bool given; /* the classes are another set's, and stay */
    int64_t left_out; /* of skip_broken */
    int reasons;
    ls__refused reason[LS__REASONS];
    int64_t shape[3]; /* of all pictures, once fitted */
    ls_image_fit fit;
    bool skips;
    int threads;
    pthread_mutex_t lock; /* of the next two */
    uint8_t **kept;       /* [pictures] pixels that were decoded, or NULL */
    int64_t spare;        /* bytes that may still be kept */
    ls__arena arena;      /* of names */
} ls__album;

/* Open the training or test set of a folder.  LS_ENOTFOUND: there is none. */
int ls__album_open(ls__album **album, const char *folder,
                   const ls_images_options *options);

/* Open these files, without labels. */
int ls__album_list(ls__album **album, int64_t n, const char *const *path,
                   const ls_images_options *options);

/* Give `take` the pixels of n pictures, in any order and from several
 * threads. */
int ls__album_rows(ls__album *album, int64_t n, const int64_t *index,
                   void (*take)(void *user, int64_t i, const uint8_t *pixels),
                   void *user);

void ls__album_close(ls__album *album);

/* ------ For these, and what finds the files (album_files.c) ------ */

/* Add a file to the lists. */
int ls__album_add(ls__album *album, const char *path, int32_t label);

/* A file that is no picture is left out with a count, or refused: the status of
 * a failure that was just told, which begins with its path, or 0. */
int ls__album_refuse(ls__album *album, const char *path, int status);

/* "folder/name"; LS_EINVAL: it is too long. */
enum { LS__PATH = 4096 };
int ls__path_join(char out[LS__PATH], const char *folder, const char *name);

/* Fill the lists from a folder. */
int ls__album_find(ls__album *album, const char *folder,
                   const ls_images_options *options);

#endif

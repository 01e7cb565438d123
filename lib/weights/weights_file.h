/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a model's parameters in a safetensors file. */
#ifndef LS_WEIGHTS_WEIGHTS_FILE_H
#define LS_WEIGHTS_WEIGHTS_FILE_H

#include "file/safetensors.h"
#include "state/model_view.h"

/* Texts of a file of tensors: one of its own under a key, or NULL, and notes.
 */
typedef struct ls__texts {
    const char *key, *text;
    int notes;
    const ls_setting *note;
    const char *axes; /* the note of file_axes.h, or NULL */
} ls__texts;

/* Write tensors with their SHA-256 and these texts; the list may be changed. */
int ls__weights_write(const char *path, int n, ls__safetensor *list,
                      const ls__texts *texts);

/* A parameter's entry in a file. */
ls__safetensor ls__weights_tensor(const ls__slot *s, const float *value);

/* Write all parameters, under their names, and the text of their graph unless
 * it is NULL, and the notes.  LS_EIO and others name the file. */
int ls__weights_save(const ls__model_view *of, const char *path,
                     const char *graph, int notes, const ls_setting *note);

/* Read the tensors with names that match the pattern (NULL: all).  Values are
 * as they were unless everything wanted in the file is good. */
int ls__weights_load(const ls__params *layout, float *value, const char *path,
                     const char *names);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a model's parameters in a safetensors file. */
#ifndef LS_MODEL_WEIGHTS_FILE_H
#define LS_MODEL_WEIGHTS_FILE_H

#include "file/safetensors.h"
#include "state/model_view.h"

/* What a file of tensors says besides them: a text of its own under a key, or
 * NULL, and notes. */
typedef struct ls__texts {
    const char *key, *text;
    int notes;
    const ls_setting *note;
} ls__texts;

/* Write tensors with their SHA-256 and these texts. */
int ls__weights_write(const char *path, int n, const ls__safetensor *list,
                      const ls__texts *texts);

/* How a parameter stands in a file. */
ls__safetensor ls__weights_tensor(const ls__slot *s, const float *value);

/* Write all parameters, under their names, and the text of their graph unless
 * it is NULL, and the notes.  LS_EIO and others name the file. */
int ls__weights_save(const ls__view *of, const char *path, const char *graph,
                     int notes, const ls_setting *note);

/* Read those whose names match the pattern (NULL: all of them).  Values are as
 * they were unless all of the file that is wanted is good. */
int ls__weights_load(const ls__params *layout, float *value, const char *path,
                     const char *names);

#endif

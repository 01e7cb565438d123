/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters whose arrays lie in another order in a model file than in the
 * graph, as PyTorch has them: the note "lockstep.axes", {"fc.weight":[1,0]},
 * says which axis of the parameter each axis of the array is.  Axes that are
 * left out have one element. */
#ifndef LS_WEIGHTS_FILE_AXES_H
#define LS_WEIGHTS_FILE_AXES_H

#include "base/json.h"
#include "file/safetensors.h"

#define LS__AXES_KEY "lockstep.axes"

/* An array of a file, and the parameter's step along each of its axes. */
typedef struct ls__turn {
    bool is; /* it lies otherwise */
    int rank;
    int64_t shape[LS_MAX_RANK], step[LS_MAX_RANK];
} ls__turn;

/* Read a note; *all is to be freed (json_decref), NULL where text is. */
int ls__axes_read(json_t **all, const char *text, const char *path);

/* The array of a parameter of that name and shape. */
int ls__axes_find(const json_t *all, const char *path, const char *name,
                  int rank, const int64_t *shape, ls__turn *turn);

/* Copy the elements of an array to the parameter, or back. */
void ls__axes_copy(const ls__turn *turn, const float *from, float *to,
                   bool back);

/* Turn tensors of a list in place: those that lie otherwise get data in *own,
 * which is to be freed. */
int ls__axes_turn(const json_t *all, const char *path, int n,
                  ls__safetensor *list, float **own);

#endif

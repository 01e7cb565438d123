/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a model's parameters from a file of PyTorch's. */
#ifndef LS_TORCH_TORCH_FILE_H
#define LS_TORCH_TORCH_FILE_H

#include "model/ls_model.h"

/* Read those whose names match the pattern (NULL: all of them).  layers: "ours=
 * theirs,.." for layers that are called otherwise there; or NULL.  The model is
 * as it was unless all that is wanted is good. */
int ls__torch_load(ls__model *m, const char *path, const char *names,
                   const char *layers);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A model as a file: its weights, and in their metadata its graph.  Any reader
 * of safetensors finds the weights; docs/model-file.md says the rest. */
#ifndef LS_MODEL_MODEL_FILE_H
#define LS_MODEL_MODEL_FILE_H

#include "model/ls_model.h"

/* LS_ENOTSUP: the model is a function of the user's, or has operators of the
 * user's.  What was there stays if this fails. */
int ls__model_save(const ls__model *m, const char *path, int notes,
                   const ls_setting *note);

/* A model to predict with, its weights read and packed. */
int ls__model_load(ls__model *m, const char *path);

#endif

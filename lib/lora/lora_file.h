/* SPDX-License-Identifier: BSD-3-Clause */
/* Adapters as a file of their own: their tensors, and as JSON text in the
 * metadata (docs/model-file.md) the layers they belong to, their scales, and
 * what model they are for. */
#ifndef LS_LORA_LORA_FILE_H
#define LS_LORA_LORA_FILE_H

#include "model/ls_model.h"

#define LS__LORA_KEY "lockstep.lora"

/* LS_EINVAL: the model has none. */
int ls__lora_save(const ls__model *m, const char *path, int notes,
                  const ls_setting *note);

/* The values of a file's adapters.  The model is as it was unless all is
 * good. */
int ls__lora_load(ls__model *m, const char *path);

/* The model without adapters, its weights with them. */
int ls__lora_merge(const ls__model *m, const char *path, int notes,
                   const ls_setting *note);

/* A model to predict with from both files. */
int ls__lora_model_load(ls__model *m, const char *path, const char *adapters);

#endif

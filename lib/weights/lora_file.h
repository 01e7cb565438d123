/* SPDX-License-Identifier: BSD-3-Clause */
/* Adapters as a file of their own: their tensors, and as JSON text in the
 * metadata (docs/model-file.md) the layers they belong to, their scales, and
 * what model they are for. */
#ifndef LS_WEIGHTS_LORA_FILE_H
#define LS_WEIGHTS_LORA_FILE_H

#include "state/model_view.h"

#define LS__LORA_KEY "lockstep.lora"

/* LS_EINVAL: the model has none. */
int ls__lora_save(const ls__model_view *of, const char *path, int notes,
                  const ls_setting *note);

/* The values of a file's adapters, to where the parameters of a graph lie.
 * Values are as they were unless all is good. */
int ls__lora_load(const ls_graph *graph, const ls__params *layout, float *value,
                  const char *path);

/* The model without adapters, its weights with them. */
int ls__lora_merge(const ls__model_view *of, const char *path, int notes,
                   const ls_setting *note);

#endif

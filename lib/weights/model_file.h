/* SPDX-License-Identifier: BSD-3-Clause */
/* A model as a file: its weights, and in their metadata its graph.  Any reader
 * of safetensors finds the weights; docs/model-file.md says the rest. */
#ifndef LS_WEIGHTS_MODEL_FILE_H
#define LS_WEIGHTS_MODEL_FILE_H

#include "state/model_view.h"

/* LS_ENOTSUP: the model is a function of the user's, or has operators of the
 * user's.  What was there stays if this fails. */
int ls__model_save(const ls__model_view *of, const char *path, int notes,
                   const ls_setting *note);

/* The text of a graph that a file of this path is to have, to be freed;
 * messages begin with the path. */
int ls__model_graph(const ls_graph *graph, const char *path, char **text);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A network in ONNX: F.onnx, or F.onnx:steps=64,height=32 with the sizes of
 * axes that the file gives a name only. */
#ifndef TOOLS_ONNX_FILE_H
#define TOOLS_ONNX_FILE_H

#include <lockstep/onnx.h>

#include <stdbool.h>

typedef struct onnx_file {
    ls_onnx *onnx;
    ls_graph *graph; /* built on it; NULL: given to somebody else */
} onnx_file;

/* Is a path that of such a file, by its name? */
bool onnx_file_is(const char *path);

/* Read it and build its graph, by options whose sizes are the path's.
 * OPT_FAILED after a message that has all of what is not read. */
int onnx_file_open(onnx_file *f, const char *path, const ls_onnx_options *o);

/* The same, and a predictor with its weights; all three are to be closed. */
int onnx_file_predictor(onnx_file *f, const char *path, ls_graph **graph,
                        ls_predictor **predictor);

/* Accepts a cleared one. */
void onnx_file_close(onnx_file *f);

#endif

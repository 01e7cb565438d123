/* SPDX-License-Identifier: BSD-3-Clause */
/* A model that is open: its file, what was refused, and the graph's ends. */
#include "base/error.h"
#include "import/reader.h"

#include <stdlib.h>
#include <string.h>

void ls__onnx_forget(ls_onnx *file)
{
    for (int i = 0; i < file->problems; i++)
        free(file->problem[i]);
    free(file->problem);
    free(file->axes);
    file->axes = NULL;
    file->problem = NULL;
    file->problems = file->ends = file->weights = 0;
}

static int open_file(ls_onnx **onnx, const char *path, const void *bytes,
                     size_t size)
{
    ls_onnx *file = ls__new(1, sizeof *file, "an ONNX model");
    int status = file ? ls__om_open(&file->om, path, bytes, size) : LS_ENOMEM;

    if (status < 0)
        ls_onnx_close(file);
    else
        *onnx = file;
    return status;
}

int ls_onnx_open(ls_onnx **onnx, const char *path)
{
    LS__NEED(onnx);
    LS__NEED(path);
    return open_file(onnx, path, NULL, 0);
}

int ls_onnx_open_memory(ls_onnx **onnx, const void *data, size_t bytes)
{
    LS__NEED(onnx);
    LS__NEED(data);
    return open_file(onnx, NULL, data, bytes);
}

void ls_onnx_close(ls_onnx *onnx)
{
    if (!onnx)
        return;
    ls__onnx_forget(onnx);
    free(onnx->weight);
    ls__arena_free(&onnx->arena);
    ls__om_close(&onnx->om);
    free(onnx);
}

const char *ls_onnx_problem(const ls_onnx *onnx, int i)
{
    LS__NEED_OR(onnx, NULL);
    return i >= 0 && i < onnx->problems ? onnx->problem[i] : NULL;
}

const char *ls_onnx_beside(const ls_onnx *onnx, int i)
{
    LS__NEED_OR(onnx, NULL);
    return i >= 0 && i < onnx->om.besides ? onnx->om.beside[i].name : NULL;
}

ls_node *ls_onnx_node(const ls_onnx *onnx, const char *name)
{
    LS__NEED_OR(onnx, NULL);
    for (int i = onnx->ends; i-- > 0;)
        if (name ? !strcmp(onnx->end[i].name, name)
                 : onnx->ends - i == onnx->om.outputs)
            return onnx->end[i].node;
    ls__fail(LS_ENOTFOUND, "the graph has no input or output \"%s\"",
             name ? name : "");
    return NULL;
}

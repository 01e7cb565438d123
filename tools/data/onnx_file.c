/* SPDX-License-Identifier: BSD-3-Clause */
/* See onnx_file.h. */
#include "data/onnx_file.h"
#include "data/data.h"
#include "opt/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool onnx_file_is(const char *path)
{
    size_t n = strlen(path) - strlen(data_behind(path));

    return n > 5 && strncmp(path + n - 5, ".onnx", 5) == 0;
}

/* All but the first, which is the message. */
static void tell_problems(const ls_onnx *onnx, const char *file)
{
    for (int i = 1; ls_onnx_problem(onnx, i); i++)
        opt_note("%s: %s", file, ls_onnx_problem(onnx, i));
}

static int load(onnx_file *f, const char *file, const char *path,
                const ls_onnx_options *options)
{
    ls_onnx_options o = *options;
    const char *sizes = data_behind(path), *problem;
    int status = ls_onnx_open(&f->onnx, file);

    o.sizes = *sizes ? sizes + 1 : NULL;
    if (status == 0)
        status = ls_graph_load_onnx(&f->graph, f->onnx, &o);
    problem = status < 0 && f->onnx ? ls_onnx_problem(f->onnx, 0) : NULL;
    if (!problem)
        return opt_check(status);
    tell_problems(f->onnx, file);
    return opt_fail(OPT_FAILED, "%s: %s%s", file, problem,
                    strstr(problem, "give sizes") ? " behind the file's name, "
                    "as net.onnx:steps=64" : "");
}

int onnx_file_open(onnx_file *f, const char *path, const ls_onnx_options *o)
{
    char *file = data_file(path);
    int status;

    *f = (onnx_file){NULL, NULL};
    if (!file)
        return opt_no_memory("the names of files");
    status = load(f, file, path, o);
    if (status != OPT_GO)
        onnx_file_close(f);
    free(file);
    return status;
}

int onnx_file_predictor(onnx_file *f, const char *path, ls_graph **graph,
                        ls_predictor **predictor)
{
    const ls_onnx_options o = ls_onnx_defaults();
    int status = onnx_file_open(f, path, &o);

    *graph = f->graph;
    f->graph = NULL;
    if (status == OPT_GO)
        status = opt_check(ls_predictor_open_graph(predictor, *graph, NULL));
    return status == OPT_GO
               ? opt_check(ls_predictor_load_onnx(*predictor, f->onnx))
               : status;
}

void onnx_file_close(onnx_file *f)
{
    ls_graph_free(f->graph);
    ls_onnx_close(f->onnx);
    *f = (onnx_file){NULL, NULL};
}

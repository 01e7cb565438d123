/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictors whose weights come from files. */
#include "base/error.h"
#include "weights/lora_file.h"
#include "weights/weights_file.h"
#include "predict/fill.h"
#include <lockstep/lora.h>
#include <lockstep/model.h>

#include <string.h>

/* The sources of weights. */
typedef struct files {
    const char *weights, *adapters; /* NULL: there are none */
} files;

static int fill(void *user, const ls_graph *graph, const ls__params *layout,
                float *value)
{
    const files *f = user;
    int status = 0;

    if (f->weights)
        status = ls__weights_load(layout, value, f->weights,
                                  f->adapters ? LS_LORA_REST : NULL);
    else
        memset(value, 0, (size_t)layout->floats * sizeof *value);
    if (status == 0 && f->adapters)
        status = ls__lora_load(graph, layout, value, f->adapters);
    return status;
}

int ls_predictor_open_graph(ls_predictor **predictor, const ls_graph *graph,
                            const char *weights)
{
    LS__NEED(predictor);
    LS__NEED(graph);

    files f = {weights, NULL};

    return ls__predictor_fill(predictor, graph, fill, &f);
}

/* Open one on the graph of a model file, with adapters or, NULL, without. */
static int open_files(ls_predictor **predictor, const char *path,
                      const char *adapters)
{
    files f = {path, adapters};
    ls_graph *g;
    int status = ls_graph_load(&g, path);

    if (status < 0)
        return status;
    if (adapters)
        status = ls_lora_add_saved(g, adapters);
    if (status == 0)
        status = ls__predictor_fill(predictor, g, fill, &f);
    ls_graph_free(g);
    return status;
}

int ls_predictor_load(ls_predictor **predictor, const char *path)
{
    LS__NEED(predictor);
    LS__NEED(path);
    return open_files(predictor, path, NULL);
}

int ls_predictor_load_lora(ls_predictor **predictor, const char *path,
                           const char *adapters)
{
    LS__NEED(predictor);
    LS__NEED(path);
    LS__NEED(adapters);
    return open_files(predictor, path, adapters);
}

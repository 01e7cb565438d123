/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a model with its graph, and reading both. */
#include "weights/model_file.h"
#include "base/error.h"
#include "model/graph_json.h"
#include "file/safetensors.h"
#include "graph/standing.h"
#include "weights/lora_file.h"
#include "weights/weights_file.h"
#include <lockstep/model.h>

#include <stdio.h>
#include <stdlib.h>

int ls__model_graph(const ls_graph *graph, const char *path, char **text)
{
    char message[LS__MESSAGE];
    int status = ls__graph_write(graph, text);

    if (status == 0)
        return 0;
    snprintf(message, sizeof message, "%s", ls_errmsg());
    return ls__fail(status, "%s: %s", path, message);
}

int ls__model_save(const ls__model_view *of, const char *path, int notes,
                   const ls_setting *note)
{
    char *text = NULL;
    int status;

    if (!of->graph)
        return ls__fail(LS_ENOTSUP, "%s: a gradient function of your own has "
                        "no graph that could be written", path);
    if ((status = ls__model_graph(of->graph, path, &text)) < 0)
        return status;
    status = ls__weights_save(of, path, text, notes, note);
    free(text);
    return status;
}

/* ------ reading ------ */

/* A graph with parameters too large for the file is not its own: nobody should
 * go on to allocate them. */
static int check_size(const ls_graph *g, const ls__safetensors *file,
                      const char *path)
{
    int64_t held = 0;

    for (int i = 0; i < file->count; i++)
        held += file->entry[i].elements;
    if (!ls__graph_exceeds(g, held))
        return 0;
    return ls__fail(LS_EFORMAT, "%s: the graph has more parameters than the "
                    "%lld numbers in the file", path, (long long)held);
}

static int read_graph(ls_graph **graph, const ls__safetensors *file,
                      const char *path)
{
    const char *text = ls__safetensors_meta(file, LS__GRAPH_KEY);
    ls_graph *g = NULL;
    int status;

    if (!text)
        return ls__fail(LS_ENOTFOUND, "%s: has %s but no graph (no \"%s\" in "
                        "its metadata)", path,
                        ls__safetensors_meta(file, LS__LORA_KEY)
                            ? "adapters of another file" : "weights",
                        LS__GRAPH_KEY);
    if ((status = ls__graph_read(&g, text, path)) < 0)
        return status;
    if ((status = check_size(g, file, path)) < 0) {
        ls_graph_free(g);
        return status;
    }
    *graph = g;
    return 0;
}

int ls_graph_load(ls_graph **graph, const char *path)
{
    LS__NEED(graph);
    LS__NEED(path);

    ls__safetensors file;
    int status;

    if ((status = ls__safetensors_read(&file, path)) < 0)
        return status;
    status = read_graph(graph, &file, path);
    ls__safetensors_free(&file);
    return status;
}

/* The graph is read alone first, and so checked as a whole. */
static int add_saved(ls_node *x, const char *scope, const char *path,
                     ls_node **output)
{
    ls__safetensors file;
    ls_graph *alone = NULL;
    int status = ls__safetensors_read(&file, path);

    if (status < 0)
        return status;
    if ((status = read_graph(&alone, &file, path)) == 0)
        status = ls__graph_read_on(
            x, scope, ls__safetensors_meta(&file, LS__GRAPH_KEY), path, output);
    ls_graph_free(alone);
    ls__safetensors_free(&file);
    return status;
}

ls_node *ls_graph_add_saved(ls_node *x, const char *scope, const char *path)
{
    ls_node *output = NULL;
    ls_graph *g;
    int status;

    if (!ls__node_stands(x))
        return NULL;
    g = ls__graph_of(x);
    LS__NEED_OR(scope, ls__graph_failed(g, LS_EINVAL));
    LS__NEED_OR(path, ls__graph_failed(g, LS_EINVAL));
    ls__undo_enter(g);
    if ((status = add_saved(x, scope, path, &output)) < 0)
        output = ls__graph_failed(g, status);
    return ls__undo_leave(g, output);
}

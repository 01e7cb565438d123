/* See norm_fold.h.  The graph is copied and loses its norms one by one, in the
 * order of nodes; the values, a copy too, keep the layout of the model until
 * what is left of them is laid out anew.  A layer that has no bias takes over
 * the norm's, which is renamed. */
#include "model/norm_fold.h"
#include "base/error.h"
#include "graph/edit.h"
#include "graph/op.h"
#include "model/model_file.h"
#include "model/torch_norm.h"

#include <stdlib.h>
#include <string.h>

enum { SCALE, BIAS, MEAN, VARIANCE, PARAMS };

typedef struct fold {
    const ls__model *model;
    ls_graph *graph;
    float *value;   /* as model->value */
    ls__param **at; /* [declared in the model] the copy's parameter */
} fold;

/* Has nobody else a parameter of the node's? */
static bool has_own(const ls_graph *g, const ls_node *n)
{
    for (int k = 0; k < n->params; k++)
        if (ls__edit_users(g, n->param[k]) > 1)
            return false;
    return true;
}

/* Is it a batch norm that can become part of what it reads? */
static bool folds(const ls_graph *g, const ls_node *n)
{
    const ls_node *layer = n->in[0];

    return ls__is_op(n, "batch_norm") &&
           (ls__is_op(layer, "dense") || ls__is_op(layer, "conv2d")) &&
           ls__edit_readers(g, layer) == 1 && has_own(g, n) &&
           has_own(g, layer);
}

/* ------ values ------ */

static float *value_of(const fold *f, int param)
{
    const ls__param *p = f->graph->params[param];
    int declared = 0;

    while (f->at[declared] != p)
        declared++;
    return f->value +
           ls__params_declared(&f->model->params, declared)->offset;
}

/* The norm's numbers, to be freed. */
static int take_norm(const fold *f, const ls_node *n, ls__torch_norm *norm)
{
    static const int order[PARAMS] = {MEAN, VARIANCE, SCALE, BIAS};
    size_t c = (size_t)ls__width(n);

    *norm = (ls__torch_norm){
        .n = ls__width(n), .epsilon = ls__attribute_number(n, "epsilon")};
    norm->values = ls__new(c, PARAMS * sizeof *norm->values, "batch norm");
    if (!norm->values)
        return LS_ENOMEM;
    for (int k = 0; k < PARAMS; k++)
        memcpy(norm->values + (size_t)k * c, value_of(f, n->param[order[k]]),
               c * sizeof *norm->values);
    return 0;
}

static int fold_values(const fold *f, const ls_node *layer, const ls_node *n)
{
    int bias = layer->params > 1 ? layer->param[1] : n->param[BIAS];
    int64_t size = f->graph->params[layer->param[0]]->size;
    ls__torch_norm norm;

    if (take_norm(f, n, &norm) < 0)
        return LS_ENOMEM;
    if (layer->params < 2)
        memset(value_of(f, bias), 0, (size_t)norm.n * sizeof(float));
    ls__torch_norm_weights(&norm, size / norm.n, value_of(f, layer->param[0]));
    ls__torch_norm_bias(&norm, value_of(f, bias));
    free(norm.values);
    return 0;
}

/* ------ the graph ------ */

/* The norm's bias is the layer's: requests follow the order of nodes. */
static int take_bias(ls_graph *g, ls_node *layer, const ls_node *n)
{
    ls__param *p = g->params[n->param[BIAS]];
    int first = g->params[layer->param[0]]->request + 1, last = p->request;

    for (int i = 0; i < g->param_count; i++)
        if (g->params[i]->request >= first && g->params[i]->request < last)
            g->params[i]->request++;
    for (int i = 0; i < g->stream_count; i++)
        if (g->streams[i]->request >= first && g->streams[i]->request < last)
            g->streams[i]->request++;
    p->request = first;
    if (!(p->name = ls__path(g, layer->name, "bias")))
        return LS_ENOMEM;
    *(bool *)ls__attribute_named(layer, "bias") = true;
    layer->param[layer->params++] = n->param[BIAS];
    return 0;
}

/* The parameters of a node that is gone, the last first. */
static void drop_params(ls_graph *g, const ls_node *n, int kept)
{
    for (int i = g->param_count - 1; i >= 0; i--)
        for (int k = 0; k < PARAMS; k++)
            if (n->param[k] == i && i != kept)
                ls__edit_drop_param(g, i);
}

static int fold_node(fold *f, ls_node *n)
{
    ls_graph *g = f->graph;
    ls_node *layer = n->in[0];
    bool had_bias = layer->params > 1;

    if (fold_values(f, layer, n) < 0 ||
        (!had_bias && take_bias(g, layer, n) < 0))
        return LS_ENOMEM;
    ls__edit_redirect(g, n, layer);
    ls__edit_drop_node(g, n);
    drop_params(g, n, had_bias ? -1 : n->param[BIAS]);
    return 0;
}

/* ------ all of it ------ */

static int make_room(fold *f)
{
    size_t floats = (size_t)f->model->params.floats;
    size_t count = (size_t)f->graph->param_count;

    f->at = ls__new(count, sizeof *f->at, "parameters");
    f->value = ls__block(floats * sizeof *f->value, "folded parameters");
    if (!f->at || !f->value)
        return LS_ENOMEM;
    memcpy(f->at, f->graph->params, count * sizeof(ls__param *));
    memcpy(f->value, f->model->value, floats * sizeof *f->value);
    return 0;
}

static int fold_all(fold *f)
{
    ls_graph *g = f->graph;
    int status = 0;

    for (int i = 0; i < g->node_count && status == 0; i++)
        if (folds(g, g->nodes[i]))
            status = fold_node(f, g->nodes[i--]);
    return status;
}

/* What is left, laid out anew. */
static int lay_out(const fold *f, ls__model *to)
{
    int status = ls__model_lay_out(to);

    for (int i = 0; status == 0 && i < to->params.count; i++) {
        const ls__slot *s = ls__params_declared(&to->params, i);

        memcpy(to->value + s->offset, value_of(f, i),
               (size_t)s->size * sizeof *to->value);
    }
    return status;
}

int ls__norm_fold_save(const ls__model *m, const char *path)
{
    fold f = {.model = m};
    ls__model to = {0};
    int status;

    if (!m->graph)
        return ls__model_save(m, path, 0, NULL); /* refuses it */
    if ((status = ls__graph_copy(&to.graph, m->graph)) < 0)
        return status;
    f.graph = to.graph;
    if ((status = make_room(&f)) == 0 && (status = fold_all(&f)) == 0 &&
        (status = lay_out(&f, &to)) == 0)
        status = ls__model_save(&to, path, 0, NULL);
    free(f.at);
    ls__block_free(f.value);
    ls__model_close(&to);
    return status;
}

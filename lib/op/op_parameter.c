/* SPDX-License-Identifier: BSD-3-Clause */
/* A parameter as a node: its value is the same in every row, and its gradient
 * is the column sum over rows, chunk by chunk. */
#include "graph/undo.h"
#include "base/assert.h"
#include "op/op_table.h"

#include <string.h>

typedef struct parameter {
    ls__extents shape;
    bool is_constant; /* no optimizer moves it */
} parameter;

static int parameter_shape(ls_node *n)
{
    const parameter *of = n->of;

    if (!*n->name)
        return ls__fail(LS_EINVAL, "a parameter of the graph has no name");
    if (of->shape.rank < 0 || of->shape.rank >= LS_MAX_RANK)
        return ls__fail(LS_EINVAL, "parameter \"%s\": rank %d; it must be "
                        "0..%d", n->name, of->shape.rank, LS_MAX_RANK - 1);
    return ls__node_set_shape(n, LS_F32, of->shape.rank, of->shape.of);
}

static ls_node *parameter_declare(ls_node *n)
{
    int64_t out = ls__width(n);

    LS__ASSERT(n->rank < LS_MAX_RANK);
    n = ls__node_param(n, "", LS__INIT_ZEROS, n->size / out, out, n->rank,
                       n->shape);
    if (n && ((const parameter *)n->of)->is_constant)
        n->graph->params[n->param[0]]->is_stored = true;
    return n;
}

static void parameter_fwd(const ls__run *r)
{
    int64_t n = r->node->size;

    for (int64_t i = 0; i < r->rows; i++)
        memcpy(r->y + i * n, r->param[0], (size_t)n * sizeof *r->y);
}

static void parameter_bwd(const ls__run *r)
{
    if (r->dparam[0])
        r->kernels->column_sum(r->rows, r->node->size, r->dy, r->add,
                               r->dparam[0]);
}

/* Shorter rows are not worth blocks of their own. */
static bool parameter_runs(const ls_node *n, ls__runs *runs)
{
    *runs = (ls__runs){n->size, 1};
    return n->size >= 64;
}

static const ls__attribute attributes[] = {
    LS__FIELD("shape", LS__SIZES, parameter, shape),
    LS__FIELD_IF("constant", parameter, is_constant), {0}};

const ls__op ls__op_parameter = {
    .name = "parameter", .of = sizeof(parameter), .shape = parameter_shape,
    .declare = parameter_declare,
    .plan = {.runs = parameter_runs},
    .run = {.forward = parameter_fwd, .backward = parameter_bwd, .cuts = 1,
            .leaves_params = true},
    .file = {.attributes = attributes}};

static ls_node *make(const char *function, ls_graph *graph, const char *name,
                     parameter of, const int64_t *shape)
{
    int rank = of.shape.rank;

    if (!name || (rank > 0 && !shape))
        return ls__graph_null(graph, function, name ? "shape" : "name");
    if (graph->status)
        return NULL;
    if (rank > 0 && rank <= LS_MAX_RANK)
        memcpy(of.shape.of, shape, (size_t)rank * sizeof *shape);
    ls__undo_mark(graph, NULL);
    return ls__node_with(ls__node_source(graph, &ls__op_parameter, name), &of);
}

ls_node *ls_parameter(ls_graph *graph, const char *name, int rank,
                      const int64_t *shape)
{
    LS__NEED_OR(graph, NULL);
    return make(__func__, graph, name, (parameter){{.rank = rank}, false},
                shape);
}

ls_node *ls_buffer(ls_graph *graph, const char *name, int rank,
                   const int64_t *shape)
{
    LS__NEED_OR(graph, NULL);
    return make(__func__, graph, name, (parameter){{.rank = rank}, true},
                shape);
}

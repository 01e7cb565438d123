/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing models. */
#include "model/ls_model.h"
#include "base/assert.h"
#include "backend/backend.h"
#include "base/error.h"
#include "graph/edit.h"

#include <stdlib.h>
#include <string.h>

void ls__model_close(ls__model *m)
{
    ls__block_free(m->value);
    ls__block_free(m->weights.packed);
    ls__plan_free(m->plan);
    ls_graph_free(m->graph);
    ls__params_free(&m->params);
    ls__arena_free(&m->arena);
    *m = (ls__model){0};
}

const ls__input *ls__model_input(const ls__model *m, const char *name)
{
    for (int i = 0; i < m->inputs; i++)
        if (!strcmp(m->input[i].name, name))
            return &m->input[i];
    ls__fail(LS_ENOTFOUND, "no input is named \"%s\"; the first is \"%s\"",
             name, m->inputs ? m->input[0].name : "");
    return NULL;
}

/* ------ memory ------ */

static int make_inputs(ls__model *m, int inputs)
{
    m->inputs = inputs;
    m->input = ls__arena_new(&m->arena, (size_t)inputs, sizeof *m->input);
    return m->input ? 0 : LS_ENOMEM;
}

static int make_values(ls__model *m)
{
    size_t bytes;

    if (!ls__mul((size_t)m->params.floats, sizeof(float), &bytes))
        return ls__no_memory("parameters", SIZE_MAX);
    if (!(m->value = ls__block(bytes, "parameters")))
        return LS_ENOMEM;
    bytes = m->plan ? (size_t)m->plan->packs.floats * sizeof(float) : 0;
    if (bytes && !(m->weights.packed = ls__block(bytes, "packed weights")))
        return LS_ENOMEM;
    return 0;
}

static int make_params(ls__model *m, int count, const ls_array_spec *spec)
{
    int status = ls__params_new(&m->params, count, spec);
    const float **of;

    if (status < 0)
        return status;
    of = ls__arena_new(&m->arena, (size_t)count, sizeof *of);
    if (!of || make_values(m) < 0)
        return LS_ENOMEM;
    for (int i = 0; i < count; i++)
        of[i] = m->value + ls__params_declared(&m->params, i)->offset;
    m->weights.of = of;
    return 0;
}

/* ------ from a graph ------ */

/* Is an input read only by operators that ignore indices below 0? */
static bool is_ignored(const ls__plan *plan, const ls_node *input)
{
    bool read = false;

    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        for (int k = 0; k < n->op->inputs; k++)
            if (n->in[k] == input) {
                if (!(n->op->ignores >> k & 1))
                    return false;
                read = true;
            }
    }
    return read;
}

/* Does an operator need an input to be finite? */
static bool is_finite(const ls__plan *plan, const ls_node *input)
{
    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        for (int k = 0; k < n->op->inputs; k++)
            if (n->in[k] == input && n->op->rare &&
                n->op->rare->finite >> k & 1)
                return true;
    }
    return false;
}

static int graph_inputs(ls__model *m)
{
    if (make_inputs(m, m->plan->inputs) < 0)
        return LS_ENOMEM;
    LS__ASSERT(m->inputs == m->plan->inputs);
    for (int i = 0; i < m->inputs; i++) {
        const ls_node *n = m->plan->input[i];

        m->input[i] = (ls__input){n->name, n->dtype, n->rank, {0}, n->size,
                                  n->limit, is_ignored(m->plan, n),
                                  is_finite(m->plan, n)};
        memcpy(m->input[i].shape, n->shape, sizeof n->shape);
    }
    return 0;
}

static int graph_params(ls__model *m)
{
    int count = m->graph->param_count, status;
    ls_array_spec *spec = ls__new((size_t)count, sizeof *spec, "parameters");

    if (!spec)
        return LS_ENOMEM;
    for (int i = 0; i < count; i++) {
        const ls__param *p = m->graph->params[i];

        spec[i] = (ls_array_spec){p->name, LS_F32, p->rank, {0}};
        memcpy(spec[i].shape, p->shape, sizeof p->shape);
    }
    status = make_params(m, count, spec);
    free(spec);
    return status;
}

int ls__model_open(ls__model *m, const ls_graph *graph,
                   const ls__model_options *o)
{
    ls__backend backend;
    int status;

    *m = (ls__model){0};
    if ((status = ls__backend_find(&backend, o->backend, o->precision)) < 0 ||
        (status = ls__plan_new(&m->plan, graph, &backend, o->purpose,
                               o->frozen)) < 0 ||
        (status = ls__graph_copy(&m->graph, graph)) < 0)
        return status;
    m->metrics = m->plan->metrics;
    if ((status = graph_inputs(m)) < 0)
        return status;
    return graph_params(m);
}

/* ------ of a function of the user's ------ */

static int check_input(const ls_array_spec *s, const ls__input *in)
{
    char text[LS__SHAPE_TEXT];
    bool ranked = s->rank >= 0 && s->rank <= LS_MAX_RANK;

    if ((s->dtype == LS_F32 || s->dtype == LS_I32) && ranked && in->size > 0)
        return 0;
    return ls__fail(LS_EINVAL, "input \"%s\": dtype %d, rank %d, row %s",
                    in->name, (int)s->dtype, s->rank,
                    ls__shape_text(text, ranked ? s->rank : 0, s->shape));
}

static int own_input(ls__model *m, const ls_array_spec *s, ls__input *in)
{
    bool ranked = s->rank >= 0 && s->rank <= LS_MAX_RANK;

    in->name = ls__arena_text(&m->arena, s->name ? s->name : "");
    if (!in->name)
        return LS_ENOMEM;
    in->dtype = s->dtype;
    in->rank = s->rank;
    in->size = ranked ? ls__count(s->rank, s->shape) : 0;
    in->limit = INT64_C(1) << 31;
    memcpy(in->shape, s->shape, sizeof in->shape);
    return check_input(s, in);
}

int ls__model_open_own(ls__model *m, const ls_gradient *g)
{
    int status = 0;

    *m = (ls__model){.metrics = LS_METRICS};
    if (make_inputs(m, g->n_inputs) < 0)
        return LS_ENOMEM;
    for (int i = 0; i < m->inputs && status == 0; i++)
        status = own_input(m, &g->inputs[i], &m->input[i]);
    return status < 0 ? status : make_params(m, g->n_params, g->params);
}

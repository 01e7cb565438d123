/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion: the nodes that a plan computes, copies of those that the loss and the
 * outputs depend on, with activations, adds and poolings in the fused epilogue
 * of the product before them. */
#include "base/assert.h"
#include "plan/planner.h"

#include <string.h>

/* ------ copy ------ */

static void mark(ls__planner *p, int id)
{
    ls_node *n = &p->node[id];

    p->used[id] = true;
    for (int k = 0; k < ls__inputs_of(n); k++)
        p->used[n->in[k]->id] = true;
}

static void read_from_outside(ls__planner *p, const ls_node *n)
{
    p->used[n->id] = true;
    p->consumers[n->id]++;
}

bool ls__planner_moves(const ls__planner *p, int param)
{
    return p->plan->purpose != LS__TO_INPUTS &&
           (!p->frozen || !p->frozen[param]);
}

/* Is the gradient of any parameter of a node wanted? */
static bool trains(const ls__planner *p, const ls_node *n)
{
    for (int k = 0; k < n->params; k++)
        if (ls__planner_moves(p, n->param[k]))
            return true;
    return false;
}

static bool is_wanted(const ls__planner *p, const ls_node *n)
{
    return p->plan->purpose == LS__TO_INPUTS && !n->op && n->dtype == LS_F32;
}

static int copy_nodes(ls__planner *p)
{
    const ls_graph *g = p->graph;

    for (int i = 0; i < g->node_count; i++) {
        ls_node *n = &p->node[i];

        *n = *g->nodes[i];
        n->graph = NULL;
        n->name = ls__arena_text(&p->plan->arena, n->name);
        if (!n->name || !ls__node_own(n, &p->plan->arena))
            return LS_ENOMEM;
        if (n->op && n->op->plan.made &&
            !(p->made[i] = ls__arena_new(&p->plan->arena, 1, n->op->plan.made)))
            return LS_ENOMEM;
        for (int k = 0; k < LS__MAX_INPUTS; k++)
            n->in[k] = n->in[k] ? &p->node[n->in[k]->id] : NULL;
    }
    if (p->loss)
        p->used[p->loss->id] = true;
    for (int i = 0; i < g->output_count; i++)
        read_from_outside(p, g->outputs[i]->node);
    for (int i = 0; i < p->plan->metrics; i++)
        read_from_outside(p, g->metric[i]);
    for (int i = g->node_count - 1; i >= 0; i--)
        if (p->used[i])
            mark(p, i);
    for (int i = 0; i < g->node_count; i++) {
        ls_node *n = &p->node[i];

        p->home[i] = i;
        p->trains[i] = trains(p, n) || is_wanted(p, n);
        for (int k = 0; p->used[i] && k < ls__inputs_of(n); k++) {
            p->consumers[n->in[k]->id]++;
            p->trains[i] |= p->trains[n->in[k]->id];
        }
    }
    return 0;
}

static int copy_streams(ls__planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;

    plan->streams.n = g->stream_count;
    plan->streams.of = ls__arena_new(&plan->arena, (size_t)plan->streams.n + 1,
                                 sizeof *plan->streams.of);
    plan->streams.draw = ls__arena_new(&plan->arena,
                                       (size_t)plan->streams.n + 1,
                               sizeof *plan->streams.draw);
    if (!plan->streams.of || !plan->streams.draw)
        return LS_ENOMEM;
    for (int i = 0; i < plan->streams.n; i++) {
        plan->streams.of[i] = *g->streams[i];
        plan->streams.of[i].scope = ls__arena_text(&plan->arena,
                                               g->streams[i]->scope);
        if (!plan->streams.of[i].scope)
            return LS_ENOMEM;
    }
    return 0;
}

static int copy_specs(ls__planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;

    plan->inputs = g->input_count;
    plan->params = g->param_count;
    plan->input = ls__arena_new(&plan->arena, (size_t)plan->inputs,
                                sizeof *plan->input);
    plan->param = ls__arena_new(&plan->arena, (size_t)plan->params,
                                sizeof *plan->param);
    plan->input_gradient = ls__arena_new(&plan->arena, (size_t)plan->inputs,
                                         sizeof *plan->input_gradient);
    if (!plan->input || !plan->param || !plan->input_gradient)
        return LS_ENOMEM;
    for (int i = 0; i < plan->inputs; i++)
        plan->input[i] = &p->node[g->inputs[i]->id];
    for (int i = 0; i < plan->params; i++) {
        ls__param *q = &plan->param[i];

        *q = *g->params[i];
        q->name = ls__arena_text(&plan->arena, q->name);
        q->scope = ls__arena_text(&plan->arena, q->scope);
        if (!q->name || !q->scope)
            return LS_ENOMEM;
    }
    return 0;
}

int ls__plan_copy(ls__planner *p)
{
    int status = copy_nodes(p);

    if (status == 0)
        status = copy_specs(p);
    return status < 0 ? status : copy_streams(p);
}

/* ------ fold ------ */

/* The node that makes x, if x's only reader may be fused into it. */
static ls_node *taker_of(ls__planner *p, const ls_node *x)
{
    ls_node *d = &p->node[p->home[x->id]];

    return d->op && d->op->plan.folds && p->consumers[x->id] == 1 ? d : NULL;
}

/* Is all else that n reads made before d? */
static bool is_ready(const ls__planner *p, const ls_node *n, int input,
                     const ls_node *d)
{
    int more = ls__inputs_of(d);

    for (int k = 0; k < ls__inputs_of(n); k++)
        if (k != input && (n->in[k] == n->in[input] ||
                           p->home[n->in[k]->id] >= d->id ||
                           ++more > LS__MAX_INPUTS))
            return false;
    return true;
}

/* Gradients are added from the last reader to the first; n's would come at d's
 * place.  Does no reader between the two add to the same, or are there only two
 * in all, in whatever order? */
static bool is_in_order(const ls__planner *p, const ls_node *n, int input,
                        const ls_node *d)
{
    bool back = p->plan->purpose != LS__TO_PREDICT;

    for (int k = 0; back && k < ls__inputs_of(n); k++) {
        const ls_node *x = n->in[k];

        if (k == input || !p->trains[x->id] || p->consumers[x->id] <= 2)
            continue;
        for (int id = d->id; id < n->id; id++)
            for (int j = 0; p->used[id] && j < ls__inputs_of(&p->node[id]); j++)
                if (p->node[id].in[j] == x)
                    return false;
    }
    return true;
}

/* Node d puts out the value of n, and reads what else that reads. */
static void take_in(ls__planner *p, ls_node *d, const ls_node *n, int input)
{
    int inputs = ls__inputs_of(d);

    LS__ASSERT(d->id < n->id && p->home[d->id] == d->id);
    for (int k = 0; k < ls__inputs_of(n); k++) {
        LS__ASSERT(k == input || inputs < LS__MAX_INPUTS);
        if (k != input)
            d->in[inputs++] = n->in[k];
    }
    d->size = n->size;
    memcpy(d->shape, n->shape, sizeof d->shape);
    p->home[n->id] = d->id;
    p->trains[d->id] = p->trains[n->id];
}

/* The last input that has a taker. */
static void fold(ls__planner *p, const ls_node *n)
{
    for (int k = ls__inputs_of(n) - 1; n->op && k >= 0; k--) {
        ls_node *d = taker_of(p, n->in[k]);

        if (d && is_ready(p, n, k, d) && is_in_order(p, n, k, d) &&
            d->op->plan.folds(d, p->made[d->id], n)) {
            take_in(p, d, n, k);
            return;
        }
    }
}

/* Redirect the readers of a node to the node that makes its value, under that
 * one's own id. */
void ls__plan_fold(ls__planner *p)
{
    for (int i = 0; i < p->graph->node_count; i++)
        if (p->used[i])
            fold(p, &p->node[i]);
    for (int i = 0; i < p->graph->node_count; i++) {
        ls_node *n = &p->node[i];
        int home = p->home[i];

        for (int k = 0; k < ls__inputs_of(n); k++)
            n->in[k] = &p->node[p->home[n->in[k]->id]];
        if (home != i) /* the folded node's readers are now home's */
            p->consumers[home] = p->consumers[i];
    }
}

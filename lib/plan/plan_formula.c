/* SPDX-License-Identifier: BSD-3-Clause */
/* Fusion of elementwise operators: a chain of them becomes a formula, which is
 * one instruction and one pass over memory.
 *
 * A node that only the chain reads joins it.  No bit changes: values are those
 * of the single operators, and so is the order in which gradients are added.
 * Therefore a node stays out if a reader between it and the chain's end adds to
 * the gradient of the same input.
 *
 * A broadcast or a parameter that only the chain reads is read in runs from its
 * source.  A sum down columns that alone reads the chain becomes its end
 * (ls__op_plan.runs). */
#include "base/assert.h"
#include "op/op_table.h"
#include "plan/planner.h"

#include <string.h>

/* A chain that grows from its last node, the head, to what comes before. */
typedef struct chain {
    ls__planner *p;
    ls_node *head;
    bool *has; /* [node] */
    const int *uses; /* [param] nodes that have it */
    int low;   /* the first node that might be a member */
    int terms, inputs, params;
    ls_node *input[LS__TERM_INPUTS]; /* the parameters last */
    ls__runs of[LS__TERM_INPUTS], sum;
} chain;

static bool runs(const ls__planner *p, int id)
{
    return p->used[id] && p->home[id] == id && p->node[id].op;
}

static bool is_elementwise(const ls__planner *p, int id)
{
    return runs(p, id) && p->node[id].op->term;
}

/* Is node id a sum that a formula may end with? */
static bool is_sum(const ls__planner *p, int id, ls__runs *sum)
{
    const ls_node *n = &p->node[id];

    return runs(p, id) && n->op->plan.runs && n->in[0] &&
           n->size < n->in[0]->size && p->consumers[n->in[0]->id] == 1 &&
           n->op->plan.runs(n, sum);
}

/* The number of a node's inputs that are x. */
static int times_read(const ls_node *n, const ls_node *x)
{
    int times = 0;

    for (int k = 0; k < ls__inputs_of(n); k++)
        times += n->in[k] == x;
    return times;
}

/* Does nobody but the chain read node e? */
static bool is_inner(const chain *c, const ls_node *e)
{
    int times = 0;

    for (int id = e->id + 1; id <= c->head->id; id++)
        if (c->has[id])
            times += times_read(&c->p->node[id], e);
    return times > 0 && times == c->p->consumers[e->id];
}

/* Does nobody from e to the head add to the gradient of what e reads? */
static bool is_in_order(const chain *c, const ls_node *e)
{
    for (int id = e->id + 1; id < c->head->id; id++)
        for (int k = 0; k < ls__inputs_of(e); k++)
            if (runs(c->p, id) && !c->has[id] && c->p->trains[e->in[k]->id] &&
                times_read(&c->p->node[id], e->in[k]))
                return false;
    return true;
}

static int place_of(const chain *c, const ls_node *x)
{
    int k = 0;

    while (k < c->inputs && c->input[k] != x)
        k++;
    return k;
}

/* Find what the members read that is not of the chain; false: too many. */
static bool find_inputs(chain *c)
{
    c->inputs = 0;
    for (int id = c->low; id <= c->head->id; id++)
        for (int k = 0; c->has[id] && k < ls__inputs_of(&c->p->node[id]); k++) {
            ls_node *x = c->p->node[id].in[k];

            if (c->has[x->id] || place_of(c, x) < c->inputs)
                continue;
            if (c->inputs == LS__TERM_INPUTS)
                return false;
            c->input[c->inputs++] = x;
        }
    return true;
}

/* Look among what a member reads for more of them. */
static void look_at(chain *c, const ls_node *member)
{
    for (int k = 0; k < ls__inputs_of(member); k++) {
        int id = member->in[k]->id;

        if (id < c->low && is_elementwise(c->p, id))
            c->low = id;
    }
}

/* Take e in if it may come, and what the chain then reads is not too much. */
static void join(chain *c, const ls_node *e)
{
    if (c->terms == LS__TERMS || !is_inner(c, e) || !is_in_order(c, e))
        return;
    c->has[e->id] = true;
    if ((c->has[e->id] = find_inputs(c))) {
        c->terms++;
        look_at(c, e);
    }
}

/* Find all members, from the head down: readers are known before a node. */
static void grow(chain *c)
{
    c->has[c->head->id] = true;
    look_at(c, c->head);
    for (int id = c->head->id - 1; id >= c->low; id--)
        if (is_elementwise(c->p, id))
            join(c, &c->p->node[id]);
}

/* ------ what is read by runs ------ */

/* Does only the chain read x's value, and only x give its input a gradient? */
static bool may_take(const chain *c, const ls_node *x)
{
    const ls__planner *p = c->p;
    const ls_node *from = x->in[0];

    if (!runs(p, x->id) || !x->op->plan.runs || !is_inner(c, x))
        return false;
    if (!from)
        return c->params < LS__MAX_PARAMS && c->uses[x->param[0]] == 1;
    return from->size <= x->size &&
           (!p->trains[from->id] || p->consumers[from->id] == 1);
}

static void swap(chain *c, int i, int k)
{
    ls_node *x = c->input[i];
    ls__runs of = c->of[i];

    c->input[i] = c->input[k];
    c->of[i] = c->of[k];
    c->input[k] = x;
    c->of[k] = of;
}

/* Find the inputs that are broadcast: parameters go to the end. */
static bool take_runs(chain *c)
{
    bool takes = false;

    c->params = 0;
    memset(c->of, 0, sizeof c->of);
    for (int k = c->inputs - 1; k >= 0; k--) {
        const ls_node *x = c->input[k];

        if (!may_take(c, x) || !x->op->plan.runs(x, &c->of[k])) {
            c->of[k].n = 0;
            continue;
        }
        takes = true;
        LS__ASSERT(!x->params || c->params < LS__MAX_PARAMS);
        if (x->params)
            swap(c, k, c->inputs - ++c->params);
    }
    return takes;
}

/* ------ the formula ------ */

/* The terms in the order of their nodes; number[] is each one's. */
static void write_terms(const chain *c, ls__formula *f, int *number)
{
    for (int id = c->low; id <= c->head->id; id++) {
        const ls_node *n = &c->p->node[id];
        int place[2] = {0};

        if (!c->has[id] || !n->op->term)
            continue;
        for (int k = 0; k < ls__inputs_of(n); k++) {
            const ls_node *x = n->in[k];

            LS__ASSERT(k < 2 && (!c->has[x->id] || number[x->id] < f->terms));
            place[k] = c->has[x->id] ? f->inputs + number[x->id]
                                     : place_of(c, x);
        }
        LS__ASSERT(f->terms < LS__TERMS);
        number[id] = f->terms;
        f->term[f->terms++] = ls__term_from(n, place[0], place[1]);
    }
}

/* The head's node reads what the chain does, by runs where it can. */
static void take_inputs(const chain *c, ls__formula *f)
{
    ls_node *head = c->head;

    memset(head->in, 0, sizeof head->in);
    for (int k = 0; k < c->inputs; k++) {
        ls_node *x = c->input[k];

        f->of[k] = c->of[k];
        f->whole &= !x->in[0] || !c->of[k].n;
        if (c->of[k].n)
            c->p->home[x->id] = head->id;
        if (k < c->inputs - c->params)
            head->in[k] = c->of[k].n ? x->in[0] : x;
        else
            head->param[head->params++] = x->param[0];
    }
}

/* The head becomes the formula, and the home of all members. */
static int close_chain(chain *c, int *number)
{
    ls__planner *p = c->p;
    ls__formula *f = ls__arena_new(&p->plan->arena, 1, sizeof *f);

    if (!f)
        return LS_ENOMEM;
    *f = (ls__formula){.inputs = c->inputs, .params = c->params, .sum = c->sum,
                       .size = (c->sum.n ? c->head->in[0] : c->head)->size,
                       .whole = !c->sum.n};
    write_terms(c, f, number);
    for (int id = c->low; id <= c->head->id; id++)
        if (c->has[id])
            p->home[id] = c->head->id;
    take_inputs(c, f);
    c->head->op = &ls__op_formula[f->whole];
    p->made[c->head->id] = f;
    return 0;
}

/* Nodes that have each parameter. */
static void count_uses(const ls__planner *p, int *uses)
{
    for (int id = 0; id < p->graph->node_count; id++)
        for (int k = 0; p->used[id] && k < p->node[id].params; k++)
            uses[p->node[id].param[k]]++;
}

int ls__plan_chain(ls__planner *p)
{
    int nodes = p->graph->node_count, status = 0;
    bool *has = ls__arena_new(&p->plan->arena, (size_t)nodes, sizeof *has);
    int *number = ls__arena_new(&p->plan->arena, (size_t)nodes,
                                sizeof *number);
    int *uses = ls__arena_new(&p->plan->arena, (size_t)p->plan->params + 1,
                              sizeof *uses);

    if (!has || !number || !uses)
        return LS_ENOMEM;
    count_uses(p, uses);
    for (int head = nodes - 1; head >= 0 && status == 0; head--) {
        chain c = {.p = p, .head = &p->node[head], .has = has, .low = head,
                   .uses = uses, .terms = is_elementwise(p, head)};

        if (!c.terms && !is_sum(p, head, &c.sum))
            continue;
        grow(&c);
        (void)find_inputs(&c); /* again: the last try may have been too much */
        if (c.terms && (take_runs(&c) || c.terms > 1 || c.sum.n))
            status = close_chain(&c, number);
        memset(has + c.low, 0, (size_t)(head + 1 - c.low) * sizeof *has);
    }
    return status;
}

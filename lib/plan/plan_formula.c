/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of elementwise operators made one: a formula, which is one instruction
 * and one pass over memory.
 *
 * A node that nobody but the chain reads joins it.  No bit changes: values are
 * those of the single operators, and so is the order in which gradients are
 * added, which is why a node stays out where somebody else, between it and the
 * chain's end, adds to the gradient of what it reads. */
#include "op/op_table.h"
#include "plan/planner.h"

#include <string.h>

/* A chain that grows from its last node, the head, to what comes before. */
typedef struct chain {
    ls__planner *p;
    ls_node *head;
    bool *has; /* [node] */
    int low;   /* the first node that might be a member */
    int terms, inputs;
    ls_node *input[LS__TERM_INPUTS];
} chain;

static bool runs(const ls__planner *p, int id)
{
    return p->used[id] && p->home[id] == id && p->node[id].op;
}

static bool is_elementwise(const ls__planner *p, int id)
{
    return runs(p, id) && ls__term_of(p->node[id].op);
}

/* How many of a node's inputs are x. */
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

/* What the members read that is not of the chain; false: too many. */
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

/* All members, from the head down: who reads a node is known before it. */
static void grow(chain *c)
{
    c->has[c->head->id] = true;
    look_at(c, c->head);
    for (int id = c->head->id - 1; id >= c->low; id--)
        if (is_elementwise(c->p, id))
            join(c, &c->p->node[id]);
}

/* The terms in the order of their nodes; number[] is each one's. */
static void write_terms(const chain *c, ls__formula *f, int *number)
{
    f->inputs = c->inputs;
    f->terms = 0;
    for (int id = c->low; id <= c->head->id; id++) {
        const ls_node *n = &c->p->node[id];
        int place[2] = {0};

        if (!c->has[id])
            continue;
        for (int k = 0; k < ls__inputs_of(n); k++) {
            const ls_node *x = n->in[k];

            place[k] = c->has[x->id] ? f->inputs + number[x->id]
                                     : place_of(c, x);
        }
        number[id] = f->terms;
        f->term[f->terms++] = ls__term_from(n, place[0], place[1]);
    }
}

/* The head becomes the formula, and the home of all members. */
static int close_chain(chain *c, int *number)
{
    ls__planner *p = c->p;
    ls__formula *f = ls__arena_new(&p->plan->arena, 1, sizeof *f);

    if (!f)
        return LS_ENOMEM;
    (void)find_inputs(c); /* again: the last try may have been too much */
    write_terms(c, f, number);
    for (int id = c->low; id <= c->head->id; id++)
        if (c->has[id])
            p->home[id] = c->head->id;
    c->head->op = &ls__op_formula;
    p->made[c->head->id] = f;
    memset(c->head->in, 0, sizeof c->head->in);
    memcpy(c->head->in, c->input, (size_t)c->inputs * sizeof *c->input);
    return 0;
}

int ls__plan_chain(ls__planner *p)
{
    int nodes = p->graph->node_count, status = 0;
    bool *has = ls__arena_new(&p->plan->arena, (size_t)nodes, sizeof *has);
    int *number = ls__arena_new(&p->plan->arena, (size_t)nodes,
                                sizeof *number);

    if (!has || !number)
        return LS_ENOMEM;
    for (int head = nodes - 1; head >= 0 && status == 0; head--) {
        chain c = {.p = p, .head = &p->node[head], .has = has, .low = head,
                   .terms = 1};

        if (!is_elementwise(p, head))
            continue;
        grow(&c);
        if (c.terms > 1)
            status = close_chain(&c, number);
        memset(has + c.low, 0, (size_t)(head + 1 - c.low) * sizeof *has);
    }
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a plan by liveness: each output, stash and gradient has a lifetime,
 * from the instruction that writes it first to the one that reads it last
 * (forward runs at 0 .. n-1, backward of instruction i at 2n-1-i), and lies at
 * the lowest offset that no value alive at the same time uses, the largest
 * first.
 *
 * A gradient written over the memory of another (its addend, dy or x) is one
 * value with it; that is allowed when nobody reads the other afterwards. */
#include "base/assert.h"
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

/* ------ values ------ */

static int new_value(ls__planner *p, int64_t row_size, int time)
{
    int64_t size = (row_size * p->plan->chunk_rows + 15) / 16 * 16;

    LS__ASSERT(p->value_count < (2 + LS__MAX_INPUTS) * p->graph->node_count);
    p->values[p->value_count] = (ls__value){size, time, time, -1};
    return p->value_count++;
}

static void reads(ls__planner *p, int v, int time)
{
    if (v >= 0 && p->values[v].last < time)
        p->values[v].last = time;
}

/* The time of instruction i's backward; without backward, of itself. */
static int back_of(const ls__plan *plan, int i)
{
    return plan->purpose == LS__TO_PREDICT ? i : 2 * plan->count - 1 - i;
}

/* May a node write over the value of its first input? */
static bool owns_x(const ls__planner *p, const ls_node *n)
{
    const ls_node *x = n->in[0];

    return n->op->plan.over & LS__KEPT_OVER_X && x->op &&
           !ls__is_view(x->op) && !x->op->plan.reads_y &&
           p->consumers[x->id] == 1 && !ls__planner_is_plain(p);
}

/* Is a value left to its readers to make (ls__op_rare.lends)?  Then it is one
 * with that of its input. */
static bool lends(const ls__planner *p, const ls__instr *in)
{
    const ls__instr *end = p->plan->instr + p->plan->count;
    const ls__op_rare *rare = in->node->op->rare;
    int readers = 0;

    if (!rare || !rare->lends || in->inputs > 1 || !in->node->in[0]->op ||
        ls__planner_is_plain(p))
        return false;
    for (const ls__instr *r = in + 1; r < end; r++)
        readers += r->node->in[0] == in->node && r->node->op->rare &&
                   r->node->op->rare->borrows;
    return readers > 0 && readers == p->consumers[in->node->id];
}

static const ls__instr *lender_of(const ls__planner *p, const ls_node *x)
{
    const ls__instr *in = x && x->op ? &p->plan->instr[p->instr[x->id]] : NULL;

    return in && in->lends ? in : NULL;
}

static void forward_values(ls__planner *p)
{
    ls__plan *plan = p->plan;

    for (int i = 0; i < plan->count; i++) {
        ls__instr *in = &plan->instr[i];
        const ls_node *n = in->node;
        int back = back_of(plan, i);

        in->lends = lends(p, in);
        in->x[0].lender = lender_of(p, n->in[0]);
        in->over_x = owns_x(p, n);
        in->kept = n->op->plan.stash ? n->op->plan.stash(&p->bench, in) : 0;
        for (int k = 0; k < in->inputs; k++) {
            reads(p, p->y[n->in[k]->id], i);
            if (n->op->is_loss || n->op->plan.reads >> k & 1 ||
                (in->over_x && k == 0))
                reads(p, p->y[n->in[k]->id], back);
        }
        if (in->lends || (ls__is_view(n->op) && n->in[0]->op &&
                          !ls__planner_is_plain(p)))
            p->y[n->id] = p->y[n->in[0]->id];
        else if (!n->op->is_loss)
            p->y[n->id] = new_value(p, in->is_bf16 ? n->size / 2 : n->size, i);
        if (n->op->plan.reads_y)
            reads(p, p->y[n->id], back);
        if (in->kept) {
            p->stash[n->id] = new_value(p, in->kept, i);
            reads(p, p->stash[n->id], back);
        }
        p->refs[i][Y] = p->y[n->id];
        p->refs[i][STASH] = p->stash[n->id];
    }
    for (int i = 0; i < plan->metrics; i++) /* read before the loss */
        reads(p, p->y[ls__metric_node(p, i)->id], plan->count - 1);
}

/* Node `id` waits for gradient v. */
static void wait_for(ls__planner *p, int id, int v)
{
    LS__ASSERT(v >= 0 && p->waiter_count <
                             (2 + LS__MAX_INPUTS) * p->graph->node_count);
    p->grad[id] = v;
    p->waiters[p->waiter_count] = (ls__waiter){id, p->waiting[v]};
    p->waiting[v] = p->waiter_count++;
}

/* Does a waiter still wait for v at `time`?  An input does to the end. */
static bool still_waits(const ls__planner *p, const ls__waiter *w, int v,
                        int time)
{
    if (p->grad[w->node] != v)
        return false;
    return !p->node[w->node].op ||
           (p->instr[w->node] >= 0 &&
            2 * p->plan->count - 1 - p->instr[w->node] > time);
}

/* Is gradient v dead at `time`, but for node `id`, which waits for it?  Time
 * only goes on, so waiters that are done are taken off the list. */
static bool free_after(ls__planner *p, int v, int id, int time)
{
    int *at = &p->waiting[v];

    while (*at >= 0) {
        const ls__waiter *w = &p->waiters[*at];

        if (!still_waits(p, w, v, time))
            *at = w->next;
        else if (w->node != id)
            return false;
        else
            at = &p->waiters[*at].next;
    }
    return p->values[v].last <= time;
}

/* Is v the addend of the gradient of an input before k?  Formulas give to their
 * inputs in an order of their own. */
static bool is_addend(const ls__planner *p, const ls__instr *in, int k, int v)
{
    const int *refs = p->refs[in - p->plan->instr];

    while (k > 0)
        if (refs[ADDEND + --k] == v)
            return true;
    return false;
}

/* The memory for the gradient of input k, which may be some that dies here. */
static int grad_value(ls__planner *p, const ls__instr *in, int k, int time,
                      int dy, int addend)
{
    const ls_node *n = in->node, *x = n->in[k];
    unsigned may = n->op->plan.over;
    int over = -1;

    if (ls__planner_is_plain(p))
        return new_value(p, x->size, time);
    if (addend >= 0 && may & LS__OVER_ADDEND && !is_addend(p, in, k, addend) &&
        free_after(p, addend, x->id, time))
        over = addend;
    else if (dy >= 0 && may & LS__OVER_DY && !is_addend(p, in, k, dy) &&
             free_after(p, dy, n->id, time) &&
             p->values[dy].size >= x->size * p->plan->chunk_rows)
        over = dy;
    else if ((may & LS__OVER_X || in->over_x) && k == 0 && p->y[x->id] >= 0 &&
             p->values[p->y[x->id]].last <= time)
        over = p->y[x->id];
    return over >= 0 ? over : new_value(p, x->size, time);
}

/* Give input k of instruction i its gradient: passed on, or a new value. */
static void input_gradient(ls__planner *p, int i, int k, int time, int dy)
{
    const ls_node *n = p->plan->instr[i].node, *x = n->in[k];
    int addend = p->grad[x->id];

    if (x->dtype != LS_F32 || !p->trains[x->id])
        return;
    if (n->op->plan.passes >> k & 1 && addend < 0) {
        wait_for(p, x->id, dy);
        return;
    }
    reads(p, addend, time);
    p->refs[i][ADDEND + k] = addend;
    p->refs[i][DX + k] = grad_value(p, &p->plan->instr[i], k, time, dy,
                                         addend);
    wait_for(p, x->id, p->refs[i][DX + k]);
    reads(p, p->refs[i][DX + k], time);
}

static void backward_values(ls__planner *p)
{
    ls__plan *plan = p->plan;

    for (int i = plan->count - 1; i >= 0; i--) {
        const ls_node *n = plan->instr[i].node;
        int time = 2 * plan->count - 1 - i, dy = p->grad[n->id];

        p->refs[i][DY] = dy;
        if (!n->op->is_loss && dy < 0)
            continue; /* trains nothing */
        reads(p, dy, time);
        /* passed-on gradients last, so that dy is whole until then */
        for (int k = 0; k < plan->instr[i].inputs; k++)
            if (!(n->op->plan.passes >> k & 1))
                input_gradient(p, i, k, time, dy);
        for (int k = 0; k < plan->instr[i].inputs; k++)
            if (n->op->plan.passes >> k & 1)
                input_gradient(p, i, k, time, dy);
    }
    for (int i = 0; i < plan->inputs; i++)
        reads(p, p->grad[plan->input[i]->id], 2 * plan->count);
}

/* ------ lay out ------ */

static int by_size(const void *a, const void *b)
{
    const ls__value *x = *(ls__value *const *)a, *y = *(ls__value *const *)b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x < y ? -1 : 1;
}

/* Place v at the lowest free offset among the values already laid out, and keep
 * these in the order of their offsets. */
static void lay_one(ls__value **laid, int count, ls__value *v)
{
    int64_t at = 0;
    int i;

    for (i = 0; i < count && laid[i]->offset < at + v->size; i++) {
        const ls__value *o = laid[i];

        if (o->first <= v->last && v->first <= o->last &&
            at < o->offset + o->size)
            at = o->offset + o->size;
    }
    while (i > 0 && laid[i - 1]->offset > at)
        i--;
    memmove(laid + i + 1, laid + i, (size_t)(count - i) * sizeof *laid);
    laid[i] = v;
    v->offset = at;
}

/* Do no two lie in the same place at the same time, and are offsets rising and
 * of whole vectors? */
__attribute__((unused)) /* without assertions */
static bool lie_apart(ls__value *const *laid, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ls__value *a = laid[i];

        if (a->offset % 16 || a->first > a->last ||
            (i && laid[i - 1]->offset > a->offset))
            return false;
        for (size_t k = i + 1;
             k < n && laid[k]->offset < a->offset + a->size; k++)
            if (laid[k]->first <= a->last && a->first <= laid[k]->last)
                return false;
    }
    return true;
}

static int lay_all(ls__planner *p)
{
    size_t n = (size_t)p->value_count;
    ls__value **order = ls__new(2 * n, sizeof *order, "plan");
    int64_t end = 0;

    if (!order)
        return LS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = &p->values[i];
    qsort(order, n, sizeof *order, by_size);
    for (size_t i = 0; i < n; i++) {
        lay_one(order + n, (int)i, order[i]);
        if (order[i]->offset + order[i]->size > end)
            end = order[i]->offset + order[i]->size;
    }
    LS__ASSERT(lie_apart(order + n, n));
    free(order);
    p->plan->memory.scratch = end;
    return 0;
}

int ls__plan_layout(ls__planner *p)
{
    forward_values(p);
    if (p->loss)
        backward_values(p);
    return lay_all(p);
}

/* ------ offsets ------ */

static int64_t offset_of(const ls__planner *p, int v)
{
    return v < 0 ? -1 : p->values[v].offset;
}

static void write_instr(const ls__planner *p, int i)
{
    ls__instr *in = &p->plan->instr[i];
    const ls_node *n = in->node;

    in->y = offset_of(p, p->refs[i][Y]);
    in->stash = offset_of(p, p->refs[i][STASH]);
    in->dy = offset_of(p, p->refs[i][DY]);
    for (int k = 0; k < in->inputs; k++) {
        in->x[k].input = n->in[k]->op ? -1 : n->in[k]->input;
        in->x[k].offset = offset_of(p, p->y[n->in[k]->id]);
    }
    for (int k = 0; k < LS__MAX_INPUTS; k++) {
        in->dx[k] = offset_of(p, p->refs[i][DX + k]);
        in->addend[k] = offset_of(p, p->refs[i][ADDEND + k]);
    }
}

/* Note a value, unless it was noted. */
static void note(const ls__planner *p, ls__working_set *w, int v)
{
    ls__range at;

    if (v < 0 || w->n == LS__WORKING_SET)
        return;
    at = (ls__range){p->values[v].offset,
                     p->values[v].offset + p->values[v].size};
    for (int i = 0; i < w->n; i++)
        if (w->of[i].first == at.first)
            return;
    w->of[w->n++] = at;
}

static void note_forward(const ls__planner *p, ls__working_set *w, int i)
{
    const ls__instr *in = &p->plan->instr[i];

    for (int k = 0; k < in->inputs; k++)
        note(p, w, p->y[in->node->in[k]->id]);
    if (!in->lends)
        note(p, w, p->refs[i][Y]);
    note(p, w, p->refs[i][STASH]);
}

/* What backward reads, and its survey. */
static void note_reads(const ls__planner *p, ls__working_set *w, int i)
{
    const ls__instr *in = &p->plan->instr[i];

    note(p, w, p->refs[i][DY]);
    for (int k = 0; k < in->inputs; k++)
        if (in->node->op->plan.reads >> k & 1)
            note(p, w, p->y[in->node->in[k]->id]);
    if (in->node->op->plan.reads_y && !in->lends)
        note(p, w, p->refs[i][Y]);
    note(p, w, p->refs[i][STASH]);
}

static void note_back(const ls__planner *p, ls__working_set *w, int i)
{
    note_reads(p, w, i);
    for (int k = 0; k < p->plan->instr[i].inputs; k++) {
        note(p, w, p->refs[i][ADDEND + k]);
        note(p, w, p->refs[i][DX + k]);
    }
}

static void note_part(const ls__planner *p, int part)
{
    const ls__plan *plan = p->plan;
    ls__working_set *w = &plan->surveys.uses[part];
    ls__range there, again;
    const ls__instr *in;
    bool back;

    ls__plan_part(plan, part, &there, &again);
    for (int64_t i = there.first; i < there.last; i++)
        note_forward(p, w, (int)i);
    for (int64_t i = again.last - 1; i >= again.first; i--)
        note_back(p, w, (int)i);
    if (ls__plan_part_ends(plan, part, &in, &back) && back)
        note_reads(p, w, (int)(in - plan->instr));
}

/* Write the offsets into the instructions. */
void ls__plan_write(ls__planner *p)
{
    ls__plan *plan = p->plan;

    for (int i = 0; i < plan->count; i++)
        write_instr(p, i);
    for (int i = 0; plan->surveys.n && i < ls__plan_parts(plan); i++)
        note_part(p, i);
    for (int i = 0; i < plan->inputs; i++)
        plan->input_gradient[i] = offset_of(p, p->grad[plan->input[i]->id]);
    for (int i = 0; i < plan->metrics; i++) {
        const ls_node *n = ls__metric_node(p, i);

        plan->metric[i] = (ls__metric){offset_of(p, p->y[n->id]), n->size};
    }
}

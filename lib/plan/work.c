/* SPDX-License-Identifier: BSD-3-Clause */
/* One instruction on one chunk of rows.  Nothing is allocated. */
#include "plan/work.h"
#include "base/assert.h"
#include "base/range.h"
#include "plan/team.h"
#include "pool/track.h"

#include <string.h>

/* ------ chunks ------ */

bool ls__work_next(ls__work *c)
{
    const ls_shard *shard = c->shard;
    int64_t most = c->plan->chunk_rows;
    ls__chunk *of = &c->of;

    of->before += c->rows;
    of->first = shard->row + of->before;
    of->left = shard->rows - of->before;
    of->weights = shard->weights ? shard->weights + of->before : NULL;
    c->rows = of->left < most ? of->left : most;
    LS__ASSERT(c->rows == 0 || (c->rows > 0 && of->before % most == 0));
    return c->rows > 0;
}

ls__work ls__work_begin(ls__context *c, const ls__weights *w,
                        const ls_shard *shard, float *const *grads,
                        ls_sums *sums)
{
    c->failure = (ls__failure){0};
    return (ls__work){.context = c, .plan = c->plan, .weights = w,
                      .shard = shard, .grads = grads,
                      .scratch = c->memory + c->plan->memory.scratch,
                      .of = {.memory = c->memory, .stays = c->stays,
                             .packed = w->packed, .backward = grads != NULL,
                             .train = shard->train, .drop = shard->drop,
                             .sums = sums,
                             .failure = &c->failure, .touched = c->touched,
                             .draw = c->plan->streams.draw,
                             .call = (uint32_t)shard->call}};
}

void ls__work_cut(ls__work *c, ls__barrier *fence, int parts, int part)
{
    LS__ASSERT(part >= 0 && part < parts && !c->fence);

    int64_t unit = c->plan->unit;
    ls__range all = {0, c->rows}, mine = ls__range_part(all, parts, part, unit);

    c->fence = fence;
    c->parts = parts;
    c->number = part;
    c->part_rows = mine.last - mine.first;
    c->part = c->of;
    c->part.first += mine.first;
    c->part.before += mine.first;
    c->part.left -= mine.first;
    c->part.skipped = mine.first;
    if (c->part.weights)
        c->part.weights += mine.first;
}

/* ------ turns ------ */

static bool runs_backward(const ls__instr *in)
{
    return in->dy >= 0 || in->node->op->is_loss;
}

/* Does the instruction add to sums that go on from chunk to chunk?  Forward a
 * loss does where nothing goes backward. */
static bool sums_up(const ls__work *c, const ls__instr *in)
{
    const ls_node *n = in->node;
    bool sums = n->op->is_loss && c->of.sums;

    for (int k = 0; k < n->params; k++)
        sums |= c->grads && c->grads[n->param[k]];
    return sums;
}

static unsigned turns_of(const ls__instr *in, unsigned most)
{
    const ls__op_rare *rare = in->node->op->rare;

    return rare && rare->turns ? rare->turns(in, most) : 1;
}

unsigned ls__work_turns(const ls__work *c, unsigned most)
{
    const ls__plan *plan = c->plan;
    unsigned turns = 0;

    for (int i = 0; i < plan->count; i++) {
        const ls__instr *in = &plan->instr[i];

        if (runs_backward(in) && sums_up(c, in))
            turns += turns_of(in, most);
    }
    return turns;
}

/* ------ an instruction ------ */

static const void *input_at(const ls__work *c, const ls__chunk *of, int input)
{
    const ls_node *n = c->plan->input[input];

    /* both dtypes have four bytes */
    return (const char *)c->shard->data[input] + 4 * of->before * n->size;
}

/* A value of `size` floats a row, from the chunk's first row that runs; NULL:
 * there is none. */
static float *value_at(const ls__chunk *of, int64_t offset, int64_t size,
                       bool is_bf16)
{
    int64_t skipped = of->skipped * size;

    LS__ASSERT(skipped % 2 == 0 || !is_bf16);
    return offset < 0 ? NULL
                      : of->memory + offset + (is_bf16 ? skipped / 2 : skipped);
}

static ls__run run_of(const ls__work *c, const ls__instr *in,
                      const ls__chunk *of);

/* Say how x[0] is made of what lies there. */
static void borrow(const ls__work *c, const ls__instr *lender,
                   const ls__chunk *of, ls__run *r)
{
    ls__run made = run_of(c, lender, of);

    LS__ASSERT(lender->lends && !lender->x[0].lender);
    r->lent = lender->node->op->rare->lends(&made, r->scratch);
    r->scratch += ls__lent_room(lender->node);
}

/* An instruction on a chunk's rows, or on a part of them. */
static ls__run run_of(const ls__work *c, const ls__instr *in,
                      const ls__chunk *of)
{
    const ls__plan *plan = c->plan;
    const ls_node *n = in->node;
    ls__run r = {.node = n, .in = in, .of = of,
                 .rows = of == &c->part ? c->part_rows : c->rows,
                 .y = value_at(of, in->y, n->size, in->is_bf16),
                 .stash = value_at(of, in->stash, in->kept, false),
                 .scratch = c->scratch, .parts = 1,
                 .backend = &plan->backend, .kernels = ls__kernels()};

    for (int k = 0; k < in->inputs; k++)
        r.x[k] = in->x[k].input >= 0
                     ? input_at(c, of, in->x[k].input)
                     : value_at(of, in->x[k].offset, n->in[k]->size,
                                in->x[k].is_bf16);
    for (int k = 0; k < n->params; k++)
        r.param[k] = c->weights->of[n->param[k]];
    for (int back = 0; back < 2 && in->surveys && of->surveyed; back++) {
        r.found[back] = ls__context_found(c->context, in, back);
        r.all[back] = ls__context_all(c->context, in, back);
    }
    if (in->x[0].lender)
        borrow(c, in->x[0].lender, of, &r);
    return r;
}

void ls__work_survey(const ls__work *c, const ls__instr *in, bool back)
{
    ls__run r = run_of(c, in, &c->of);

    if (back && in->dy < 0)
        return;
    LS__ASSERT(in->surveys && ls__survey_of(in->node->op));
    r.dy = back ? ls__work_at(c, in->dy) : NULL;
    ls__survey_of(in->node->op)->look(&r, back);
}

/* Add what the graph's metrics sum, row by row, in double: chunks do not show.
 * A row of weight 0 may hold anything. */
static void sum_metric(const ls__work *c, const ls__metric *m, ls_ratio *to)
{
    const float *y = ls__work_at(c, m->y);

    for (int64_t i = 0; i < c->rows; i++, y += m->size) {
        double w = c->of.weights ? (double)c->of.weights[i] : 1, sum = 0;

        for (int64_t j = 0; j < m->size && w != 0; j++)
            sum += (double)y[j];
        to->sum += w * sum;
        to->weight += w * (double)m->size;
    }
}

/* The loss, after metrics, since its gradient may lie where they are. */
static void run_loss(const ls__work *c, const ls__run *r,
                     void (*run)(const ls__run *r))
{
    const ls__plan *plan = c->plan;

    for (int i = 0; i < plan->metrics; i++)
        sum_metric(c, &plan->metric[i], &c->of.sums->metric[i]);
    run(r);
}

/* Run, in a turn, what adds to sums all over; false: it is another's. */
static bool run_in_turn(const ls__work *c, const ls__run *r,
                        void (*run)(const ls__run *r))
{
    if (!ls__take_turn(r))
        return false;
    if (r->node->op->is_loss)
        run_loss(c, r, run);
    else
        run(r);
    ls__end_turn(r);
    return true;
}

static void run_forward(const ls__work *c, const ls__instr *in)
{
    const ls__op *op = in->node->op;
    bool splits = c->fence && ls__splits(op) && !in->is_bf16 &&
                  (!op->run.cuts || c->rows < c->parts);
    bool cuts = c->fence && op->run.cuts && !splits;
    ls__run r = run_of(c, in, cuts ? &c->part : &c->of);

    if (splits) {
        r.part = c->number;
        r.parts = c->parts;
    }
    ls__work_meet(c);
    if (op->is_loss && c->of.sums)
        (void)run_in_turn(c, &r, op->run.forward);
    else if (r.rows && (splits || cuts || !c->number))
        op->run.forward(&r);
}

void ls__work_forward(const ls__work *c, const ls__instr *in)
{
    ls__track *track = ls__track_here();
    ls_mark mark;

    if (ls__team_share(c, in, false))
        return;
    mark = ls__track_begin(track, 2, in->node->op->name);
    run_forward(c, in);
    ls__track_end(track, 2, &mark, LS__FORWARD, ls__work_number(c, in));
}

/* If a later instruction has already written one of its parameters' gradients
 * (tied weights), it adds to all of them; the rest become zeros first. */
static bool goes_on_adding(const ls__work *c, const ls__instr *in,
                           const ls__run *r)
{
    bool adds = false;

    for (int k = 0; k < in->node->params; k++)
        adds |= in->begun[k];
    for (int k = 0; adds && k < in->node->params; k++)
        if (!in->begun[k] && r->dparam[k] && !c->of.before)
            memset(r->dparam[k], 0,
                   (size_t)c->plan->param[in->node->param[k]].size *
                       sizeof *r->dparam[k]);
    return adds;
}

/* Gradients of the parameters, of all of a chunk's rows. */
static void set_params(const ls__work *c, const ls__instr *in, ls__run *r)
{
    r->add = c->of.before > 0;
    for (int k = 0; k < in->node->params; k++)
        r->dparam[k] = c->grads[in->node->param[k]];
    r->add |= goes_on_adding(c, in, r);
}

/* Set the gradients of the inputs; is there any? */
static bool set_inputs(const ls__instr *in, ls__run *r)
{
    bool wanted = false;

    for (int k = 0; k < in->inputs; k++) {
        int64_t size = in->node->in[k]->size;

        r->dx[k] = value_at(r->of, in->dx[k], size, false);
        r->addend[k] = value_at(r->of, in->addend[k], size, false);
        wanted |= r->dx[k] != NULL;
    }
    return wanted;
}

static bool call_backward(const ls__work *c, const ls__run *r, bool sums)
{
    const ls__op *op = r->node->op;

    if (sums && !ls__takes_turns(op))
        return run_in_turn(c, r, op->run.backward);
    op->run.backward(r);
    return true;
}

static void pass_on(const ls__run *r)
{
    for (int k = 0; k < r->in->inputs; k++)
        if (r->node->op->plan.passes >> k & 1 && r->dx[k])
            r->kernels->add(r->rows * r->node->in[k]->size, r->addend[k],
                            r->dy, r->dx[k]);
}

/* Run all of an operator: the chunk's worker or, if it is cut, the leader. */
static void run_whole(const ls__work *c, const ls__instr *in, bool sums)
{
    ls__run r = run_of(c, in, &c->of);

    r.dy = value_at(r.of, in->dy, in->node->size, false);
    set_params(c, in, &r);
    (void)set_inputs(in, &r);
    if ((sums || !c->number) && call_backward(c, &r, sums))
        pass_on(&r);
}

/* The parameters in turns, then the inputs outside of them, where the chunk is
 * cut each member by its rows: dx may lie where dy does. */
static void run_apart(const ls__work *c, const ls__instr *in, bool sums)
{
    const ls__chunk *mine = c->fence ? &c->part : &c->of;
    ls__run all = run_of(c, in, &c->of), part = run_of(c, in, mine);

    all.dy = value_at(all.of, in->dy, in->node->size, false);
    part.dy = value_at(part.of, in->dy, in->node->size, false);
    if (sums) {
        set_params(c, in, &all);
        (void)call_backward(c, &all, true);
        ls__work_meet(c);
    }
    if (set_inputs(in, &part) && part.rows) {
        (void)call_backward(c, &part, false);
        pass_on(&part);
    }
}

/* Run backward; the parameters' gradients are complete when it is over. */
static void run_backward(const ls__work *c, const ls__instr *in)
{
    bool sums = sums_up(c, in);

    ls__work_meet(c);
    if (in->node->op->run.cuts && c->of.turns) {
        run_apart(c, in, sums);
        return;
    }
    run_whole(c, in, sums);
    if (sums)
        ls__work_meet(c);
}

void ls__work_backward(const ls__work *c, const ls__instr *in)
{
    const ls__op *op = in->node->op;
    ls__track *track = ls__track_here();
    ls_mark mark;

    if (!runs_backward(in) || ls__team_share(c, in, true))
        return;
    mark = ls__track_begin(track, 2, op->name);
    run_backward(c, in);
    ls__track_end(track, 2, &mark, LS__BACKWARD, ls__work_number(c, in));
}

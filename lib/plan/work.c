/* SPDX-License-Identifier: BSD-3-Clause */
/* One instruction on one chunk of rows.  Nothing is allocated. */
#include "plan/work.h"
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
    return c->rows > 0;
}

ls__work ls__work_begin(ls__context *c, const ls__weights *w,
                        const ls_shard *shard, float *const *grads,
                        ls_sums *sums)
{
    c->failure = (ls__failure){0};
    return (ls__work){.context = c, .plan = c->plan, .weights = w,
                      .shard = shard, .grads = grads,
                      .of = {.memory = c->memory, .stays = c->stays,
                             .packed = w->packed, .backward = grads != NULL,
                             .train = shard->train, .drop = shard->drop,
                             .sums = sums,
                             .failure = &c->failure, .touched = c->touched,
                             .draw = c->plan->draw,
                             .call = (uint32_t)shard->call}};
}

/* ------ an instruction ------ */

static const void *input_at(const ls__work *c, int input)
{
    const ls_node *n = c->plan->input[input];

    /* both dtypes have four bytes */
    return (const char *)c->shard->data[input] + 4 * c->of.before * n->size;
}

static ls__run run_of(const ls__work *c, const ls__instr *in)
{
    const ls__plan *plan = c->plan;
    ls__run r = {.node = in->node, .in = in, .of = &c->of, .rows = c->rows,
                 .y = ls__work_at(c, in->y), .stash = ls__work_at(c, in->stash),
                 .scratch = ls__work_at(c, plan->scratch),
                 .backend = &plan->backend, .kernels = ls__kernels()};

    for (int k = 0; k < in->inputs; k++)
        r.x[k] = in->x[k].input >= 0 ? input_at(c, in->x[k].input)
                                     : ls__work_at(c, in->x[k].offset);
    for (int k = 0; k < in->node->params; k++)
        r.param[k] = c->weights->of[in->node->param[k]];
    for (int back = 0; back < 2 && in->surveys && c->of.surveyed; back++) {
        r.found[back] = ls__context_found(c->context, in, back);
        r.all[back] = ls__context_all(c->context, in, back);
    }
    return r;
}

void ls__work_survey(const ls__work *c, const ls__instr *in, bool back)
{
    ls__run r = run_of(c, in);

    if (back && in->dy < 0)
        return;
    r.dy = back ? ls__work_at(c, in->dy) : NULL;
    in->node->op->survey->look(&r, back);
}

void ls__work_forward(const ls__work *c, const ls__instr *in)
{
    ls__track *track = ls__track_here();
    ls_mark mark = ls__track_begin(track, 2, in->node->op->name);
    ls__run r = run_of(c, in);

    in->node->op->forward(&r);
    ls__track_end(track, 2, &mark, LS__FORWARD, ls__work_number(c, in));
}

/* Where an instruction after it began the gradient of one of its parameters, it
 * adds to all: to the others from zero. */
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

static void run_backward(const ls__work *c, const ls__instr *in)
{
    ls__run r = run_of(c, in);
    const ls__op *op = in->node->op;

    r.dy = ls__work_at(c, in->dy);
    r.add = c->of.before > 0;
    for (int k = 0; k < in->node->params; k++)
        r.dparam[k] = c->grads[in->node->param[k]];
    r.add |= goes_on_adding(c, in, &r);
    for (int k = 0; k < in->inputs; k++) {
        r.dx[k] = ls__work_at(c, in->dx[k]);
        r.addend[k] = ls__work_at(c, in->addend[k]);
    }
    op->backward(&r);
    for (int k = 0; k < in->inputs; k++)
        if (op->passes >> k & 1 && r.dx[k])
            r.kernels->add(c->rows * in->node->in[k]->size, r.addend[k],
                           r.dy, r.dx[k]);
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

void ls__work_metrics(const ls__work *c)
{
    const ls__plan *plan = c->plan;

    for (int i = 0; i < plan->metrics && ls__work_goes_on(c); i++)
        sum_metric(c, &plan->metric[i], &c->of.sums->metric[i]);
}

void ls__work_backward(const ls__work *c, const ls__instr *in)
{
    const ls__op *op = in->node->op;
    ls__track *track = ls__track_here();
    ls_mark mark;

    if (in->dy < 0 && !op->is_loss)
        return;
    mark = ls__track_begin(track, 2, op->name);
    run_backward(c, in);
    ls__track_end(track, 2, &mark, LS__BACKWARD, ls__work_number(c, in));
}

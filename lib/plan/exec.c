/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a plan on one device's shard: a loop over chunks of rows around a loop
 * over the instructions.  Nothing is allocated; a context holds one chunk and
 * is used by one device at a time. */
#include "plan/exec.h"
#include "base/assert.h"
#include "plan/team.h"

#include <stdlib.h>
#include <string.h>

int ls__context_open(ls__context **context, const ls__plan *plan)
{
    ls__context *c = ls__new(1, sizeof *c, "context");

    if (!c)
        return LS_ENOMEM;
    c->plan = plan;
    c->memory = ls__block((size_t)plan->memory.floats * sizeof(float),
                          "activations");
    if (plan->memory.stays)
        c->stays = ls__block((size_t)plan->memory.stays * sizeof(float),
                             "what plans keep");
    if (plan->surveys.n)
        c->found = c->own = ls__new((size_t)plan->surveys.found, sizeof *c->own,
                                    "statistics");
    c->chunks = c->devices = 1;
    if (!c->memory || (plan->memory.stays && !c->stays) ||
        (plan->surveys.n && !c->own)) {
        ls__context_close(c);
        return LS_ENOMEM;
    }
    *context = c;
    return 0;
}

static void close_mates(ls__context *c)
{
    for (int m = 0; m < c->mates; m++)
        ls__block_free(c->mate[m]);
    free(c->mate);
    c->mate = NULL;
    c->mates = 0;
}

void ls__context_close(ls__context *c)
{
    if (!c)
        return;
    ls__block_free(c->memory);
    ls__block_free(c->twin);
    ls__block_free(c->more);
    ls__block_free(c->stays);
    close_mates(c);
    free(c->own);
    free(c);
}

int ls__context_join(ls__context *c, ls__team *team)
{
    int mates = ls__team_members(team) - 1;
    size_t bytes = (size_t)c->plan->memory.floats * sizeof(float);

    LS__ASSERT(mates >= 0 && !c->mate);
    if (mates && !(c->mate = ls__new((size_t)mates, sizeof *c->mate, "team")))
        return LS_ENOMEM;
    for (; c->mates < mates; c->mates++)
        if (!(c->mate[c->mates] = ls__block(bytes, "activations of a team"))) {
            close_mates(c);
            return LS_ENOMEM;
        }
    c->team = team;
    return 0;
}

const ls_node *ls__context_failed(const ls__context *c)
{
    return c->failure.node;
}

void ls__context_after(ls__context *c, ls__after_fn *fn, void *user)
{
    c->after = fn;
    c->user = user;
}

void ls__context_touched(ls__context *c, const ls__touched *touched)
{
    c->touched = touched;
}

/* Gradients of tied parameters are added chunk by chunk, and within a chunk
 * operator by operator. */
static bool may_pair(const ls__plan *plan)
{
    return plan->loose && !plan->tied && !plan->surveys.n;
}

int ls__context_pair(ls__context *c)
{
    if (c->twin || !may_pair(c->plan))
        return 0;
    c->twin = ls__block((size_t)c->plan->memory.floats * sizeof(float),
                        "activations of a second chunk");
    return c->twin ? 0 : LS_ENOMEM;
}

bool ls__context_pairs(const ls__context *c)
{
    return c->twin != NULL;
}

/* ------ a shard ------ */

/* Run what a goal needs of the instructions first .. last-1. */
static void forward(const ls__work *c, const ls__goal *goal, int first,
                    int last)
{
    for (int i = first; i < last && ls__work_goes_on(c); i++)
        if (goal->runs[i])
            ls__work_forward(c, &c->plan->instr[i]);
}

static void run_forward(const ls__work *c)
{
    const ls__plan *plan = c->plan;

    forward(c, &plan->loss, 0, plan->loss.instr);
    if (!c->grads && ls__work_goes_on(c))
        ls__work_forward(c, &plan->instr[plan->loss.instr]);
}

/* Chunks that follow each other, instructions last .. first back, operator by
 * operator. */
static void back(const ls__work *c, int chunks, int last, int first)
{
    bool ends = ls__work_is_last(&c[chunks - 1]) && !c->number;
    ls__after_fn *after = ends ? c->context->after : NULL;
    const ls__plan *plan = c->plan;
    const ls__instr *in = &plan->instr[last];

    LS__ASSERT(0 <= first && first <= last && last < plan->count);
    for (; in >= plan->instr + first && ls__work_goes_on(c); in--) {
        for (int k = 0; k < chunks && ls__work_goes_on(c); k++)
            ls__work_backward(&c[k], in);
        if (after && ls__work_goes_on(c))
            after(c->context->user, (int)ls__work_number(c, in));
    }
}

static void run_back(const ls__work *c, int chunks)
{
    back(c, chunks, c->plan->loss.instr, 0);
}

static void run_chunk(const ls__work *c, const void *how)
{
    (void)how;
    run_forward(c);
    if (c->grads)
        run_back(c, 1);
}

/* Run all chunks of a shard that was begun; returns its status. */
static int run_all(ls__work *c, ls__chunk_fn *run, const void *how)
{
    if (!ls__team_run(c, run, how))
        while (ls__work_goes_on(c) && ls__work_next(c))
            run(c, how);
    return c->context->failure.status;
}

/* A float input, and where its gradient goes. */
typedef struct input_gradient {
    int input;
    float *out;
} input_gradient;

/* Run a chunk and copy its gradient; 0 where the loss does not depend on the
 * input. */
static void run_to_input(const ls__work *c, const void *how)
{
    const input_gradient *to = how;
    int64_t size = c->plan->input[to->input]->size;
    float *out = to->out + c->of.before * size;
    size_t bytes = (size_t)(c->rows * size) * sizeof *out;
    const float *from;

    run_chunk(c, NULL);
    ls__work_meet(c);
    if (c->number || !ls__work_goes_on(c))
        return;
    if ((from = ls__work_at(c, c->plan->input_gradient[to->input])))
        memcpy(out, from, bytes);
    else
        memset(out, 0, bytes);
}

int ls__exec_input_gradient(ls__context *context, const ls__weights *w,
                            const ls_shard *shard, float *const *grads,
                            ls_sums *sums, int input, float *out)
{
    ls__work c = ls__work_begin(context, w, shard, grads, sums);

    return run_all(&c, run_to_input, &(input_gradient){input, out});
}

/* Is a chunk the last but one, and does it go back together with the last? */
static bool has_twin(const ls__work *c, ls__work *twin)
{
    *twin = *c;
    twin->of.memory = c->context->twin;
    return twin->of.memory && c->grads && ls__work_next(twin) &&
           ls__work_is_last(twin);
}

/* Each gradient gets the sums of the one before those of the other, as if they
 * ran one after the other. */
static void run_two(const ls__work *c, const ls__work *twin)
{
    const ls__work both[] = {*c, *twin};

    run_forward(c);
    run_forward(twin);
    run_back(both, 2);
}

static int run_pairing(ls__work *c)
{
    ls__work twin;

    while (ls__work_goes_on(c) && ls__work_next(c)) {
        if (has_twin(c, &twin)) {
            run_two(c, &twin);
            break;
        }
        run_chunk(c, NULL);
    }
    return c->context->failure.status;
}

/* ------ a shard, part by part ------ */

int ls__context_reserve(ls__context *c, int64_t rows)
{
    int64_t chunks = ls__plan_chunks(c->plan, rows);

    if (!c->plan->surveys.n || chunks <= c->chunks)
        return 0;
    ls__block_free(c->more);
    c->chunks = 1;
    c->more = ls__block((size_t)((chunks - 1) * c->plan->memory.floats) *
                        sizeof(float), "activations of a whole shard");
    if (!c->more)
        return LS_ENOMEM;
    c->chunks = chunks;
    return 0;
}

void ls__context_share(ls__context *c, double *found, const double *joined,
                       int devices, int device)
{
    c->found = found;
    c->joined = joined;
    c->devices = devices;
    c->device = device;
}

void ls__context_borrow(ls__context *c, const ls__context *of)
{
    ls__context_share(c, of->found, of->joined, of->devices, of->device);
}

double *ls__context_found(const ls__context *c, const ls__instr *in, bool back)
{
    const ls_node *n = in->node;

    LS__ASSERT(in->surveys && c->device >= 0 && c->device < c->devices);
    return c->found + c->devices * in->found[back] +
           c->device * ls__survey_of(n->op)->size(n, back);
}

const double *ls__context_all(const ls__context *c, const ls__instr *in,
                              bool back)
{
    return c->joined && ls__survey_of(in->node->op)->of_all(in->node)
               ? c->joined + in->found[back]
               : ls__context_found(c, in, back);
}

void ls__context_clear_found(const ls__context *c, const ls__instr *in,
                             bool back)
{
    int64_t n = ls__survey_of(in->node->op)->size(in->node, back);

    memset(ls__context_found(c, in, back), 0, (size_t)n * sizeof(double));
}

void ls__context_clear(const ls__context *c)
{
    const ls__plan *plan = c->plan;

    for (int i = 0; i < plan->surveys.n; i++)
        for (int back = 0; back < 2; back++)
            ls__context_clear_found(c, &plan->instr[plan->surveys.instr[i]],
                                    back);
}

/* A chunk's way from the operator at which the part before ended. */
static void run_part(const ls__work *c, int part)
{
    ls__range there, again;

    ls__plan_part(c->plan, part, &there, &again);
    forward(c, &c->plan->loss, (int)there.first, (int)there.last);
    if (again.last)
        back(c, 1, (int)again.last - 1, (int)again.first);
}

int ls__exec_part(ls__context *context, const ls__weights *w,
                  const ls_shard *shard, float *const *grads, ls_sums *sums,
                  int part)
{
    ls__work c = ls__work_begin(context, w, shard, grads, sums);
    const ls__working_set *uses = &c.plan->surveys.uses[part];
    const ls__instr *in;
    bool back, ends = ls__plan_part_ends(c.plan, part, &in, &back);
    ls__ahead ahead;

    c.of.surveyed = true;
    c.of.ahead = &ahead;
    if (ends)
        ls__context_clear_found(context, in, back);
    for (int64_t i = 0; ls__work_goes_on(&c) && ls__work_next(&c); i++) {
        LS__ASSERT(i < context->chunks);
        if (i > 0)
            c.of.memory = context->more + (i - 1) * c.plan->memory.floats;
        ahead = (ls__ahead){0};
        if (!ls__work_is_last(&c))
            ahead = (ls__ahead){context->more + i * c.plan->memory.floats,
                                uses->of, uses->of + uses->n, 0};
        run_part(&c, part);
        if (ends && ls__work_goes_on(&c))
            ls__work_survey(&c, in, back);
    }
    return context->failure.status;
}

/* Run one part after the other, for rows that no other device's need. */
static int run_parts(ls__context *context, const ls__weights *w,
                     const ls_shard *shard, float *const *grads, ls_sums *sums)
{
    int status = ls__context_reserve(context, shard->rows);

    for (int i = 0; status == 0 && i < ls__plan_parts(context->plan); i++)
        status = ls__exec_part(context, w, shard, grads, sums, i);
    return status;
}

int ls__exec_gradient(ls__context *context, const ls__weights *w,
                      const ls_shard *shard, float *const *grads,
                      ls_sums *sums)
{
    if (context->plan->surveys.n && grads && shard->train)
        return run_parts(context, w, shard, grads, sums);

    ls__work c = ls__work_begin(context, w, shard, grads, sums);

    return context->twin && !ls__team_is_here(context->team)
               ? run_pairing(&c) : run_all(&c, run_chunk, NULL);
}

/* ------ an output ------ */

/* Copy the rows of a chunk that count. */
static void copy_out(const ls__work *c, const float *y, int64_t size,
                     float *out)
{
    for (int64_t i = 0; i < c->rows; i++)
        if (!c->of.weights || c->of.weights[i] != 0)
            memcpy(out + i * size, y + i * size, (size_t)size * sizeof *out);
}

static bool counts(const ls__work *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        if (!c->of.weights || c->of.weights[i] != 0)
            return true;
    return false;
}

/* An output, and where it goes: all rows, or the last of all alone. */
typedef struct wanted {
    const ls__goal *goal;
    float *out;
    bool last;
} wanted;

static void copy_last(const ls__work *c, const float *y, int64_t size,
                      float *out)
{
    if (ls__work_is_last(c))
        memcpy(out, y + (c->rows - 1) * size, (size_t)size * sizeof *out);
}

/* The rows of a chunk, unless all weigh 0. */
static void predict_chunk(const ls__work *c, const void *how)
{
    const wanted *o = how;
    const ls__instr *last = &c->plan->instr[o->goal->instr];

    if (!counts(c))
        return;
    forward(c, o->goal, 0, o->goal->instr);
    if (ls__work_goes_on(c))
        ls__work_forward(c, last);
    ls__work_meet(c);
    if (c->number || !ls__work_goes_on(c))
        return;
    if (o->last)
        copy_last(c, ls__work_at(c, last->y), last->node->size, o->out);
    else
        copy_out(c, ls__work_at(c, last->y), last->node->size,
                 o->out + c->of.before * last->node->size);
}

int ls__exec_output(ls__context *context, const ls__weights *w,
                    const ls_shard *shard, const ls__goal *goal, bool last,
                    float *out)
{
    ls__work c = ls__work_begin(context, w, shard, NULL, NULL);

    return run_all(&c, predict_chunk, &(wanted){goal, out, last});
}

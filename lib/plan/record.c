/* SPDX-License-Identifier: BSD-3-Clause */
/* See record.h.  What operators show comes in pieces, which are put together
 * until the instruction is over. */
#include "plan/record.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "plan/work.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 4 }; /* arrays that one instruction keeps to itself */

typedef struct shown {
    const char *what;
    float *values;
    int64_t floats;
} shown;

typedef struct recorded {
    ls__work at;
    const ls__observer *to;
    shown shown[SHOWN];
    int status;
} recorded;

/* ------ what operators show ------ */

static shown *find_shown(recorded *r, const char *what, int64_t of)
{
    int i = 0;

    while (i < SHOWN && r->shown[i].what && strcmp(r->shown[i].what, what))
        i++;
    if (i < SHOWN && !r->shown[i].what) {
        float *values = ls__new((size_t)of, sizeof *values, "what is recorded");

        if (values)
            r->shown[i] = (shown){what, values, of};
    }
    return i < SHOWN && r->shown[i].what ? &r->shown[i] : NULL;
}

static void take(void *user, const ls__seen *piece)
{
    recorded *r = user;
    shown *s = find_shown(r, piece->what, piece->of);

    LS__ASSERT(piece->at >= 0 && piece->n >= 0 &&
               piece->at + piece->n <= piece->of &&
               (!s || s->floats == piece->of));
    if (s)
        memcpy(s->values + piece->at, piece->values,
               (size_t)piece->n * sizeof *piece->values);
    else
        r->status = LS_ENOMEM;
}

static void see(recorded *r, const ls__instr *in, bool backward,
                const char *what, int index, const float *values,
                int64_t floats)
{
    if (values && floats)
        r->to->saw(r->to->user,
                   &(ls__seen){.node = in->node, .backward = backward,
                               .what = what, .index = index,
                               .first = r->at.of.before, .rows = r->at.rows,
                               .values = values, .n = floats, .of = floats});
}

static void see_shown(recorded *r, const ls__instr *in, bool backward)
{
    for (int i = 0; i < SHOWN && r->shown[i].what; i++) {
        see(r, in, backward, r->shown[i].what, 0, r->shown[i].values,
            r->shown[i].floats);
        free(r->shown[i].values);
        r->shown[i] = (shown){0};
    }
}

/* ------ an instruction ------ */

static void forward(recorded *r, const ls__instr *in)
{
    const ls__work *c = &r->at;

    ls__work_forward(c, in);
    see_shown(r, in, false);
    see(r, in, false, "kept", 0, ls__work_at(c, in->stash),
        in->kept * c->rows);
    see(r, in, false, "y", 0, ls__work_at(c, in->y), in->node->size * c->rows);
}

static void backward(recorded *r, const ls__instr *in)
{
    const ls__work *c = &r->at;
    const ls_node *n = in->node;

    ls__work_backward(c, in);
    see_shown(r, in, true);
    for (int k = 0; k < in->inputs; k++)
        see(r, in, true, "dx", k, ls__work_at(c, in->dx[k]),
            n->in[k]->size * c->rows);
    for (int k = 0; (in->dy >= 0 || n->op->is_loss) && k < n->params; k++)
        see(r, in, true, "dparam", k, c->grads[n->param[k]],
            c->plan->param[n->param[k]].size);
}

static bool goes_on(const recorded *r)
{
    return r->status == 0 && ls__work_goes_on(&r->at);
}

static void run_part(recorded *r, int part)
{
    const ls__plan *plan = r->at.plan;
    ls__range there, again;

    ls__plan_part(plan, part, &there, &again);
    for (int64_t i = there.first; i < there.last && goes_on(r); i++)
        if (plan->loss.runs[i])
            forward(r, &plan->instr[i]);
    for (int64_t i = again.last; i-- > again.first && goes_on(r);)
        backward(r, &plan->instr[i]);
}

int ls__exec_recorded(ls__context *context, const ls__weights *w,
                      const ls_shard *shard, float *const *grads,
                      ls_sums *sums, int part, const ls__observer *to)
{
    const ls__instr *in;
    bool back, ends = ls__plan_part_ends(context->plan, part, &in, &back);
    recorded r = {.at = ls__work_begin(context, w, shard, grads, sums),
                  .to = to};
    const ls__observer pieces = {take, &r};

    r.at.of.observer = &pieces;
    r.at.of.surveyed = context->plan->surveys.n > 0;
    if (ends)
        ls__context_clear_found(context, in, back);
    for (int64_t i = 0; goes_on(&r) && ls__work_next(&r.at); i++) {
        LS__ASSERT(!r.at.of.surveyed || i < context->chunks);
        if (i > 0 && r.at.of.surveyed)
            r.at.of.memory = context->more + (i - 1) * r.at.plan->memory.floats;
        /* what an operator leaves of its memory must not be what was there */
        if (part == 0)
            memset(r.at.of.memory, 0,
                   (size_t)r.at.plan->memory.floats * sizeof *r.at.of.memory);
        run_part(&r, part);
        if (ends && goes_on(&r)) {
            ls__work_survey(&r.at, in, back);
            see_shown(&r, in, back);
        }
    }
    for (int i = 0; i < SHOWN; i++)
        free(r.shown[i].values);
    return r.status < 0 ? r.status : context->failure.status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See statistics.h. */
#include "hooks/statistics.h"
#include "base/assert.h"
#include "base/fpmode.h"
#include "base/tree.h"

#include <string.h>

/* A parameter that is stored, and where its values are in a device's. */
typedef struct stored {
    int survey;   /* the plan's */
    int64_t at;
    const ls__slot *slot;
} stored;

typedef struct statistics {
    const ls__model *model;
    ls__context *const *context; /* [device here] */
    ls__span devices;
    int count;
    stored *list;   /* of parameters */
    int64_t values; /* of a device */
    double *next;   /* [device of the experiment * values] */
} statistics;

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    (void)needs;
    return rig->model->plan && rig->model->plan->surveys.n;
}

static const ls__instr *instr_of(const statistics *a, int survey)
{
    const ls__plan *plan = a->model->plan;

    return &plan->instr[plan->surveys.instr[survey]];
}

bool ls__stored_next(const ls__model *m, ls__stored *s)
{
    const ls__plan *plan = m->plan;

    for (; plan && s->survey < plan->surveys.n; s->survey++, s->next = 0) {
        const ls_node *n = plan->instr[plan->surveys.instr[s->survey]].node;

        while (s->next < n->params) {
            int param = n->param[s->next++];

            if (!plan->param[param].is_stored)
                continue;
            s->slot = ls__params_declared(&m->params, param);
            return true;
        }
    }
    return false;
}

static int open_statistics(void **own, const ls__rig *rig)
{
    statistics *a = *own = ls__arena_new(rig->arena, 1, sizeof *a);

    if (!a)
        return LS_ENOMEM;
    *a = (statistics){.model = rig->model, .context = rig->context,
                      .devices = rig->devices};
    a->list = ls__arena_new(rig->arena, (size_t)rig->model->params.count,
                            sizeof *a->list);
    for (ls__stored s = {0}; a->list && ls__stored_next(a->model, &s);) {
        LS__ASSERT(a->count < a->model->params.count);
        a->list[a->count++] = (stored){s.survey, a->values, s.slot};
        a->values += s.slot->size;
    }
    a->next = ls__arena_new(rig->arena,
                            (size_t)(a->values * rig->devices.of),
                            sizeof *a->next);
    if (!a->list || !a->next)
        return LS_ENOMEM;
    *rig->running = (ls__running){a->next, a->values};
    return 0;
}

/* A device's, where an update has not begun: what is stored. */
static void start(const statistics *a, double *next)
{
    for (int i = 0; i < a->count; i++)
        for (int64_t j = 0; j < a->list[i].slot->size; j++)
            next[a->list[i].at + j] =
                (double)a->model->value[a->list[i].slot->offset + j];
}

static void leave(void *own, ls__step *s, ls__micro_batch *mb)
{
    const statistics *a = own;
    const ls__context *c = a->context[mb->device];
    double *next = a->next + (a->devices.first + mb->device) * a->values;
    int last = -1;

    LS__ASSERT(ls__span_has(a->devices, a->devices.first + mb->device));
    if (!s->pass->train)
        return;
    if (!mb->later)
        start(a, next);
    for (int i = 0; i < a->count; i++) {
        const ls__instr *in = instr_of(a, a->list[i].survey);

        if (a->list[i].survey != last)
            ls__survey_of(in->node->op)->learn(in->node,
                                               ls__context_all(c, in, false),
                                               next + a->list[i].at);
        last = a->list[i].survey;
    }
}

static void end(void *own, const ls__step *s, const ls_result *result)
{
    const statistics *a = own;
    ls__fpmode mode = ls__fpmode_set();
    int devices = a->devices.of;

    (void)s;
    for (int i = 0; result->updated && i < a->count; i++)
        for (int64_t j = 0; j < a->list[i].slot->size; j++) {
            double sum = ls__tree_sum_double(a->next + a->list[i].at + j,
                                             devices, (int)a->values);

            a->model->value[a->list[i].slot->offset + j] =
                (float)(sum / devices);
        }
    ls__fpmode_restore(mode);
}

const ls__hook ls__statistics = {.name = "statistics", .wants = wants,
                                 .open = open_statistics, .leave = leave,
                                 .end = end};

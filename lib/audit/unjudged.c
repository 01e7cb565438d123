/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a training that the referee does not judge, told before it is asked:
 * operators, rules and first values, each by its name. */
#include "base/error.h"
#include "audit/record_start.h"
#include "graph/op.h"
#include "state/trainer_state.h"
#include <lockstep/record.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MATRIX = 1 << 20 }; /* the most numbers of one that the referee makes */

/* Operators, optimizers and schedules that tools/referee has no rule for, up to
 * NULL. */
static const char *const no_rule[] = {NULL};

bool ls__has_rule(const char *name)
{
    const char *const *none = no_rule;

    while (*none && strcmp(*none, name))
        none++;
    return !*none;
}

/* One after the other is counted, and the one that is asked for written. */
typedef struct asking {
    const ls_trainer *trainer;
    ls__state is;
    int left; /* others before it; below 0: it is there */
    char *text;
} asking;

__attribute__((format(printf, 2, 3)))
static void name(asking *q, const char *format, ...)
{
    va_list args;

    if (q->left-- != 0)
        return;
    va_start(args, format);
    vsnprintf(q->text, LS_RECORD_TEXT, format, args);
    va_end(args);
}

static void name_operators(asking *q)
{
    const ls_graph *g = q->is.graph;

    if (!g)
        name(q, "a gradient function of the program's own");
    for (int i = 0; g && i < ls_graph_nodes(g); i++) {
        const ls_node *n = ls_graph_node(g, i);

        if ((n->op && ls__is_own(n->op)) || !ls__has_rule(ls_node_op(n)))
            name(q, "operator \"%.100s\" (node %d \"%.200s\")", ls_node_op(n),
                 i, ls_node_name(n));
    }
}

static void name_rule(asking *q, const char *kind, const char *rule,
                      const char *of)
{
    if (!ls__has_rule(rule))
        name(q, "%s \"%.100s\"%s", kind, rule, of);
}

static void name_rules(asking *q)
{
    const ls_trainer_options *o = q->is.options;

    name_rule(q, "update", ls_optimizer_name(o->optimizer.kind), "");
    name_rule(q, "schedule", ls_schedule_name(o->schedule.kind), "");
    name_rule(q, "schedule", ls_schedule_name(o->decay_schedule.kind),
              " of decay");
    name_rule(q, "schedule", ls_schedule_name(o->dropout_schedule.kind),
              " of dropout");
}

/* A program's own values are nobody else's to make: the first parameter that
 * has such, and how many others. */
static void name_own(asking *q)
{
    const ls__params *p = q->is.layout;
    uint32_t word[LS__START_WORDS];
    const char *first = NULL;
    int own = 0;

    for (int i = 0; i < p->count; i++)
        if (!ls__record_start(q->trainer, i, word) && own++ == 0)
            first = p->slot[i].name;
    if (own == 1)
        name(q, "first values of \"%.200s\", which a function of the program "
             "gives", first);
    else if (own)
        name(q, "first values of \"%.200s\" and %d others, which functions of "
             "the program give", first, own - 1);
}

/* A matrix may be too large for the referee to make within seconds. */
static void name_start(asking *q, int i)
{
    const ls__slot *s = &q->is.layout->slot[i];
    uint32_t word[LS__START_WORDS];

    if (ls__record_start(q->trainer, i, word) && word[0] == LS__ORTHOGONAL &&
        s->size > MATRIX)
        name(q, "first values of \"%.200s\", an orthogonal matrix of %" PRId64
             " numbers", s->name, s->size);
}

static void name_starts(asking *q)
{
    if (q->is.step > 0 || !q->is.graph)
        return;
    if (!ls__record_at_start(q->trainer)) {
        name(q, "first values, which the program set or read");
        return;
    }
    name_own(q);
    for (int i = 0; i < q->is.layout->count; i++)
        name_start(q, i);
}

int ls_record_unjudged(const ls_trainer *t, int i, char text[LS_RECORD_TEXT])
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(text);

    asking q = {.trainer = t, .is = ls__state_of(t), .left = i, .text = text};

    *text = 0;
    if (i < 0)
        return ls__fail(LS_EINVAL, "ls_record_unjudged: number %d", i);
    name_operators(&q);
    name_rules(&q);
    name_starts(&q);
    return q.left < 0;
}

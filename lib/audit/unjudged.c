/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a training a dispute does not judge, before there is one: operators,
 * rules and first values, each by its name. */
#include "base/error.h"
#include "record/evidence_rules.h"
#include "record/record_start.h"
#include "state/trainer_state.h"
#include <lockstep/record.h>

#include <inttypes.h>
#include <stdio.h>

/* One after the other is counted, and the one that is asked for written. */
typedef struct asking {
    const ls_trainer *trainer;
    ls__state is;
    int left; /* that come before it; below 0: it is there */
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

        if (!ls_record_judges("operator", ls_node_op(n)))
            name(q, "operator \"%.100s\" (node %d \"%.200s\")", ls_node_op(n),
                 i, ls_node_name(n));
    }
}

static void name_rule(asking *q, const char *kind, const char *rule,
                      const char *of)
{
    if (!ls_record_judges(kind, rule))
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

/* A program's own values are nobody else's to make; a matrix may be too large
 * for the referee to make within seconds. */
static void name_start(asking *q, int i)
{
    const ls__slot *s = &q->is.layout->slot[i];
    uint32_t word[LS__START_WORDS];

    if (!ls__record_start(q->trainer, i, word))
        name(q, "first values of \"%.200s\", which a function of the program "
             "gives", s->name);
    else if (!ls__evidence_starts(word, s->size))
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

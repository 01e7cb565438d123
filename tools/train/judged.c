/* SPDX-License-Identifier: BSD-3-Clause */
/* See judged.h. */
#include "train/judged.h"

#include <lockstep/record.h>

#include <stdio.h>

static void tell_operators(const ls_graph *g)
{
    for (int i = 0; i < ls_graph_nodes(g); i++) {
        const ls_node *n = ls_graph_node(g, i);

        if (ls_record_judges("operator", ls_node_op(n)))
            continue;
        printf("referee does not know operator \"%s\" (node %d \"%s\")\n",
               ls_node_op(n), i, ls_node_name(n));
    }
}

static void tell(const char *kind, const char *name, const char *of)
{
    if (!ls_record_judges(kind, name))
        printf("referee does not know %s \"%s\"%s\n", kind, name, of);
}

void judged_tell(const run *r)
{
    const run_settings *s = &r->how;

    tell_operators(r->graph);
    tell("update", ls_optimizer_name((ls_optimizer_kind)s->optimizer), "");
    tell("schedule", ls_schedule_name((ls_schedule_kind)s->schedule), "");
    tell("schedule", ls_schedule_name((ls_schedule_kind)s->decay_schedule),
         " of decay");
    tell("schedule", ls_schedule_name((ls_schedule_kind)s->dropout_schedule),
         " of dropout");
}

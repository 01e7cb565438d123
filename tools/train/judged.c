/* SPDX-License-Identifier: BSD-3-Clause */
/* See judged.h. */
#include "train/judged.h"

#include <lockstep/record.h>

#include <stdio.h>

static int tell_operators(const ls_graph *g)
{
    int unknown = 0;

    for (int i = 0; i < ls_graph_nodes(g); i++) {
        const ls_node *n = ls_graph_node(g, i);

        if (ls_record_judges("operator", ls_node_op(n)))
            continue;
        printf("referee does not know operator \"%s\" (node %d \"%s\")\n",
               ls_node_op(n), i, ls_node_name(n));
        unknown++;
    }
    return unknown;
}

static int tell(const char *kind, const char *name, const char *of)
{
    if (ls_record_judges(kind, name))
        return 0;
    printf("referee does not know %s \"%s\"%s\n", kind, name, of);
    return 1;
}

void judged_tell(const run *r)
{
    const run_settings *s = &r->how;
    int unknown = tell_operators(r->graph);

    unknown += tell("update",
                    ls_optimizer_name((ls_optimizer_kind)s->optimizer), "");
    unknown += tell("schedule",
                    ls_schedule_name((ls_schedule_kind)s->schedule), "");
    unknown += tell("schedule",
                    ls_schedule_name((ls_schedule_kind)s->decay_schedule),
                    " of decay");
    unknown += tell("schedule",
                    ls_schedule_name((ls_schedule_kind)s->dropout_schedule),
                    " of dropout");
    if (!unknown)
        puts("referee knows every operator, update and schedule");
}

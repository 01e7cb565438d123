/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a run as a list of names and values. */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>

void run_list_add(run_list *l, const char *name, const char *value)
{
    l->setting[l->count++] = (ls_setting){name, value};
}

void run_list_options(run_list *l, const run *r, bool of_ranks, bool of_old,
                      bool (*wanted)(const opt *o))
{
    const opt_program *p = &r->program;
    const opt_model *of = p->models[r->line.model];

    run_list_add(l, "model", of->name);
    for (int i = 0; i < p->count; i++) {
        const opt *o = &p->option[i];
        bool quoted;
        const char *value = opt_value(o, l->room[i], &quoted);

        if (!wanted(o) || !opt_takes(o, of))
            continue;
        if (of_ranks && o->use != OPT_NO_FILE)
            value = r->line.given[i] ? "given" : NULL;
        if (!value)
            value = of_ranks ? "not given" : "";
        snprintf(l->name[i], sizeof l->name[i], "--%s",
                 of_old && o->was ? o->was : o->name);
        run_list_add(l, l->name[i], value);
    }
}

static bool moves_messages(const opt *o)
{
    return !o->of_rank;
}

int run_compare(const run *r, launch *with)
{
    run_list *l = with->transport ? calloc(1, sizeof *l) : NULL;
    int status;

    if (!with->transport)
        return OPT_GO;
    if (!l)
        return opt_fail(OPT_FAILED, "no memory to compare options");
    run_list_options(l, r, true, false, moves_messages);
    status = launch_compare(with, l->count, l->setting);
    free(l);
    return status;
}

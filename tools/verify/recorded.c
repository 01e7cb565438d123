/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorded.h.  The rows are those of lockstep-train. */
#include "verify/recorded.h"
#include "run/run.h"
#include "train/train_settings.h"

#include <string.h>

const char recorded_file[] = "file ";

/* A run that is not run has the rows of all options. */
const opt_program *recorded_trainer(void)
{
    static train_settings set;
    static run r;

    if (!r.program.count)
        run_program(&r, "",
                    &(run_own){train_report_options, train_keep_options, &set});
    return &r.program;
}

/* Rows of lockstep-train alone are left out of this program's. */
static const opt *row_of(const char *name)
{
    const opt_program *p = recorded_trainer();
    int i = opt_find(p, name);

    if (i >= 0)
        return &p->option[i];
    for (i = 0; i < p->others; i++)
        if (strcmp(p->other[i]->name, name) == 0)
            return p->other[i];
    return NULL;
}

bool recorded_option(const char *name)
{
    size_t skipped = strlen(recorded_file);
    bool is_file = strncmp(name, recorded_file, skipped) == 0;
    const opt *o;

    name += is_file ? skipped : 0;
    o = strncmp(name, "--", 2) == 0 ? row_of(name + 2) : NULL;
    return o && opt_is_recorded(o) && o->is_file == is_file;
}

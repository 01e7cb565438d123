/* SPDX-License-Identifier: BSD-3-Clause */
/* See close_look.h. */
#include "train/close_look.h"
#include "run/record_option.h"

#include <lockstep/record.h>

#include <inttypes.h>

int close_look_open(close_look *c, const run *r, const train_settings *set)
{
    *c = (close_look){.step = -1, .values = set->values,
                      .path = r->line.paths ? r->line.path[0] : NULL};
    if (!set->record && !set->prove && c->path)
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\": only --record "
                        "STEP[:DEVICE] and --prove have a file's name behind "
                        "them", c->path);
    if (set->prove && !c->path)
        return opt_fail(OPT_WRONG, "--prove %s: the name of the file that is "
                        "to be written follows it", set->prove);
    if (!set->record)
        return OPT_GO;
    if (record_option_read(set->record, &c->step, &c->device) != OPT_GO)
        return OPT_WRONG;
    if (!c->path)
        return opt_fail(OPT_WRONG, "--record %s: the name of the file that is "
                        "to be written follows it, as --record %s a.lsr",
                        set->record, set->record);
    if (r->set.data.steps && c->step >= r->set.data.steps)
        return opt_fail(OPT_WRONG, "--record %s: the run has %" PRId64
                        " steps, counted from 0", set->record,
                        r->set.data.steps);
    return OPT_GO;
}

int close_look_step(close_look *c, const run *r, int64_t step,
                    ls_result *result)
{
    ls_record_options o = ls_record_defaults();

    if (step != c->step)
        return opt_check(ls_step(r->trainer, r->batch, result));
    o.path = c->path;
    o.device = c->device;
    o.values = c->values;
    c->is_done = true;
    return opt_check(ls_trainer_record(r->trainer, r->batch, &o, result));
}

int close_look_close(const close_look *c)
{
    if (c->step < 0 || c->is_done)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "--record: the run never came to step %" PRId64
                    ", so %s was not written", c->step, c->path);
}

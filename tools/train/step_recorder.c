/* SPDX-License-Identifier: BSD-3-Clause */
/* See step_recorder.h. */
#include "train/step_recorder.h"
#include "run/record_option.h"

#include <inttypes.h>

/* A file that no option names may be the data. */
static int refuse_path(const run *r, const char *path)
{
    const opt_program *p = r->line.program;
    const opt *named = &p->option[opt_find(p, "data")];

    if (opt_takes(named, p->models[r->line.model]) && !run_given(r, "data"))
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\": type --data %s",
                        path, path);
    return opt_fail(OPT_WRONG, "unexpected argument \"%s\": only --record "
                    "STEP[:DEVICE] has a file's name behind it", path);
}

int step_recorder_open(step_recorder *c, const run *r,
                       const train_settings *set)
{
    *c = (step_recorder){.step = -1, .values = set->values,
                      .path = r->line.paths ? r->line.path[0] : NULL};
    if (!set->record && c->path)
        return refuse_path(r, c->path);
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
                        " step%s, counted from 0", set->record,
                        r->set.data.steps, opt_s(r->set.data.steps));
    return OPT_GO;
}

int step_recorder_step(step_recorder *c, const run *r, const position *at,
                       ls_result *result)
{
    ls_record_options o = ls_record_defaults();
    ls_control control[KEEPER_CONTROLS];
    ls_array_spec spec;
    ls_source rows;

    if (at->done != c->step)
        return opt_check(ls_step(r->trainer, r->batch, result));
    (void)step_recorder_follow(c, NULL, NULL); /* it is taken again */
    o.path = c->path;
    o.device = c->device;
    o.values = c->values;
    o.batches = at->done;
    o.n_controls = keeper_controls(r, at, control);
    o.controls = control;
    o.record = &c->record;
    data_record(&r->data, &rows, &spec, &o);
    c->is_done = true;
    return opt_check(ls_trainer_record(r->trainer, r->batch, &o, result));
}

int step_recorder_follow(step_recorder *c, const run *r, const position *at)
{
    ls_record *record = c->record;
    ls_control control[KEEPER_CONTROLS];
    int n = at ? keeper_controls(r, at, control) : 0;

    c->record = NULL;
    return record ? opt_check(ls_record_end(record, at ? at->done : -1, n,
                                            control))
                  : OPT_GO;
}

int step_recorder_close(step_recorder *c)
{
    int status = step_recorder_follow(c, NULL, NULL);

    if (c->step < 0 || c->is_done)
        return status;
    return opt_fail(OPT_FAILED, "--record: the run never came to step %" PRId64
                    ", so %s was not written", c->step, c->path);
}

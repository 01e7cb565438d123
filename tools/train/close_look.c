/* SPDX-License-Identifier: BSD-3-Clause */
/* See close_look.h. */
#include "train/close_look.h"

#include <lockstep/record.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A whole number of digits alone, up to most; text goes behind it. */
static bool number(const char **text, int64_t most, int64_t *n)
{
    const char *at = *text;

    for (*n = 0; *at >= '0' && *at <= '9' && *n <= most; at++)
        *n = 10 * *n + (*at - '0');
    if (at == *text || *n > most)
        return false;
    *text = at;
    return true;
}

static bool read_option(close_look *c, const char *text)
{
    int64_t device = -1;
    bool good = number(&text, INT64_C(1000000000000000), &c->step);

    if (good && *text == ':') {
        text++;
        good = number(&text, 65535, &device);
    }
    c->device = (int)device;
    return good && !*text;
}

int close_look_open(close_look *c, const run *r, const train_settings *set)
{
    *c = (close_look){.step = -1, .values = set->values,
                      .path = r->line.paths ? r->line.path[0] : NULL};
    if (!set->record && c->path)
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\": only --record "
                        "STEP[:DEVICE] has a file's name behind it", c->path);
    if (!set->record)
        return OPT_GO;
    if (!read_option(c, set->record))
        return opt_fail(OPT_WRONG, "--record %s: it takes a step, or a step "
                        "and a device, both counted from 0, as 417 or 417:3",
                        set->record);
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

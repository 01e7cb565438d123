/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the learning rate that need more than their own text. */
#include "run/rate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "100:0.1": where it ends, or NULL.  Strict as in opt.c: strtod also takes
 * blanks, signs, hexadecimal, "inf" and "nan". */
static const char *read_boundary(const char *text, ls_boundary *out)
{
    size_t digits = strspn(text, "0123456789");
    const char *factor = text + digits + 1;
    char *end;

    if (!digits || text[digits] != ':')
        return NULL;
    errno = 0;
    out->update = strtoll(text, NULL, 10);
    out->factor = strtod(factor, &end);
    if (errno || !strchr("0123456789.", *factor) || end == factor ||
        (size_t)(end - factor) > strspn(factor, "0123456789.eE+-"))
        return NULL;
    return end;
}

static int read_boundaries(const char *text, ls_boundary *room, int *count)
{
    const char *at = text;

    for (*count = 0; *count < RATE_BOUNDARIES; at++) {
        at = read_boundary(at, &room[(*count)++]);
        if (at && !*at)
            return OPT_GO;
        if (!at || *at != ',')
            return opt_fail(OPT_WRONG, "--schedule:boundaries: \"%s\" is not "
                            "STEP:FACTOR,STEP:FACTOR,...", text);
    }
    return opt_fail(OPT_WRONG, "--schedule:boundaries: \"%s\" has more than %d",
                    text, RATE_BOUNDARIES);
}

/* The steps of schedule:decay-steps, or the whole run.  Where that is no step
 * at all, any number will do. */
static int64_t decay_steps(const run_settings *s, int64_t steps)
{
    if (s->decay_steps)
        return s->decay_steps;
    return steps ? steps : s->warmup + 1;
}

int rate_read(const run_settings *s, const data_settings *d,
              ls_boundary room[RATE_BOUNDARIES], ls_schedule *out)
{
    *out = (ls_schedule){
        .kind = (ls_schedule_kind)s->schedule,
        .warmup = s->warmup,
        .decay_steps = decay_steps(s, d->steps),
        .boundaries = room,
        .cycle_factor = s->cycle_factor,
        .cycles = s->cycles,
    };
    if (out->kind != LS_PIECEWISE)
        return optim_settings_set(s->of_schedule, SETTINGS_SCHEDULE,
                                  s->schedule, out);
    return read_boundaries(s->boundaries, room, &out->n_boundaries);
}

double rate_peak(const run_settings *s, const data_settings *d)
{
    return s->scale_lr ? ls_scale_lr(s->lr, d->batch) : s->lr;
}

ls_schedule rate_share(int64_t kind, const data_settings *d)
{
    ls_schedule s = ls_schedule_defaults((ls_schedule_kind)kind);

    s.decay_steps = d->steps > 0 ? d->steps : 1;
    return s;
}

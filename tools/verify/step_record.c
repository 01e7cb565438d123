/* SPDX-License-Identifier: BSD-3-Clause */
/* See step_record.h. */
#include "verify/step_record.h"
#include "run/record_option.h"

#include <lockstep/record.h>

#include <inttypes.h>
#include <stdio.h>

int step_record_compare(const opt_line *line, bool *same)
{
    ls_record_difference d;
    int status;

    if (line->paths != 2)
        return opt_fail(OPT_WRONG, "--trace-bits compares two records of a "
                        "step, as lockstep-train --record writes them");
    status = opt_check(ls_record_compare(line->path[0], line->path[1], &d));
    if (status != OPT_GO)
        return status;
    puts(d.same ? "same: every array and number of the step" : d.text);
    *same = d.same;
    return OPT_GO;
}

int step_record_write(const replay *r, const char *step, const opt_line *line)
{
    int64_t batches = published_batches(r->of), n;
    int device;

    if (record_option_read(step, &n, &device) != OPT_GO)
        return OPT_WRONG;
    if (line->paths != 2)
        return opt_fail(OPT_WRONG, "--record needs the file that it writes, "
                        "behind the transcript");
    if (n >= batches)
        return opt_fail(OPT_WRONG, "--record %s: %s has %" PRId64 " steps, "
                        "counted from 0", step, r->of->path, batches);
    return replay_record(r, n, device, line->path[1], true);
}

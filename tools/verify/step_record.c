/* SPDX-License-Identifier: BSD-3-Clause */
/* See step_record.h. */
#include "verify/step_record.h"
#include "run/record_option.h"

#include <lockstep/record.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        return opt_fail(OPT_WRONG, "--record %s: %s has %" PRId64 " step%s, "
                        "counted from 0", step, r->of->path, batches,
                        opt_s(batches));
    return replay_record(r, n, device, line->path[1], true);
}

/* The states that a file has; without memory, or where it changed since it was
 * compared, there are none. */
static ls_state_root *states_of(const char *path, int64_t *n)
{
    int64_t room = ls_transcript_states(path, 0, NULL);
    ls_state_root *all = room > 0 ? calloc((size_t)room, sizeof *all) : NULL;

    *n = all && ls_transcript_states(path, room, all) == room ? room : 0;
    return all;
}

void step_record_tell(char *const path[2])
{
    int64_t n[2], same = 0, step, last;
    ls_state_root *a = states_of(path[0], &n[0]);
    ls_state_root *b = states_of(path[1], &n[1]);

    while (same < n[0] && same < n[1] && a[same].batches == b[same].batches &&
           strcmp(a[same].root, b[same].root) == 0)
        same++;
    if (same > 0 && same < n[0] && same < n[1]) {
        step = a[same - 1].batches;
        last = a[same].batches - 1;
        if (step < last)
            printf("next: it is one of steps %" PRId64 " to %" PRId64
                   ": train again with --transcript :every=1, and compare\n",
                   step, last);
        else
            printf("next: of both lockstep-verify --record %" PRId64 " RUN.lst "
                   "STEP.lsr, then referee A.lsr B.lsr A.lst B.lst\n", step);
    }
    free(a);
    free(b);
}

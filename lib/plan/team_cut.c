/* SPDX-License-Identifier: BSD-3-Clause */
/* What a team cuts a shard into: groups of members that run chunks at the same
 * time, and in a group parts of a chunk's rows.  By shapes and counts alone:
 * what takes least, in operations. */
#include "plan/team.h"

enum {
    LEAST = 1 << 16, /* operations of a chunk that pay a call of the team */
    MEETING = 1 << 14 /* operations in the time of a meeting of few */
};

/* Operations of one chunk's time, cut into so many parts. */
static double chunk_time(const ls__plan *plan, int64_t rows, int parts)
{
    int64_t each = (rows - 1) / parts + 1, unit = plan->unit;
    double meetings = 3.0 * plan->count * MEETING;

    if (parts == 1)
        return plan->work * (double)rows;
    if (rows < parts)
        return (plan->work - plan->split + plan->split / parts) *
                   (double)rows + meetings;
    each = (each - 1) / unit * unit + unit;
    each = each < rows ? each : rows;
    return (plan->work - plan->cut) * (double)rows +
           plan->cut * (double)each + meetings;
}

static int64_t chunks_of(const ls__work *w)
{
    return ls__plan_chunks(w->plan, w->shard->rows);
}

/* Chunks that may be at work at the same time. */
static int64_t most_groups(const ls__work *w)
{
    return (w->plan->tied && w->grads) || w->plan->stays ? 1 : chunks_of(w);
}

ls__cut ls__cut_as(const ls__work *w, ls__cut asked)
{
    int64_t most = most_groups(w);

    if (!w->plan->loose || most < 1)
        return (ls__cut){1, 1};
    return (ls__cut){asked.groups < most ? asked.groups : (int)most,
                     asked.parts};
}

double ls__cut_time(const ls__work *w, ls__cut cut)
{
    const ls__plan *plan = w->plan;
    int64_t rows = w->shard->rows;

    rows = rows < plan->chunk_rows ? rows : plan->chunk_rows;
    return (double)((chunks_of(w) - 1) / cut.groups + 1) *
           chunk_time(plan, rows, cut.parts);
}

ls__cut ls__cut_of(const ls__work *w, int members)
{
    ls__cut best = {1, 1};
    double least = ls__cut_time(w, best);

    if (!w->plan->loose || least < LEAST)
        return best;
    for (int parts = 1; parts <= members; parts++) {
        ls__cut cut = ls__cut_as(w, (ls__cut){members / parts, parts});
        double time = ls__cut_time(w, cut);

        if (time < least) {
            best = cut;
            least = time;
        }
    }
    return best;
}

/* A member is behind the one before it by its longest turn; small turns cost
 * more. */
unsigned ls__cut_turns(const ls__cut *cut)
{
    if (cut->parts > 1)
        return (unsigned)(cut->groups > 1 ? 2 * cut->parts : cut->parts);
    return (unsigned)(cut->groups < 3 ? 1 : cut->groups < 8 ? cut->groups : 8);
}

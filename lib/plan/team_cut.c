/* SPDX-License-Identifier: BSD-3-Clause */
/* The cut of a shard by a team: groups of members that run chunks at the same
 * time, and in a group parts of a chunk's rows.  By shapes and counts alone:
 * what takes least, in operations. */
#include "base/assert.h"
#include "plan/team.h"

enum {
    LEAST = 1 << 16, /* operations of a chunk that pay a call of the team */
    BARRIER = 1 << 14 /* operations in the time of a barrier of few */
};

/* The time of one chunk cut into `parts` parts, in operations. */
static double chunk_time(const ls__plan *plan, int64_t rows, int parts)
{
    int64_t each = (rows - 1) / parts + 1, unit = plan->unit;
    double barriers = 3.0 * plan->count * BARRIER;

    if (parts == 1)
        return plan->work.row * (double)rows;
    if (rows < parts)
        return (plan->work.row - plan->work.split + plan->work.split / parts) *
                   (double)rows + barriers;
    each = (each - 1) / unit * unit + unit;
    each = each < rows ? each : rows;
    return (plan->work.row - plan->work.cut) * (double)rows +
           plan->work.cut * (double)each + barriers;
}

static int64_t chunks_of(const ls__work *w)
{
    return ls__plan_chunks(w->plan, w->shard->rows);
}

/* Chunks that may be at work at the same time. */
static int64_t most_groups(const ls__work *w)
{
    return (w->plan->tied && w->grads) ||
        w->plan->memory.stays ? 1 : chunks_of(w);
}

ls__team_cut ls__cut_as(const ls__work *w, ls__team_cut asked)
{
    int64_t most = most_groups(w);

    if (!w->plan->loose || most < 1)
        return (ls__team_cut){1, 1};
    return (ls__team_cut){asked.groups < most ? asked.groups : (int)most,
                     asked.parts};
}

double ls__cut_time(const ls__work *w, ls__team_cut cut)
{
    const ls__plan *plan = w->plan;
    int64_t rows = w->shard->rows;

    LS__ASSERT(cut.groups >= 1 && cut.parts >= 1);
    rows = rows < plan->chunk_rows ? rows : plan->chunk_rows;
    return (double)((chunks_of(w) - 1) / cut.groups + 1) *
           chunk_time(plan, rows, cut.parts);
}

ls__team_cut ls__cut_of(const ls__work *w, int members)
{
    ls__team_cut best = {1, 1};
    double least = ls__cut_time(w, best);

    if (!w->plan->loose || least < LEAST)
        return best;
    for (int parts = 1; parts <= members; parts++) {
        ls__team_cut cut =
            ls__cut_as(w, (ls__team_cut){members / parts, parts});
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
unsigned ls__cut_turns(const ls__team_cut *cut)
{
    if (cut->parts > 1)
        return (unsigned)(cut->groups > 1 ? 2 * cut->parts : cut->parts);
    return (unsigned)(cut->groups < 3 ? 1 : cut->groups < 8 ? cut->groups : 8);
}

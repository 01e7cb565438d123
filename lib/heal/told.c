/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings of a check: who was wrong, in words, and where its work goes. */
#include "heal/heal.h"
#include "base/assert.h"
#include "base/error.h"
#include "pool/pool.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <string.h>

/* "PU 3 (worker 1)", or "worker 1" where it is not pinned; of ranks "rank 2: PU
 * 3 (worker 1)". */
static const char *name_of(const ls__heal *h, int worker, char text[64])
{
    int pu = ls__pool_pu(h->pool, worker), at = 0;

    if (h->ranks)
        at = snprintf(text, 64, "rank %d: ", h->ranks->link->rank);
    if (pu >= 0)
        snprintf(text + at, 64 - (size_t)at, "PU %d (worker %d)", pu, worker);
    else
        snprintf(text + at, 64 - (size_t)at, "worker %d", worker);
    return text;
}

int ls__told_tie(const ls__heal *h, const ls__step *s, int kind, int part)
{
    char what[LS_TEXT];

    ls__part_name(h, kind, part, what);
    return ls__fail(LS_EDIFFERS, "step %lld: %s was computed %d times, and no "
                    "two cores agree; %s", (long long)s->number, what,
                    LS__VOTES,
                    kind == LS__CHANGES
                        ? "go on from what was saved before"
                        : "nothing was updated");
}

/* ------ who was wrong ------ */

/* A worker's part in one step. */
typedef struct blame {
    int checks, wrong;
    int kind, part; /* the first that was */
} blame;

/* Count the votes of a part, as far as they went. */
static void count_part(const ls__heal *h, const ls__step *s, int kind, int part,
                       int worker, blame *of)
{
    const ls__ballot *b = &h->ballot[kind][part];
    int owner = ls__part_owner(h, s, kind, part), rounds = 2;
    uint64_t right = 0;

    if (owner < 0)
        return;
    while (rounds < LS__VOTES &&
           !ls__votes_decide(&h->jury, b, owner, rounds, &right))
        rounds++;
    ls__votes_decide(&h->jury, b, owner, rounds, &right);
    for (int r = 0; r < rounds; r++) {
        if (ls__votes_voter(&h->jury, b, owner, r) != worker)
            continue;
        of->checks++;
        if (b->vote[r] == right)
            continue;
        if (of->wrong++ == 0) {
            of->kind = kind;
            of->part = part;
        }
    }
    LS__ASSERT(of->wrong <= of->checks);
}

static blame blame_of(const ls__heal *h, const ls__step *s, int worker)
{
    blame of = {0};

    for (int kind = 0; kind < LS__PART_KINDS; kind++)
        for (int i = 0; h->healer[0].round[kind] > 0 &&
                        i < ls__part_count(h, kind); i++)
            count_part(h, s, kind, i, worker, &of);
    return of;
}

/* ------ what follows ------ */

/* Move it, and say where to. */
static void move(ls__heal *h, int worker, char text[128])
{
    int pu = ls__pool_other_pu(h->pool, worker);

    if (h->workers == 1)
        snprintf(text, 128, "there is one worker, which computed it again");
    else if (ls__pool_pu(h->pool, worker) < 0)
        snprintf(text, 128, "it is not pinned, so its work cannot be moved");
    else if (pu < 0)
        snprintf(text, 128, "no other core is left for its work");
    else if (ls__pool_move(h->pool, worker, pu) < 0)
        snprintf(text, 128, "its work stays: %.90s", ls_errmsg());
    else {
        snprintf(text, 128, "its work moves to PU %d", pu);
        h->told.moved++;
    }
}

static void tell(ls__heal *h, const ls__step *s, int worker, const blame *of)
{
    char who[64], what[LS_TEXT], then[128];

    h->told.step = s->number;
    h->told.worker = worker;
    h->told.pu = ls__pool_pu(h->pool, worker);
    name_of(h, worker, who);
    ls__part_name(h, of->kind, of->part, what);
    move(h, worker, then);
    snprintf(h->text, sizeof h->text, "step %lld: %s computed %.200s wrongly: "
             "%d of %d checks; %s", (long long)s->number, who, what, of->wrong,
             of->checks, then);
}

void ls__told_step(ls__heal *h, const ls__step *s)
{
    h->told.drawn++;
    for (int w = 0; w < h->workers; w++) {
        blame of = blame_of(h, s, w);

        h->told.checks += of.checks;
        h->told.wrong += of.wrong;
        if (of.wrong)
            tell(h, s, w, &of);
    }
}

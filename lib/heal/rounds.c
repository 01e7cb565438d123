/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass of a drawn step, and its rounds of votes. */
#include "heal/heal.h"
#include "base/assert.h"
#include "pool/pool.h"
#include "ranks/sync_points.h"
#include "ranks/spread.h"
#include "train/phases.h"

#include <string.h>

/* ------ a round ------ */

static ls__heal *heal_of(const ls__step *s)
{
    return ls__heal_of(s->trainer);
}

static bool is_decided(const ls__heal *h, const ls__step *s, int kind, int part,
                       int rounds, uint64_t *right)
{
    return ls__votes_decide(&h->jury, &h->ballot[kind][part],
                            ls__part_owner(h, s, kind, part), rounds, right);
}

static void vote(ls__heal *h, ls__step *s, int kind, int part, int worker)
{
    int round = h->healer[worker].round[kind];
    int owner = ls__part_owner(h, s, kind, part);
    ls__ballot *b = &h->ballot[kind][part];
    uint64_t right;

    LS__ASSERT(round >= 0 && round < LS__ROUNDS);
    if (owner < 0 || ls__votes_decide(&h->jury, b, owner, round, &right) ||
        ls__votes_voter(&h->jury, b, owner, round) != worker)
        return;
    if (round > 0)
        ls__part_again(h, s, kind, part, worker);
    b->vote[round] = ls__part_digest(h, s, kind, part);
}

/* Each worker goes through all parts, and does its own of this round; in the
 * first round, those that it computed.  Votes of earlier rounds stand; those of
 * this one are not read. */
static bool first_round_of(ls__step *s, int kind, int worker)
{
    ls__heal *h = heal_of(s);

    for (int i = 0; i < ls__part_count(h, kind); i++)
        vote(h, s, kind, i, worker);
    return true;
}

static bool round_of(ls__step *s, int kind, int worker)
{
    heal_of(s)->healer[worker].round[kind]++;
    return first_round_of(s, kind, worker);
}

/* Do the owner and the first other one agree on every part?  Then no further
 * round has anything to do. */
static bool all_agree(const ls__step *s, int kind)
{
    const ls__heal *h = heal_of(s);
    uint64_t right;

    for (int i = 0; i < ls__part_count(h, kind); i++)
        if (ls__part_owner(h, s, kind, i) >= 0 &&
            !is_decided(h, s, kind, i, 2, &right))
            return false;
    return true;
}

/* Ask witnesses for what is still undecided: worker 0, while the others wait.
 */
static bool witness_of(ls__step *s, int kind, int worker)
{
    ls__heal *h = heal_of(s);
    uint64_t right;

    for (int i = 0; worker == 0 && i < ls__part_count(h, kind); i++)
        if (ls__part_owner(h, s, kind, i) >= 0 &&
            !is_decided(h, s, kind, i, LS__ROUNDS, &right))
            ls__witness(h, s, kind, i);
    return true;
}

/* The first number of the worker's range that is not finite; -1: all are. */
static int64_t first_bad(const ls__step *s, int worker)
{
    ls__range mine = ls__reduce_mine(s, worker);

    for (ls__stretch part = {0}; ls__owned_next(&s->trainer->owned, &part);) {
        ls__range r = ls__stretch_common(&part, mine);
        int64_t n = r.last - r.first, bad;

        if (n <= 0)
            continue;
        bad = ls__kernels()->first_nonfinite(n, s->gradient + r.first);
        if (bad < n)
            return r.first + bad;
    }
    return -1;
}

/* Look again for what is not finite where others corrected a sum: the worker
 * looked at the wrong one. */
static void look_again(const ls__heal *h, ls__step *s, int worker)
{
    bool changed = false;
    uint64_t right;

    for (int i = 0; i < h->kept_count; i++)
        changed |= ls__part_owner(h, s, LS__SUMS, i) == worker &&
                   !is_decided(h, s, LS__SUMS, i, 2, &right);
    if (changed)
        s->notes.bad[worker] = first_bad(s, worker);
}

/* Decide after the last round: every worker sees alike whether the step goes
 * on. */
static bool settle(ls__step *s, int kind, int worker)
{
    ls__heal *h = heal_of(s);
    uint64_t right;

    if (kind == LS__SUMS)
        look_again(h, s, worker);
    for (int i = 0; i < ls__part_count(h, kind); i++)
        if (ls__part_owner(h, s, kind, i) >= 0 &&
            !is_decided(h, s, kind, i, LS__VOTES, &right)) {
            if (worker == 0)
                h->tied = ls__told_tie(h, s, kind, i);
            if (worker == 0 && !h->ranks)
                s->status = h->tied;
            return h->ranks != NULL;
        }
    return true;
}

/* A rank that could not decide ends the step of all, once the gradients that
 * the others wait for have left. */
static bool agree(ls__step *s, int worker)
{
    const ls__heal *h = heal_of(s);

    if (worker == 0 && s->status >= 0)
        s->status = ls__spread_agree(s->trainer, h->tied);
    return true;
}

static bool agreed(ls__step *s, int worker)
{
    (void)worker;
    return s->status >= 0;
}

/* ------ the phases ------ */

static bool prepare(ls__step *s, int worker)
{
    ls__heal *h = heal_of(s);

    for (int i = worker; i < ls__part_count(h, LS__PACKS); i += h->workers) {
        ls__exec_pack_one(h->model->plan, &h->model->weights, i);
        vote(h, s, LS__PACKS, i, worker);
    }
    return true;
}

/* Its digest is taken while some of it is still in the cache. */
static void gradients(ls__step *s, int worker, int device)
{
    ls__phase_gradients(s, worker, device);
    vote(heal_of(s), s, LS__SHARDS, device, worker);
}

/* Copy blocks before a reduction writes over them. */
static void keep(ls__step *s, int kind, int worker)
{
    ls__heal *h = heal_of(s);

    for (int i = 0; i < ls__part_count(h, kind); i++)
        if (ls__part_owner(h, s, kind, i) == worker)
            ls__part_keep_sum(h, s, kind, i);
}

static bool keep_partials(ls__step *s, int w)
{
    keep(s, LS__PARTIALS, w);
    return true;
}

static bool keep_sums(ls__step *s, int w)
{
    keep(s, LS__SUMS, w);
    return true;
}

/* Appends a phase to a pass. */
static void put(ls__pass *p, ls__phase what)
{
    ls__phase *at = p->phase;

    while (at->run || at->run_device)
        at++;
    LS__ASSERT(at < p->phase + LS__PHASES - 1);
    *at = what;
}

/* The phases' functions of a kind: a phase has no argument for its kind. */
#define PHASES_OF(name, kind) \
    static bool idle_##name(const ls__step *s) \
    { \
        return all_agree(s, kind); \
    } \
    static bool vote_##name(ls__step *s, int worker) \
    { \
        return round_of(s, kind, worker); \
    } \
    static bool witness_##name(ls__step *s, int worker) \
    { \
        return witness_of(s, kind, worker); \
    } \
    static bool settle_##name(ls__step *s, int worker) \
    { \
        return settle(s, kind, worker); \
    }
#define CHECK(name) vote_##name, witness_##name, settle_##name, idle_##name
/* The owner's votes, where they are not given with what it computed. */
#define FIRST_OF(name, kind) \
    static bool first_##name(ls__step *s, int worker) \
    { \
        return first_round_of(s, kind, worker); \
    }

PHASES_OF(packs, LS__PACKS)
PHASES_OF(shards, LS__SHARDS)
PHASES_OF(partials, LS__PARTIALS)
PHASES_OF(sums, LS__SUMS)
PHASES_OF(changes, LS__CHANGES)
FIRST_OF(partials, LS__PARTIALS)
FIRST_OF(sums, LS__SUMS)
FIRST_OF(changes, LS__CHANGES)

typedef bool phase(ls__step *s, int worker);

static const struct {
    const char *name;
    ls__lap_kind lap;
    phase *votes, *witness, *settles;
    bool (*idle)(const ls__step *s);
    phase *first;
} checks[] = {
    [LS__PACKS] = {"check weights", LS__GRADIENTS, CHECK(packs), NULL},
    [LS__SHARDS] = {"check gradients", LS__GRADIENTS, CHECK(shards), NULL},
    [LS__PARTIALS] = {"check sums", LS__REDUCE, CHECK(partials),
                      first_partials},
    [LS__SUMS] = {"check sums", LS__REDUCE, CHECK(sums), first_sums},
    [LS__CHANGES] = {"check update", LS__UPDATE, CHECK(changes),
                     first_changes},
};

_Static_assert(sizeof checks / sizeof *checks == LS__PART_KINDS, "all kinds");

/* Rounds of votes, their witnesses, and what they come to: all after the
 * second have something to do only where not all agree. */
static void put_check(ls__pass *p, int kind)
{
    ls__phase at = {.name = checks[kind].name, .lap = checks[kind].lap};

    if ((at.run = checks[kind].first))
        put(p, at);
    at.run = checks[kind].votes;
    put(p, at);
    at.idle = checks[kind].idle;
    for (int i = 2; i < LS__ROUNDS; i++)
        put(p, at);
    at.run = checks[kind].witness;
    put(p, at);
    at.run = checks[kind].settles;
    put(p, at);
}

static void put_agreement(ls__pass *p, bool ranks, ls__lap_kind lap)
{
    if (!ranks)
        return;
    put(p, (ls__phase){"agree", lap, .run = agree});
    put(p, (ls__phase){"agree", lap, .run = agreed});
}

static void put_gradients(ls__pass *p)
{
    put(p, (ls__phase){"prepare", LS__GRADIENTS, .run = prepare});
    put_check(p, LS__PACKS);
    put(p, (ls__phase){"gradients", LS__GRADIENTS,
                       .run_device = gradients});
    put_check(p, LS__SHARDS);
}

static void put_sums(ls__pass *p, bool ranks)
{
    if (ranks) {
        put(p, (ls__phase){"copies", LS__REDUCE, .run = keep_partials});
        put(p, (ls__phase){"partial sums", LS__REDUCE,
                           .run = ls__phase_partials});
        put_check(p, LS__PARTIALS);
        put(p, (ls__phase){"exchange", LS__REDUCE, .run = ls__phase_exchange});
        put_agreement(p, ranks, LS__REDUCE);
    }
    put(p, (ls__phase){"copies", LS__REDUCE, .run = keep_sums});
    put(p, (ls__phase){"reduce", LS__REDUCE,
                       .run = ranks ? ls__phase_complete : ls__phase_reduce});
    put_check(p, LS__SUMS);
    put_agreement(p, ranks, LS__REDUCE);
    if (ranks)
        put(p, (ls__phase){"soundness", LS__REDUCE, .run = ls__phase_sound});
}

static void put_update(ls__pass *p, bool ranks)
{
    put(p, (ls__phase){"update", LS__UPDATE, .run = ls__phase_update});
    put_check(p, LS__CHANGES);
    put_agreement(p, ranks, LS__UPDATE);
    if (ranks)
        put(p, (ls__phase){"values", LS__UPDATE, .run = ls__phase_values});
}

ls__pass ls__heal_pass(bool ranks)
{
    ls__pass p = {.train = true, .reduces = true, .updates = true};

    put_gradients(&p);
    put_sums(&p, ranks);
    put_update(&p, ranks);
    return p;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass of a drawn step, its rounds of votes, and what follows from them. */
#include "heal/checked_step.h"
#include "base/error.h"
#include "base/sized.h"
#include "heal/heal.h"
#include "heal/told.h"
#include "pool/pool.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/riders.h"

#include <stdio.h>
#include <stdlib.h>
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

    if (owner < 0 || ls__votes_decide(&h->jury, b, owner, round, &right) ||
        ls__votes_voter(&h->jury, b, owner, round) != worker)
        return;
    if (round > 0)
        ls__part_again(h, s, kind, part, worker);
    b->vote[round] = ls__part_digest(h, s, kind, part);
}

/* Each worker goes through all parts, and does those that are its own in this
 * round.  Votes of earlier rounds stand; those of this one are not read. */
static bool round_of(ls__step *s, int kind, int worker)
{
    ls__heal *h = heal_of(s);

    for (int i = 0; i < ls__part_count(h, kind); i++)
        vote(h, s, kind, i, worker);
    h->healer[worker].round[kind]++;
    return true;
}

/* Decide after the last round: every worker sees alike whether the step goes
 * on. */
static bool settle(ls__step *s, int kind, int worker)
{
    ls__heal *h = heal_of(s);
    uint64_t right;

    for (int i = 0; i < ls__part_count(h, kind); i++)
        if (ls__part_owner(h, s, kind, i) >= 0 &&
            !is_decided(h, s, kind, i, LS__ROUNDS, &right)) {
            if (worker == 0)
                s->status = ls__told_tie(h, s, kind, i);
            return false;
        }
    return true;
}

/* ------ the phases ------ */

static bool prepare(ls__step *s, int worker)
{
    ls__heal *h = heal_of(s);

    for (int i = worker; i < ls__part_count(h, LS__PACKS); i += h->workers)
        ls__exec_pack_one(h->model->plan, &h->model->weights, i);
    return true;
}

static bool vote_packs(ls__step *s, int w) { return round_of(s, LS__PACKS, w); }
static bool vote_shards(ls__step *s, int w)
{
    return round_of(s, LS__SHARDS, w);
}
static bool vote_sums(ls__step *s, int w) { return round_of(s, LS__SUMS, w); }
static bool vote_changes(ls__step *s, int w)
{
    return round_of(s, LS__CHANGES, w);
}
static bool settle_packs(ls__step *s, int w) { return settle(s, LS__PACKS, w); }

static void keep_sum(ls__heal *h, const ls__step *s, int part)
{
    const ls__kept_block *k = &h->kept[part];
    int64_t first = k->block * LS__REDUCE_BLOCK;
    int64_t left = h->model->params.floats - first;
    size_t n = (size_t)(left < LS__REDUCE_BLOCK ? left : LS__REDUCE_BLOCK);

    memcpy(k->gradient, s->trainer->grad.device[0] + first,
           n * sizeof *k->gradient);
}

/* The reduction writes over the first device's gradient. */
static bool settle_shards(ls__step *s, int worker)
{
    ls__heal *h = heal_of(s);

    for (int i = 0; i < h->kept_count; i++)
        if (ls__part_owner(h, s, LS__SUMS, i) == worker)
            keep_sum(h, s, i);
    return settle(s, LS__SHARDS, worker);
}

/* Look again for what is not finite, where a sum has changed since. */
static bool settle_sums(ls__step *s, int worker)
{
    const ls__heal *h = heal_of(s);
    ls__range mine = ls__reduce_mine(s, worker);
    int64_t n = mine.last - mine.first, bad;
    bool changed = false;
    uint64_t right;

    for (int i = 0; i < h->kept_count; i++)
        changed |= ls__part_owner(h, s, LS__SUMS, i) == worker &&
                   !is_decided(h, s, LS__SUMS, i, 2, &right);
    if (changed) {
        bad = ls__kernels()->first_nonfinite(n, s->gradient + mine.first);
        s->notes.bad[worker] = bad < n ? mine.first + bad : -1;
    }
    return settle(s, LS__SUMS, worker);
}

static bool settle_changes(ls__step *s, int w)
{
    return settle(s, LS__CHANGES, w);
}

/* So often a row of the pass. */
static ls__phase *put(ls__phase *at, int times, ls__phase p)
{
    while (times-- > 0)
        *at++ = p;
    return at;
}

static ls__pass make_pass(void)
{
    ls__pass p = {.train = true, .reduces = true, .updates = true};
    ls__phase *at = p.phase;

    /* clang-format off */
    at = put(at, 1, (ls__phase){"prepare", LS__GRADIENTS, .run = prepare});
    at = put(at, LS__ROUNDS, (ls__phase){"check weights", LS__GRADIENTS,
                                         .run = vote_packs});
    at = put(at, 1, (ls__phase){"check weights", LS__GRADIENTS,
                                .run = settle_packs});
    at = put(at, 1, (ls__phase){"gradients", LS__GRADIENTS,
                                .run_device = ls__phase_gradients});
    at = put(at, LS__ROUNDS, (ls__phase){"check gradients", LS__GRADIENTS,
                                         .run = vote_shards});
    at = put(at, 1, (ls__phase){"check gradients", LS__GRADIENTS,
                                .run = settle_shards});
    at = put(at, 1, (ls__phase){"reduce", LS__REDUCE, .run = ls__phase_reduce});
    at = put(at, LS__ROUNDS, (ls__phase){"check sums", LS__REDUCE,
                                         .run = vote_sums});
    at = put(at, 1, (ls__phase){"check sums", LS__REDUCE, .run = settle_sums});
    at = put(at, 1, (ls__phase){"update", LS__UPDATE, .run = ls__phase_update});
    at = put(at, LS__ROUNDS, (ls__phase){"check update", LS__UPDATE,
                                         .run = vote_changes});
    put(at, 1, (ls__phase){"check update", LS__UPDATE, .run = settle_changes});
    /* clang-format on */
    return p;
}

/* ------ opening ------ */

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    (void)needs;
    return rig->options->check > 0;
}

/* A worker without devices has no context of its own. */
static int open_contexts(ls__heal *h, const ls__rig *rig)
{
    int status = 0, first, last;

    if (!rig->context)
        return 0;
    h->context = ls__new((size_t)h->workers, sizeof *h->context, "check");
    h->own = ls__new((size_t)h->workers, sizeof *h->own, "check");
    if (!h->context || !h->own)
        return LS_ENOMEM;
    for (int w = 0; w < h->workers && status == 0; w++) {
        ls__pool_shards_of(h->pool, h->devices, w, &first, &last);
        if (first == last)
            status = ls__context_open(&h->own[w], h->model->plan);
        h->context[w] = first < last ? rig->context[first] : h->own[w];
    }
    return status;
}

enum { EACH = 4 }; /* blocks that a worker's share of a drawn step has */

static int open_blocks(ls__heal *h)
{
    int64_t blocks = ls__reduce_blocks(h->model->params.floats);
    int64_t n = (int64_t)EACH * h->workers, arrays = 2 + h->moments;
    float *at;

    h->kept_count = (int)(h->all || n > blocks ? blocks : n);
    h->slot = ls__new((size_t)blocks, sizeof *h->slot, "check");
    h->kept = ls__new((size_t)h->kept_count, sizeof *h->kept, "check");
    at = h->room = ls__block_zero((size_t)(h->kept_count * arrays) *
                                      LS__REDUCE_BLOCK * sizeof *at,
                                  "copies for a check");
    if (!h->slot || !h->kept || !h->room)
        return LS_ENOMEM;
    for (int64_t b = 0; b < blocks; b++)
        h->slot[b] = -1;
    for (int i = 0; i < h->kept_count; i++) {
        ls__kept_block *k = &h->kept[i];

        k->block = -1;
        k->gradient = at;
        k->value = at + LS__REDUCE_BLOCK;
        for (int m = 0; m < h->moments; m++)
            k->moment[m] = at + (2 + m) * LS__REDUCE_BLOCK;
        at += arrays * LS__REDUCE_BLOCK;
    }
    return 0;
}

static int open_ballots(ls__heal *h)
{
    for (int kind = 0; kind < LS__PART_KINDS; kind++) {
        size_t n = (size_t)ls__part_count(h, kind);

        h->ballot[kind] = ls__new(n + 1, sizeof **h->ballot, "check");
        if (!h->ballot[kind])
            return LS_ENOMEM;
    }
    return 0;
}

/* The average is kept with the moments. */
static int count_moments(const ls__rig *rig)
{
    return ls__optim_moments(rig->options->optimizer.kind) +
           (rig->kept != NULL);
}

static int open_check(void **own, const ls__rig *rig)
{
    ls__heal *h;
    int status;

    if (rig->ranks)
        return ls__fail(LS_ENOTSUP, "a check of steps is for one process; over "
                        "ranks there is none yet");
    if (!(h = *own = ls__new(1, sizeof *h, "check")))
        return LS_ENOMEM;
    *h = (ls__heal){.pool = rig->pool, .model = rig->model,
                    .workers = rig->workers, .devices = rig->devices.count,
                    .rate = rig->options->check, .moments = count_moments(rig),
                    .all = rig->options->check >= 1, .pass = make_pass(),
                    .key = ls_key_new(rig->options->seed)};
    h->told = (ls_checks){.step = -1, .worker = -1, .pu = -1};
    h->healer = ls__block_zero((size_t)h->workers * sizeof *h->healer, "check");
    if (!h->healer)
        return LS_ENOMEM;
    if ((status = open_contexts(h, rig)) < 0 ||
        (status = open_blocks(h)) < 0)
        return status;
    return open_ballots(h);
}

static void close_check(void *own)
{
    ls__heal *h = own;

    for (int w = 0; h->own && w < h->workers; w++)
        ls__context_close(h->own[w]);
    for (int kind = 0; kind < LS__PART_KINDS; kind++)
        free(h->ballot[kind]);
    ls__block_free(h->healer);
    ls__block_free(h->room);
    free(h->context);
    free(h->own);
    free(h->slot);
    free(h->kept);
    free(h);
}

/* ------ a step ------ */

/* The key depends on seed and step, so that no period hides from it. */
static ls_key key_of(const ls__heal *h, int64_t step)
{
    ls_key key = ls_key_fold_in(h->key, 0x6865616c); /* nobody else's stream */

    key = ls_key_fold_in(key, (uint32_t)step);
    return ls_key_fold_in(key, (uint32_t)(step >> 32));
}

/* The blocks of this step; a block that is drawn twice is checked once. */
static void draw_blocks(ls__heal *h, ls_key key)
{
    uint32_t blocks = (uint32_t)ls__reduce_blocks(h->model->params.floats);

    for (int i = 0; i < h->kept_count; i++)
        if (h->kept[i].block >= 0)
            h->slot[h->kept[i].block] = -1;
    for (int i = 0; i < h->kept_count; i++) {
        uint32_t b = h->all ? (uint32_t)i
                            : ls_key_split(key, (uint64_t)i + 2).word[0] %
                                  blocks;
        bool taken = h->slot[b] >= 0;

        h->kept[i].block = taken ? -1 : (int64_t)b;
        atomic_store_explicit(&h->kept[i].owner, -1, memory_order_relaxed);
        if (!taken)
            h->slot[b] = i;
    }
}

/* Count the workers' cores; two workers on one PU are no two witnesses. */
static int count_cores(const ls__heal *h)
{
    int cores = 0;

    for (int w = 0; w < h->workers; w++) {
        bool seen = false;

        for (int v = 0; v < w; v++)
            seen |= ls__pool_pu(h->pool, w) >= 0 &&
                    ls__pool_pu(h->pool, v) == ls__pool_pu(h->pool, w);
        cores += !seen;
    }
    return cores;
}

static int begin(void *own, ls__step *s)
{
    ls__heal *h = own;
    ls_key key = key_of(h, s->number);

    if (!s->pass->updates || s->pass->trusted || !s->batch)
        return 0;
    h->told.steps++;
    if ((double)key.word[0] >= h->rate * 0x1p32)
        return 0;
    s->pass = &h->pass;
    s->checked = true;
    h->jury = (ls__jury){.workers = h->workers, .cores = count_cores(h),
                         .turn = 1};
    if (h->workers > 1)
        h->jury.turn += (int)(key.word[1] % (uint32_t)(h->workers - 1));
    memset(h->healer, 0, (size_t)h->workers * sizeof *h->healer);
    h->moves = ls__riders_have_moves(s);
    draw_blocks(h, key);
    return 0;
}

static void before(void *own, const ls__step *s, const ls__patch *patch)
{
    const ls__heal *h = own;

    if (s->checked)
        ls__part_keep(h, s, patch,
                      (int)(ls__track_here() - ls__pool_track(h->pool, 0)));
}

static void end(void *own, const ls__step *s, const ls_result *result)
{
    (void)result;
    if (s->checked)
        ls__told_step(own, s);
}

const ls__rider ls__check = {.name = "check", .wants = wants,
                             .open = open_check, .close = close_check,
                             .begin = begin, .end = end, .before = before};

void ls_trainer_checks_bytes(const ls_trainer *trainer, ls_checks *checks,
                             size_t size)
{
    static const ls_checks none = {.step = -1, .text = "", .worker = -1,
                                   .pu = -1};

    LS__NEED_AS(trainer, "trainer", );
    LS__NEED_OR(checks, );

    ls__heal *h = ls__heal_of(trainer);
    ls_checks c = h ? h->told : none;

    c.text = h ? h->text : "";
    ls__sized_put(checks, size, &c, sizeof c);
}

ls__heal *ls__heal_of(const ls_trainer *t)
{
    const ls__riding *r = t->rider;

    while (r->is && r->is != &ls__check)
        r++;
    return r->is ? r->own : NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The draw of steps to check, and of their parts. */
#include "heal/heal.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "base/sized.h"
#include "pool/pool.h"
#include "ranks/ranks.h"
#include "train/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ opening ------ */

static bool wants(const ls__rig *rig, ls__needs *needs)
{
    bool rides = rig->options->check > 0;

    needs->single |= rides;
    return rides;
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
        ls__pool_shards_of(h->pool, h->devices.count, w, &first, &last);
        if (first == last)
            status = ls__context_open(&h->own[w], h->model->plan);
        h->context[w] = first < last ? rig->context[first] : h->own[w];
    }
    return status;
}

/* The number of blocks that a drawn step checks: a few for each worker, but no
 * more than a share of them.  Where blocks are few, a check of all would take
 * as long as the gradients. */
static int count_drawn(const ls__heal *h, int64_t blocks)
{
    enum { EACH = 4, OF = 8 };
    int64_t n = (int64_t)EACH * h->workers, share = (blocks + OF - 1) / OF;

    return (int)(h->all ? blocks : ls__least(n, share));
}

static int open_blocks(ls__heal *h)
{
    int64_t all = ls__reduce_blocks(h->model->params.floats);
    int64_t blocks = ls__reduce_blocks(ls__owned_floats(&h->owned));
    int64_t arrays = h->over[LS__SUMS] + 1 + h->moments;
    float *at;

    h->kept_count = count_drawn(h, blocks);
    h->slot = ls__new((size_t)all, sizeof *h->slot, "check");
    h->kept = ls__new((size_t)h->kept_count + 1, sizeof *h->kept, "check");
    at = h->room = ls__block_zero((size_t)(h->kept_count * arrays + 1) *
                                      LS__REDUCE_BLOCK * sizeof *at,
                                  "copies for a check");
    if (!h->slot || !h->kept || !h->room)
        return LS_ENOMEM;
    for (int64_t b = 0; b < all; b++)
        h->slot[b] = -1;
    for (int i = 0; i < h->kept_count; i++) {
        ls__kept_block *k = &h->kept[i];

        LS__ASSERT(at + arrays * LS__REDUCE_BLOCK <=
                   h->room + (h->kept_count * arrays + 1) * LS__REDUCE_BLOCK);
        k->block = -1;
        k->gradient = at;
        k->value = at + h->over[LS__SUMS] * LS__REDUCE_BLOCK;
        for (int m = 0; m < h->moments; m++)
            k->moment[m] = k->value + (1 + m) * LS__REDUCE_BLOCK;
        at += arrays * LS__REDUCE_BLOCK;
    }
    return 0;
}

/* The others' partial sums are their own to check. */
static int open_partials(ls__heal *h)
{
    int64_t all = ls__reduce_blocks(h->model->params.floats);
    int64_t arrays = h->over[LS__PARTIALS];
    float *at;

    if (!h->ranks)
        return 0;
    h->partial_count = count_drawn(h, all);
    h->partial = ls__new((size_t)h->partial_count, sizeof *h->partial, "check");
    at = h->partial_room = ls__block_zero((size_t)(h->partial_count * arrays) *
                                              LS__REDUCE_BLOCK * sizeof *at,
                                          "copies for a check");
    if (!h->partial || !h->partial_room)
        return LS_ENOMEM;
    for (int i = 0; i < h->partial_count; i++)
        h->partial[i].gradient = at + i * arrays * LS__REDUCE_BLOCK;
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

static void count_over(ls__heal *h, const ls__rig *rig)
{
    bool means = rig->options->mean == LS_MEAN_OF_SHARDS;

    h->over[LS__SUMS] = means ? h->devices.count : 1;
    if (!h->ranks)
        return;
    h->over[LS__SUMS] = h->ranks->exchange.cut.parts;
    h->over[LS__PARTIALS] = means ? h->devices.count
                                  : ls__exchange_parts(&h->ranks->exchange)
                                        .count;
}

static int open_check(void **own, const ls__rig *rig)
{
    ls__heal *h;
    int status;

    if (!(h = *own = ls__new(1, sizeof *h, "check")))
        return LS_ENOMEM;
    *h = (ls__heal){.pool = rig->pool, .model = rig->model,
                    .workers = rig->workers, .devices = rig->devices,
                    .owned = rig->owned, .ranks = rig->ranks,
                    .rate = rig->options->check, .moments = count_moments(rig),
                    .all = rig->options->check >= 1,
                    .pass = ls__heal_pass(rig->ranks),
                    .key = ls_key_new(rig->options->seed)};
    h->told = (ls_health){.step = -1, .worker = -1, .pu = -1};
    count_over(h, rig);
    h->healer = ls__block_zero((size_t)h->workers * sizeof *h->healer, "check");
    if (!h->healer)
        return LS_ENOMEM;
    if ((status = open_contexts(h, rig)) < 0 ||
        (status = open_blocks(h)) < 0 || (status = open_partials(h)) < 0)
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
    ls__block_free(h->partial_room);
    free(h->context);
    free(h->own);
    free(h->slot);
    free(h->kept);
    free(h->partial);
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

/* The block of the layout that lies at a place of what is owned. */
static int64_t block_at(const ls__heal *h, int64_t at)
{
    ls__stretch part = {0};

    while (ls__owned_next(&h->owned, &part) &&
           at >= part.at + part.range.last - part.range.first)
        ;
    return (part.range.first + at - part.at) / LS__REDUCE_BLOCK;
}

/* The blocks of this step, of those that are owned; a block that is drawn twice
 * is checked once. */
static void draw_blocks(ls__heal *h, ls_key key)
{
    uint32_t blocks = (uint32_t)ls__reduce_blocks(ls__owned_floats(&h->owned));

    for (int i = 0; i < h->kept_count; i++)
        if (h->kept[i].block >= 0)
            h->slot[h->kept[i].block] = -1;
    for (int i = 0; i < h->kept_count; i++) {
        uint32_t of = h->all ? (uint32_t)i
                             : ls_key_split(key, (uint64_t)i + 2).word[0] %
                                   blocks;
        int64_t at = (int64_t)of * LS__REDUCE_BLOCK, b = block_at(h, at);
        bool taken = h->slot[b] >= 0;

        LS__ASSERT(of < blocks);
        h->kept[i].block = taken ? -1 : b;
        h->kept[i].at = at;
        atomic_store_explicit(&h->kept[i].owner, -1, memory_order_relaxed);
        if (!taken)
            h->slot[b] = i;
    }
}

static void draw_partials(ls__heal *h, ls_key key)
{
    uint32_t blocks = (uint32_t)ls__reduce_blocks(h->model->params.floats);

    for (int i = 0; i < h->partial_count; i++) {
        uint32_t draw = ls_key_split(key, (uint64_t)i + 2).word[1];

        h->partial[i].block = h->all ? i : (int)(draw % blocks);
        for (int j = 0; j < i && !h->all; j++)
            if (h->partial[j].block == draw % blocks)
                h->partial[i].block = -1;
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
    s->fates = false; /* all blocks are written and summed */
    h->jury = (ls__jury){.workers = h->workers, .cores = count_cores(h),
                         .shift = 1};
    if (h->workers > 1)
        h->jury.shift += (int)(key.word[1] % (uint32_t)(h->workers - 1));
    h->jury.elsewhere = ls__pool_pu(h->pool, 0) < 0 ||
                        ls__pool_spare_pu(h->pool) >= 0;
    LS__ASSERT(h->workers == 1 ||
               (h->jury.shift >= 1 && h->jury.shift < h->workers));
    h->tied = 0;
    memset(h->healer, 0, (size_t)h->workers * sizeof *h->healer);
    draw_blocks(h, key);
    draw_partials(h, key);
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

const ls__hook ls__check = {.name = "check", .wants = wants,
                            .open = open_check, .close = close_check,
                            .begin = begin, .end = end, .before = before};

void ls_trainer_health_bytes(const ls_trainer *trainer, ls_health *health,
                             size_t size)
{
    static const ls_health none = {.step = -1, .text = "", .worker = -1,
                                   .pu = -1};

    LS__NEED_AS(trainer, "trainer", );
    LS__NEED_OR(health, );

    ls__heal *h = ls__heal_of(trainer);
    ls_health found = h ? h->told : none;

    found.text = h ? h->text : "";
    ls__sized_put(health, size, &found, sizeof found);
}

ls__heal *ls__heal_of(const ls_trainer *t)
{
    const ls__riding *r = t->hook;

    while (r->is && r->is != &ls__check)
        r++;
    return r->is ? r->own : NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a step that are computed again: each in the memory where its
 * result is, from what it was computed from, or a copy of that. */
#include "base/assert.h"
#include "heal/heal.h"
#include "kernel/kernel.h"
#include "pool/pool.h"
#include "ranks/reduce_scatter.h"
#include "ranks/sync_points.h"
#include "ranks/ranks.h"
#include "train/device.h"
#include "train/phases.h"
#include "train/hooks.h"
#include "train/verdict.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = LS__REDUCE_BLOCK };

int ls__part_count(const ls__heal *h, int kind)
{
    switch (kind) {
    case LS__PACKS: return h->model->plan ? (int)h->model->plan->packs.n : 0;
    case LS__SHARDS: return h->devices.count;
    case LS__PARTIALS: return h->partial_count;
    default: return h->kept_count;
    }
}

/* ------ who was first ------ */

static int owner_of_block(const ls__heal *h, const ls__step *s,
                          const ls__kept_block *k)
{
    for (int w = 0; k->block >= 0 && w < h->workers; w++) {
        ls__range r = ls__reduce_mine(s, w);

        if (k->at >= r.first && k->at < r.last)
            return w;
    }
    return -1;
}

static int owner_of_partial(const ls__heal *h, const ls__step *s,
                            const ls__kept_block *k)
{
    return k->block < 0 ? -1
                        : ls__reduce_scatter_adder(h->ranks->reduce_scatter, s,
                                                   k->block * BLOCK);
}

int ls__part_owner(const ls__heal *h, const ls__step *s, int kind, int part)
{
    switch (kind) {
    case LS__PACKS: return part % h->workers;
    case LS__SHARDS:
        return ls__pool_worker_of(h->pool, h->devices.count, part);
    case LS__PARTIALS: return owner_of_partial(h, s, &h->partial[part]);
    case LS__SUMS: return owner_of_block(h, s, &h->kept[part]);
    default:
        return h->kept[part].block < 0
                   ? -1 : atomic_load_explicit(&h->kept[part].owner,
                                               memory_order_relaxed);
    }
}

/* ------ a block ------ */

static ls__range range_of(const ls__heal *h, const ls__kept_block *k)
{
    LS__ASSERT(k->block >= 0 &&
               k->block < ls__reduce_blocks(h->model->params.floats));
    return ls__range_common((ls__range){k->block * BLOCK,
                                        (k->block + 1) * BLOCK},
                            (ls__range){0, h->model->params.floats});
}

static const ls__kept_block *block_of(const ls__heal *h, int kind, int part)
{
    LS__ASSERT(kind >= LS__PARTIALS && part >= 0 &&
               part < ls__part_count(h, kind));
    return kind == LS__PARTIALS ? &h->partial[part] : &h->kept[part];
}

/* The place of this rank's partial sum i. */
static float *partial(const ls__heal *h, const ls__step *s, int i)
{
    const ls__exchange *x = &h->ranks->exchange;
    int first = x->cut.part[ls__exchange_parts(x).first + i].first;

    return s->trainer->grad.device[first - h->devices.first];
}

/* Array i of those that are written over, at a block: devices' gradients, or
 * partial sums (those of other ranks where they were received). */
static float *written(const ls__heal *h, const ls__step *s, int kind,
                      const ls__kept_block *k, int i)
{
    const ls__exchange *x = h->ranks ? &h->ranks->exchange : NULL;
    const ls_trainer *t = s->trainer;
    int64_t first = k->block * BLOCK;

    if (x && kind == LS__SUMS)
        return x->partial[i] +
               (ls__span_has(ls__exchange_parts(x), i) ? first : k->at);
    if (x && t->options.mean != LS_MEAN_OF_SHARDS)
        return partial(h, s, i) + first;
    return t->grad.device[i] + first;
}

static size_t bytes_of(const ls__heal *h, const ls__kept_block *k)
{
    ls__range r = range_of(h, k);

    return (size_t)(r.last - r.first) * sizeof(float);
}

void ls__part_keep_sum(const ls__heal *h, const ls__step *s, int kind, int part)
{
    const ls__kept_block *k = block_of(h, kind, part);

    for (int i = 0; i < h->over[kind]; i++)
        memcpy(k->gradient + i * BLOCK, written(h, s, kind, k, i),
               bytes_of(h, k));
}

static void put_back(const ls__heal *h, const ls__step *s, int kind,
                     const ls__kept_block *k)
{
    for (int i = 0; i < h->over[kind]; i++)
        memcpy(written(h, s, kind, k, i), k->gradient + i * BLOCK,
               bytes_of(h, k));
}

/* Sum as ls__phase_reduce does, or over ranks ls__phase_complete. */
static void sum_again(const ls__heal *h, ls__step *s, const ls__kept_block *k)
{
    ls__reduction r = {.buffer = s->trainer->grad.device,
                       .count = h->devices.count,
                       .factor = ls__verdict_factor(s)};
    ls__range mine = range_of(h, k);

    put_back(h, s, LS__SUMS, k);
    if (h->ranks)
        r = ls__completion(s, k->at - mine.first);
    else
        ls__reduce_means(s, mine);
    ls__reduce_ask(s, &r);
    ls__reduce_trained(s, &r, mine);
}

/* Sum as ls__phase_partials does. */
static void partial_again(const ls__heal *h, const ls__step *s,
                          const ls__kept_block *k)
{
    put_back(h, s, LS__PARTIALS, k);
    ls__reduce_scatter_add(s, range_of(h, k));
}

static uint64_t digest_partial(const ls__heal *h, const ls__step *s,
                               const ls__kept_block *k)
{
    int n = ls__exchange_parts(&h->ranks->exchange).count;
    ls__range r = range_of(h, k);
    uint64_t d = 0;

    for (int i = 0; i < n; i++)
        d = ls__kernels()->digest(r.last - r.first, partial(h, s, i) + r.first,
                                  d);
    return d;
}

static uint64_t digest_sum(const ls__heal *h, const ls__step *s,
                           const ls__kept_block *k)
{
    ls__range r = range_of(h, k);
    const float *square = s->notes.square;
    uint64_t d = ls__kernels()->digest(r.last - r.first, s->gradient + r.first,
                                       0);

    return square ? ls__kernels()->digest(1, square + k->block, d) : d;
}

/* ------ an update ------ */

static void copy(float *to, const float *from, int64_t at, ls__range r)
{
    memcpy(to + at, from + r.first, (size_t)(r.last - r.first) * sizeof *to);
}

void ls__part_keep(const ls__heal *h, const ls__step *s, const ls__patch *p,
                   int worker)
{
    const ls_trainer *t = s->trainer;
    int64_t block = p->range.first / BLOCK, at = p->range.first % BLOCK;
    ls__kept_block *k;

    LS__ASSERT((p->range.last - 1) / BLOCK == block);
    if (h->slot[block] < 0)
        return;
    k = &h->kept[h->slot[block]];
    atomic_store_explicit(&k->owner, worker, memory_order_relaxed);
    copy(k->gradient, s->gradient, at, p->range);
    copy(k->value, t->model.value, at, p->range);
    for (int i = 0; i < t->moments.count; i++)
        memcpy(k->moment[i] + at, t->moments.of[i] + p->at,
               (size_t)(p->range.last - p->range.first) * sizeof(float));
}

/* Put back what was there before. */
static void restore(const ls__step *s, const ls__kept_block *k,
                    const ls__patch *p)
{
    const ls_trainer *t = s->trainer;
    int64_t first = p->range.first, at = first % BLOCK;
    size_t bytes = (size_t)(p->range.last - first) * sizeof(float);

    memcpy(s->gradient + first, k->gradient + at, bytes);
    memcpy(t->model.value + first, k->value + at, bytes);
    for (int i = 0; i < t->moments.count; i++)
        memcpy(t->moments.of[i] + p->at, k->moment[i] + at, bytes);
}

static void update(const ls__step *s, const ls__kept_block *k,
                   const ls__patch *p)
{
    (void)k;
    ls__update_patch(s, s->norm, p);
}

static void each_patch(const ls__heal *h, const ls__step *s,
                       const ls__kept_block *k,
                       void (*does)(const ls__step *s, const ls__kept_block *k,
                                    const ls__patch *p))
{
    const ls__params *params = &h->model->params;

    for (int i = 0; i < params->count; i++) {
        const ls__slot *p = &params->slot[i];
        ls__range r = ls__range_common(
            range_of(h, k), (ls__range){p->offset, p->offset + p->size});

        if (r.first < r.last)
            does(s, k, &(ls__patch){i, r,
                                    k->at + r.first - k->block * BLOCK});
    }
}

/* Updates a block again, and finds out again which rows move. */
static void update_again(const ls__heal *h, const ls__step *s,
                         const ls__kept_block *k)
{
    each_patch(h, s, k, restore);
    if (ls__hooks_look(s))
        LS__TELL_HOOKS(s, summed, range_of(h, k), false);
    each_patch(h, s, k, update);
}

static uint64_t digest_update(const ls__heal *h, const ls__step *s,
                              const ls__kept_block *k)
{
    const ls_trainer *t = s->trainer;
    ls__range r = range_of(h, k);
    int64_t n = r.last - r.first;
    uint64_t d = ls__kernels()->digest(n, t->model.value + r.first, 0);

    for (int i = 0; i < t->moments.count; i++)
        d = ls__kernels()->digest(n, t->moments.of[i] + k->at, d);
    return d;
}

/* ------ weights and gradients ------ */

static uint64_t digest_pack(const ls__heal *h, int part)
{
    const ls__pack *q = &h->model->plan->packs.of[part];

    return ls__kernels()->digest(q->floats,
                                 h->model->weights.packed + q->offset, 0);
}

/* The digest of a device's gradient, as far as it is trained, and of its
 * sums. */
static uint64_t digest_shard(const ls__heal *h, const ls__step *s, int device)
{
    const ls_trainer *t = s->trainer;
    const ls_sums *sums = &ls__step_report_of(s, device)->sums;
    ls__range all = {0, h->model->params.floats};
    uint64_t d = ls__kernels()->digest(sizeof *sums / 4, sums, 0);

    for (ls__range run = {0, 0};
         ls__ranges_next(&t->trained.runs, all, &run);)
        d = ls__kernels()->digest(run.last - run.first,
                                  t->grad.device[device] + run.first, d);
    return d;
}

/* ------ any of them ------ */

void ls__part_again(const ls__heal *h, ls__step *s, int kind, int part,
                    int worker)
{
    switch (kind) {
    case LS__PACKS:
        ls__exec_pack_one(h->model->plan, &h->model->weights, part);
        break;
    case LS__SHARDS: /* a function of the user's that failed is the verdict's */
        if (ls__step_report_of(s, part)->status >= 0)
            ls__gradients_in(s, h->context ? h->context[worker] : NULL,
                             worker, part);
        break;
    case LS__PARTIALS: partial_again(h, s, &h->partial[part]); break;
    case LS__SUMS: sum_again(h, s, &h->kept[part]); break;
    default: update_again(h, s, &h->kept[part]);
    }
}

uint64_t ls__part_digest(const ls__heal *h, const ls__step *s, int kind,
                         int part)
{
    switch (kind) {
    case LS__PACKS: return digest_pack(h, part);
    case LS__SHARDS: return digest_shard(h, s, part);
    case LS__PARTIALS: return digest_partial(h, s, &h->partial[part]);
    case LS__SUMS: return digest_sum(h, s, &h->kept[part]);
    default: return digest_update(h, s, &h->kept[part]);
    }
}

void ls__part_name(const ls__heal *h, int kind, int part, char text[LS_TEXT])
{
    int64_t at = kind < LS__PARTIALS ? 0
                                     : block_of(h, kind, part)->block * BLOCK;

    switch (kind) {
    case LS__PACKS:
        snprintf(text, LS_TEXT, "the packed weights of \"%s\"",
                 h->model->plan->packs.of[part].node->name);
        break;
    case LS__SHARDS:
        snprintf(text, LS_TEXT, "device %d", h->devices.first + part);
        break;
    default:
        snprintf(text, LS_TEXT, "the %s of \"%s\"",
                 kind == LS__CHANGES ? "update" : "sum",
                 ls__params_at(&h->model->params, at)->name);
    }
}

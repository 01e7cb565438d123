/* SPDX-License-Identifier: BSD-3-Clause */
/* See details.h. */
#include "state/details.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha.h"
#include "rank/link.h"
#include "state/gather.h"
#include "together/ranks.h"
#include "together/spread.h"
#include "train/batch.h"
#include "train/riders.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* ------ rows ------ */

/* A leaf: how many rows a shard has, 8 bytes little end first; of each input
 * that is set its rows; the weights of rows, if there are any; a byte 0. */
static void hash_shard(const ls__details *d, const ls_shard *shard,
                       ls__digest *to)
{
    const ls__model *m = &d->trainer->model;
    size_t rows = (size_t)shard->rows;
    uint8_t count[8], tag = 0;
    ls__sha256 sha;

    for (int i = 0; i < 8; i++)
        count[i] = (uint8_t)((uint64_t)rows >> 8 * i);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, count, sizeof count);
    for (int i = 0; i < m->inputs && rows; i++)
        if (shard->data[i])
            ls__sha256_update(&sha, shard->data[i],
                              4 * rows * (size_t)m->input[i].size);
    if (shard->weights && rows)
        ls__sha256_update(&sha, shard->weights, 4 * rows);
    ls__sha256_update(&sha, &tag, 1);
    ls__sha256_final(&sha, to->byte);
}

static void ready(void *own, ls__step *s, int worker, int device)
{
    ls__details *d = own;
    const ls_trainer *t = d->trainer;

    (void)worker;
    if (!d->rows || !s->batch || s->calls != t->micro)
        return;
    for (int m = 0; m < t->micro; m++) {
        ls_shard shard = ls__step_shard(s, device, m);

        hash_shard(d, &shard,
                   &d->row[(t->devices.first + device) * t->micro + m]);
    }
}

static int begin(void *own, ls__step *s)
{
    ls__details *d = own;

    if (s->pass->train)
        d->calls = s->calls;
    return 0;
}

/* ------ the gradient ------ */

static void hash_zeros(const ls__details *d, int64_t leaf, ls__digest *to)
{
    static const float zero[LS__LEAF];
    int64_t left = d->trainer->model.params.floats - leaf * LS__LEAF;

    ls__merkle_hash(zero, left < LS__LEAF ? left : LS__LEAF, 0, 1, to);
}

/* What is reduced are whole blocks, and a block is a leaf. */
static void summed(void *own, const ls__step *s, ls__range block, bool zeros)
{
    ls__details *d = own;
    int64_t leaf = block.first / LS__LEAF;

    if (zeros)
        hash_zeros(d, leaf, &d->block[leaf]);
    else
        ls__merkle_hash(s->gradient, d->trainer->model.params.floats, leaf,
                        leaf + 1, d->block);
}

/* ------ opening and closing ------ */

static const ls__rider rows_alone = {.name = "transcript", .begin = begin,
                                     .ready = ready};
static const ls__rider with_gradient = {.name = "transcript", .begin = begin,
                                        .ready = ready, .summed = summed};

/* Make all leaves those of zeros, as those stay of which there is no sum. */
static void clear_blocks(const ls__details *d, ls__digest *block)
{
    if (d->leaves)
        hash_zeros(d, 0, block);
    for (int64_t i = 1; i < d->leaves; i++)
        block[i] = block[0];
    if (d->leaves > 1)
        hash_zeros(d, d->leaves - 1, &block[d->leaves - 1]);
}

int ls__details_open(ls__details *d, ls_trainer *t, bool rows, bool gradient)
{
    size_t most;

    *d = (ls__details){.rows = rows, .gradient = gradient};
    if (!rows && !gradient)
        return 0;
    d->trainer = t;
    d->shards = (int64_t)t->devices.of * t->micro;
    d->leaves = ls__merkle_leaves(t->model.params.floats);
    most = (size_t)(d->shards > d->leaves ? d->shards : d->leaves);
    d->row = ls__new((size_t)d->shards, sizeof *d->row, "roots of steps");
    d->block = ls__new((size_t)d->leaves + 1, sizeof *d->block,
                       "roots of steps");
    d->room = ls__new(most + 1, sizeof *d->room, "roots of steps");
    d->border = ls__new((size_t)t->owned.ranks + 1, sizeof *d->border,
                        "ranks");
    if (!d->row || !d->block || !d->room || !d->border)
        return LS_ENOMEM;
    clear_blocks(d, d->block);
    return ls__riders_add(t->rider, gradient ? &with_gradient : &rows_alone,
                          d);
}

void ls__details_close(ls__details *d)
{
    if (d->trainer)
        ls__riders_drop(d->trainer->rider, d);
    free(d->row);
    free(d->block);
    free(d->room);
    free(d->border);
    *d = (ls__details){0};
}

/* ------ roots ------ */

/* Each rank has the rows of its own devices. */
static int gather_rows(const ls__details *d)
{
    const ls_trainer *t = d->trainer;
    const ls__cut *cut = &t->ranks->exchange.cut;

    for (int r = 0; r <= cut->ranks; r++)
        d->border[r] = (int64_t)cut->border[r] * t->micro *
                       (int64_t)sizeof *d->row;
    return ls__link_gather(t->ranks->link, d->row, d->border);
}

static void put_root(ls__details *d, const ls__digest *leaf, int64_t n,
                     char hex[65])
{
    ls__digest root;

    if (leaf != d->room)
        memcpy(d->room, leaf, (size_t)n * sizeof *leaf);
    root = ls__merkle_root(d->room, n);
    ls__digest_text(&root, hex);
    hex[64] = 0;
}

static int gradient_root(ls__details *d, bool updated, char hex[65])
{
    const ls_trainer *t = d->trainer;
    int status = 0;

    if (!updated) {
        clear_blocks(d, d->room);
        put_root(d, d->room, d->leaves, hex);
        return 0;
    }
    if (ls__spread_is(t))
        status = ls__state_gather(t, 1, d->block, d->room, d->border);
    if (status == 0)
        put_root(d, d->block, d->leaves, hex);
    return status;
}

int ls__details_roots(ls__details *d, bool updated, char rows[65],
                      char gradient[65])
{
    int status = 0;

    *rows = *gradient = 0;
    if (d->rows && d->calls != d->trainer->micro)
        return ls__fail(LS_ENOTSUP, "a transcript with rows: the step took "
                        "%d batches, and there are roots for the rows of %d: "
                        "options.rows = false leaves them out",
                        d->calls, d->trainer->micro);
    if (d->rows && ls__spread_is(d->trainer))
        status = gather_rows(d);
    if (status == 0 && d->rows)
        put_root(d, d->row, d->shards, rows);
    if (status == 0 && d->gradient)
        status = gradient_root(d, updated, gradient);
    return status;
}

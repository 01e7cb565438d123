/* SPDX-License-Identifier: BSD-3-Clause */
/* See details.h. */
#include "state/details.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha.h"
#include "state/canonical.h"
#include "state/gather.h"
#include "ranks/link.h"
#include "reduce/reduce.h"
#include "state/over_ranks.h"
#include "state/trainer_state.h"
#include "train/batch.h"
#include "train/hooks.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* ------ rows ------ */

/* Hash n words of floats, canonical. */
static void hash_floats(ls__sha256 *sha, const float *x, size_t n)
{
    enum { MOST = 1024 };
    uint32_t words[MOST];

    for (size_t at = 0; at < n; at += MOST) {
        size_t some = n - at < MOST ? n - at : MOST;

        ls__canonical(x + at, (int64_t)some, words);
        ls__sha256_words(sha, words, some);
    }
}

/* A leaf: how many rows a shard has, 8 bytes little end first; of each input
 * that is set its rows; the weights of rows, if there are any; a byte 0. */
static void hash_shard(const ls__details *d, const ls_shard *shard,
                       ls__digest *to)
{
    int inputs;
    const ls__input *input = ls__state_inputs(d->trainer, &inputs);
    size_t rows = (size_t)shard->rows;
    uint8_t tag = 0;
    ls__sha256 sha;

    ls__sha256_init(&sha);
    ls__sha256_number(&sha, shard->rows);
    for (int i = 0; i < inputs && rows; i++) {
        size_t n = rows * (size_t)input[i].size;

        if (shard->data[i] && input[i].dtype == LS_I32)
            ls__sha256_words(&sha, shard->data[i], n);
        else if (shard->data[i])
            hash_floats(&sha, shard->data[i], n);
    }
    if (shard->weights && rows)
        hash_floats(&sha, shard->weights, rows);
    ls__sha256_update(&sha, &tag, 1);
    ls__sha256_final(&sha, to->byte);
}

static int begin(void *own, ls__step *s)
{
    ls__details *d = own;

    if (s->pass->train)
        d->calls = s->calls;
    return 0;
}

/* Steps of several batches have no root of rows. */
static void ready(void *own, ls__step *s, int worker, int device)
{
    const ls__details *d = own;
    const ls_trainer *t = s->trainer;
    ls__digest *row = &d->row[(int64_t)(t->devices.first + device) * t->micro];

    (void)worker;
    if (!d->rows || !s->batch || s->calls != t->micro)
        return;
    for (int m = 0; m < t->micro; m++) {
        ls_shard shard = ls__step_shard(s, device, m);

        LS__ASSERT(row + m < d->row + d->shards);
        hash_shard(d, &shard, &row[m]);
    }
}

/* ------ the gradient ------ */

static void hash_zeros(const ls__details *d, int64_t leaf, ls__digest *to)
{
    static const float zero[LS__LEAF];
    int64_t left = d->floats - leaf * LS__LEAF;

    ls__merkle_hash(zero, left < LS__LEAF ? left : LS__LEAF, 0, 1, to);
}

_Static_assert((int)LS__LEAF == (int)LS__REDUCE_BLOCK, "a block is a leaf");

static void summed(void *own, const ls__step *s, ls__range block, bool zeros)
{
    LS__ASSERT(block.first % LS__LEAF == 0);

    const ls__details *d = own;
    int64_t leaf = block.first / LS__LEAF;
    int64_t first = leaf * LS__LEAF, left = d->floats - first;
    int64_t n = left < LS__LEAF ? left : LS__LEAF;
    uint32_t words[LS__LEAF];

    if (zeros) {
        hash_zeros(d, leaf, &d->block[leaf]);
        return;
    }
    ls__canonical_part(ls__state_of(d->trainer).layout, s->gradient + first,
                       first, n, words);
    ls__merkle_hash((const float *)(const void *)words, n, 0, 1,
                    &d->block[leaf]);
}

/* ------ opening and closing ------ */

static const ls__hook rows_alone = {.name = "transcript", .begin = begin,
                                     .ready = ready};
static const ls__hook with_gradient = {.name = "transcript", .begin = begin,
                                        .ready = ready, .summed = summed};

/* Make all leaves those of zeros, which leaves without a sum stay. */
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
    const ls__state is = ls__state_of(t);
    size_t most;

    *d = (ls__details){.rows = rows, .gradient = gradient};
    if (!rows && !gradient)
        return 0;
    d->trainer = t;
    d->micro = is.micro;
    d->floats = is.layout->floats;
    d->shards = (int64_t)is.here.of * is.micro;
    d->leaves = ls__merkle_leaves(d->floats);
    most = (size_t)(d->shards > d->leaves ? d->shards : d->leaves);
    d->row = ls__new((size_t)d->shards, sizeof *d->row, "roots of steps");
    d->block = ls__new((size_t)d->leaves + 1, sizeof *d->block,
                       "roots of steps");
    d->room = ls__new(most + 1, sizeof *d->room, "roots of steps");
    d->border = ls__new((size_t)is.owned.ranks + 1, sizeof *d->border,
                        "ranks");
    if (!d->row || !d->block || !d->room || !d->border)
        return LS_ENOMEM;
    clear_blocks(d, d->block);
    return ls__hooks_add(t->hook, gradient ? &with_gradient : &rows_alone,
                          d);
}

void ls__details_close(ls__details *d)
{
    if (d->trainer)
        ls__hooks_drop(d->trainer->hook, d);
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
    const ls_transport *link = ls__state_of(d->trainer).link;

    for (int r = 0; r <= link->ranks; r++)
        d->border[r] = (int64_t)ls__state_border(d->trainer, r) * d->micro *
                       (int64_t)sizeof *d->row;
    return ls__link_gather(link, d->row, d->border);
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
        status = ls__leaves_gather(t, 1, d->block, d->room, d->border);
    if (status == 0)
        put_root(d, d->block, d->leaves, hex);
    return status;
}

int ls__details_roots(ls__details *d, bool updated, char rows[65],
                      char gradient[65])
{
    int status = 0;

    *rows = *gradient = 0;
    if (d->rows && d->calls != d->micro)
        return ls__fail(LS_ENOTSUP, "a transcript with rows: the step took "
                        "%d batches, and there are roots for the rows of %d: "
                        "options.rows = false leaves them out",
                        d->calls, d->micro);
    if (d->rows && ls__spread_is(d->trainer))
        status = gather_rows(d);
    if (status == 0 && d->rows)
        put_root(d, d->row, d->shards, rows);
    if (status == 0 && d->gradient)
        status = gradient_root(d, updated, gradient);
    return status;
}

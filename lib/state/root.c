/* SPDX-License-Identifier: BSD-3-Clause */
/* The root of a state: each array's Merkle tree, and what else a run that goes
 * on reads. */
#include "state/root.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha.h"
#include "state/canonical.h"
#include "state/gather.h"
#include "state/merkle.h"
#include "pool/call.h"
#include "state/over_ranks.h"
#include "state/trainer_state.h"

#include <stdlib.h>
#include <string.h>

/* An array of the state, as it lies in this process. */
typedef struct array {
    const char *name;
    const float *values; /* as the layout has it, or of what is owned alone */
    bool is_owned;
} array;

typedef struct hashing {
    ls__state is;
    int arrays;
    array array[1 + LS__MOMENTS];
    int64_t leaves;   /* of each array */
    ls__digest *leaf; /* [array][leaf] */
} hashing;

/* The arrays of the state.  Where the average stands in the parameters' place
 * they are told apart again: the root is the one of the state that a step
 * would see. */
static void list_arrays(hashing *h, const ls_trainer *t)
{
    const ls__state is = ls__state_of(t);
    const float *value = ls__state_block(t, 0);

    h->is = is;
    LS__ASSERT(is.moments >= 0 && is.moments <= LS__MOMENTS);
    h->arrays = 1 + is.moments;
    h->leaves = ls__merkle_leaves(is.layout->floats);
    h->array[0] = (array){"", value, false};
    for (int i = 1; i <= is.moments; i++)
        h->array[i] = (array){is.moment_name[i - 1], ls__state_block(t, i),
                              true};
    if (!(is.options->average > 0))
        return;
    LS__ASSERT(is.moments > 0); /* the last of them */
    if (is.averaged)
        h->array[0] = (array){"", h->array[is.moments].values, true};
    if (is.averaged || is.step == 0) /* it begins with the parameters */
        h->array[is.moments] = (array){h->array[is.moments].name, value, false};
}

/* ------ this process's leaves ------ */

/* Leaves of one array that lie in a stretch; `mine` counts from its first. */
static void hash_part(const hashing *h, int a, const ls__stretch *s,
                      ls__range mine)
{
    enum { BOTH = 2 * LS__LEAF }; /* side by side is faster */
    const array *from = &h->array[a];
    const float *values = from->values + (from->is_owned ? s->at
                                                         : s->range.first);
    ls__digest *leaf = h->leaf + a * h->leaves + ls__leaves_of(s).first;
    int64_t floats = s->range.last - s->range.first;
    uint32_t words[BOTH];

    for (int64_t i = mine.first; i < mine.last; i += 2) {
        int64_t n = mine.last - i < 2 ? 1 : 2, at = i * LS__LEAF;
        int64_t left = floats - at;

        left = left < n * LS__LEAF ? left : n * LS__LEAF;
        ls__canonical_part(h->is.layout, values + at, s->range.first + at,
                           left, words);
        ls__merkle_hash((const float *)(const void *)words, left, 0, n,
                        leaf + i);
    }
}

/* A job: each worker takes a share of the owned leaves of every array. */
static void hash_share(void *user, int worker)
{
    const hashing *h = user;
    const ls__owned *o = &h->is.owned;
    ls__range all = {0, ls__owned_leaves(o)};
    int workers = ls_pool_workers(h->is.pool);
    ls__range mine = ls__range_part(all, workers, worker, 1);
    int64_t before = 0;

    for (ls__stretch s = {0}; ls__owned_next(o, &s);) {
        ls__range here = ls__leaves_of(&s);
        int64_t n = here.last - here.first;
        ls__range part = ls__range_common(
            (ls__range){mine.first - before, mine.last - before},
            (ls__range){0, n});

        for (int a = 0; a < h->arrays && part.first < part.last; a++)
            hash_part(h, a, &s, part);
        before += n;
    }
}

/* ------ the text ------ */

static void put_text(ls__sha256 *sha, const char *text)
{
    ls__sha256_update(sha, text, strlen(text) + 1);
}

static void put_control(ls__sha256 *sha, const char *name, uint64_t bits)
{
    put_text(sha, name);
    ls__sha256_number(sha, (int64_t)bits);
}

/* Hashes the list that the root is of; docs/transcript.md says it in words. */
static void finish(const hashing *h, int64_t batches, int n,
                   const ls_control *control, char root[65])
{
    const ls__state *is = &h->is;
    uint8_t tag = 2;
    uint64_t lr;
    ls__sha256 sha;

    memcpy(&lr, &is->lr, sizeof lr);
    ls__sha256_init(&sha);
    put_text(&sha, "lockstep state 1");
    ls__sha256_number(&sha, is->step);
    ls__sha256_number(&sha, batches);
    ls__sha256_number(&sha, h->arrays);
    for (int a = 0; a < h->arrays; a++) {
        ls__digest d = ls__merkle_root(h->leaf + a * h->leaves, h->leaves);

        put_control(&sha, h->array[a].name, (uint64_t)is->layout->floats);
        ls__sha256_update(&sha, d.byte, sizeof d.byte);
    }
    ls__sha256_number(&sha, 1 + n);
    put_control(&sha, "lr", lr);
    for (int i = 0; i < n; i++)
        put_control(&sha, control[i].name, control[i].bits);
    ls__sha256_update(&sha, &tag, 1);
    ls__sha256_hex(&sha, root);
}

/* ------ */

int ls__controls_check(const char *function, int n, const ls_control *control)
{
    if (n < 0)
        return ls__fail(LS_EINVAL, "%s: %d controls", function, n);
    if (n > 0 && !control)
        return ls__null(function, "controls");
    for (int i = 0; i < n; i++)
        if (!control[i].name)
            return ls__fail(LS_EINVAL, "%s: control %d: its name is NULL",
                            function, i);
    return 0;
}

/* ------ room ------ */

int ls__root_room_open(ls__root_room *room, const ls_trainer *t)
{
    const ls__state is = ls__state_of(t);
    size_t n = (size_t)((1 + is.moments) *
                        ls__merkle_leaves(is.layout->floats)) + 1;

    *room = (ls__root_room){.leaf = ls__new(n, sizeof *room->leaf,
                                            "leaves of a state")};
    if (room->leaf && ls__spread_is(t)) {
        room->row = ls__new(n, sizeof *room->row, "leaves of a state");
        room->border = ls__new((size_t)is.owned.ranks + 1,
                               sizeof *room->border, "ranks");
    }
    if (!room->leaf || (ls__spread_is(t) && !(room->row && room->border)))
        return LS_ENOMEM;
    return 0;
}

void ls__root_room_close(ls__root_room *room)
{
    free(room->leaf);
    free(room->row);
    free(room->border);
    *room = (ls__root_room){0};
}

/* ------ */

/* Hash the leaves of these arrays, on all ranks. */
static int hash_leaves(hashing *h, ls_trainer *t, const ls__root_room *room)
{
    int status = ls__pool_call(h->is.pool, NULL, hash_share, h);

    return status == 0 && ls__spread_is(t)
               ? ls__leaves_gather(t, h->arrays, h->leaf, room->row,
                                   room->border)
               : status;
}

int ls__weights_root(ls_trainer *t, const ls__root_room *room, char root[65])
{
    hashing h = {.leaf = room->leaf};
    ls__digest top;
    int status;

    list_arrays(&h, t);
    h.arrays = 1;
    h.array[0] = (array){"", ls__state_block(t, 0), false};
    status = hash_leaves(&h, t, room);
    top = ls__merkle_root(h.leaf, status == 0 ? h.leaves : 0);
    ls__digest_text(&top, root);
    root[64] = 0;
    return status;
}

int ls__root_text(ls_trainer *t, const ls__root_room *room, int64_t batches,
                  int n, const ls_control *control, char root[65])
{
    hashing h = {.leaf = room->leaf};
    int status;

    root[0] = 0;
    list_arrays(&h, t);
    status = hash_leaves(&h, t, room);
    if (status == 0)
        finish(&h, batches, n, control, root);
    return status;
}

int ls_trainer_root(ls_trainer *t, int64_t batches, int n,
                    const ls_control *control, char root[65])
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(root);

    ls__root_room room = {0};
    int status = ls__controls_check(__func__, n, control);

    root[0] = 0;
    if (status == 0 && batches < 0)
        status = ls__fail(LS_EINVAL, "ls_trainer_root: %lld batches",
                          (long long)batches);
    status = ls__spread_agree(t, status < 0 ? status
                                            : ls__root_room_open(&room, t));
    if (status == 0)
        status = ls__root_text(t, &room, batches, n, control, root);
    ls__root_room_close(&room);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The root of a state: each array's Merkle tree, and what else a run that goes
 * on reads. */
#include "state/root.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/merkle.h"
#include "base/sha.h"
#include "pool/pool.h"
#include "rank/link.h"
#include "reduce/owned.h"
#include "together/ranks.h"
#include "together/spread.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* An array of the state, as it lies in this process. */
typedef struct array {
    const char *name;
    const float *values; /* as the layout has it, or of what is owned alone */
    bool is_owned;
} array;

typedef struct hashing {
    const ls_trainer *trainer;
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
    int moments = t->moments;

    h->trainer = t;
    h->arrays = 1 + moments;
    h->leaves = ls__merkle_leaves(t->model.params.floats);
    h->array[0] = (array){"", t->model.value, false};
    for (int i = 0; i < moments; i++)
        h->array[1 + i] = (array){t->moment_name[i], t->moment[i],
                                  true};
    if (t->averaged) {
        array *average = &h->array[moments];

        h->array[0] = (array){"", average->values, true};
        *average = (array){average->name, t->model.value, false};
    }
}

/* ------ this process's leaves ------ */

/* A stretch begins with a leaf, or is an empty one behind the last. */
static ls__range leaves_of(const ls__stretch *s)
{
    return (ls__range){ls__merkle_leaves(s->range.first),
                       ls__merkle_leaves(s->range.last)};
}

static int64_t owned_leaves(const ls__owned *o)
{
    int64_t n = 0;

    for (ls__stretch s = {0}; ls__owned_next(o, &s);)
        n += leaves_of(&s).last - leaves_of(&s).first;
    return n;
}

/* Leaves of one array that lie in a stretch; `mine` counts from its first. */
static void hash_part(const hashing *h, int a, const ls__stretch *s,
                      ls__range mine)
{
    const array *from = &h->array[a];
    int64_t first = leaves_of(s).first;

    ls__merkle_hash(from->values + (from->is_owned ? s->at : s->range.first),
                    s->range.last - s->range.first, mine.first, mine.last,
                    h->leaf + a * h->leaves + first);
}

/* A job: each worker takes a share of the owned leaves of every array. */
static void hash_share(void *user, int worker)
{
    const hashing *h = user;
    const ls__owned *o = &h->trainer->owned;
    ls__range all = {0, owned_leaves(o)};
    ls__range mine = ls__range_part(all, h->trainer->workers, worker, 1);
    int64_t before = 0;

    for (ls__stretch s = {0}; ls__owned_next(o, &s);) {
        ls__range here = leaves_of(&s);
        int64_t n = here.last - here.first;
        ls__range part = ls__range_common(
            (ls__range){mine.first - before, mine.last - before},
            (ls__range){0, n});

        for (int a = 0; a < h->arrays && part.first < part.last; a++)
            hash_part(h, a, &s, part);
        before += n;
    }
}

/* ------ those of other ranks ------ */

/* Copy a rank's leaves between their places and a row without gaps; returns
 * the row's end. */
static ls__digest *move_leaves(const hashing *h, int rank, ls__digest *row,
                               bool out)
{
    ls__owned o = h->trainer->owned;

    o.rank = rank;
    for (int a = 0; a < h->arrays; a++)
        for (ls__stretch s = {0}; ls__owned_next(&o, &s);) {
            ls__range r = leaves_of(&s);
            ls__digest *leaf = h->leaf + a * h->leaves + r.first;
            size_t bytes = (size_t)(r.last - r.first) * sizeof *leaf;

            memcpy(out ? row : leaf, out ? leaf : row, bytes);
            row += r.last - r.first;
        }
    return row;
}

int ls__root_gather(const ls_trainer *t, int arrays, ls__digest *leaf,
                    ls__digest *row, int64_t *border)
{
    const ls_transport *link = t->ranks->link;
    hashing h = {.trainer = t, .arrays = arrays, .leaf = leaf,
                 .leaves = ls__merkle_leaves(t->model.params.floats)};
    ls__digest *at = row;
    int status;

    border[0] = 0;
    for (int r = 0; r < link->ranks; r++) {
        ls__owned o = t->owned;

        o.rank = r;
        if (r == link->rank)
            move_leaves(&h, r, at, true);
        at += arrays * owned_leaves(&o);
        border[r + 1] = (at - row) * (int64_t)sizeof *row;
    }
    status = ls__link_gather(link, row, border);
    at = row;
    for (int r = 0; r < link->ranks && status == 0; r++)
        at = move_leaves(&h, r, at, false);
    return status;
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

/* What the root is a hash of; docs/transcript.md says it in words. */
static void finish(const hashing *h, int64_t batches, int n,
                   const ls_control *control, char root[65])
{
    const ls_trainer *t = h->trainer;
    uint8_t tag = 2;
    uint64_t lr;
    ls__sha256 sha;

    memcpy(&lr, &t->lr, sizeof lr);
    ls__sha256_init(&sha);
    put_text(&sha, "lockstep state 1");
    ls__sha256_number(&sha, t->step);
    ls__sha256_number(&sha, batches);
    ls__sha256_number(&sha, h->arrays);
    for (int a = 0; a < h->arrays; a++) {
        ls__digest d = ls__merkle_root(h->leaf + a * h->leaves, h->leaves);

        put_control(&sha, h->array[a].name, (uint64_t)t->model.params.floats);
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
    size_t n = (size_t)((1 + t->moments) *
                        ls__merkle_leaves(t->model.params.floats)) + 1;

    *room = (ls__root_room){.leaf = ls__new(n, sizeof *room->leaf,
                                            "leaves of a state")};
    if (room->leaf && ls__spread_is(t)) {
        room->row = ls__new(n, sizeof *room->row, "leaves of a state");
        room->border = ls__new((size_t)t->owned.ranks + 1,
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

int ls__root_text(ls_trainer *t, const ls__root_room *room, int64_t batches,
                  int n, const ls_control *control, char root[65])
{
    hashing h = {.leaf = room->leaf};
    int status = ls__pool_take(t->pool);

    root[0] = 0;
    if (status < 0)
        return status;
    list_arrays(&h, t);
    ls__pool_run(t->pool, hash_share, &h);
    if (ls__spread_is(t))
        status = ls__root_gather(t, h.arrays, h.leaf, room->row, room->border);
    ls__pool_give(t->pool);
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
    if (status < 0)
        return status;
    status = ls__spread_agree(t, ls__root_room_open(&room, t));
    if (status == 0)
        status = ls__root_text(t, &room, batches, n, control, root);
    ls__root_room_close(&room);
    return status;
}

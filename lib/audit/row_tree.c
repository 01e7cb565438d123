/* SPDX-License-Identifier: BSD-3-Clause */
/* A source's rows as the leaves of one Merkle tree: its root. */
#include "audit/row_tree.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "state/canonical.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 512,            /* read at once, at most, */
    WORDS = 4 * LS__LEAF   /* or so many words, and one row at the least */
};

typedef ls__row_tree tree;

/* ------ opening ------ */

void ls__row_tree_free(ls__row_tree *t)
{
    for (int a = 0; t->out && a < t->arrays; a++)
        free(t->out[a]);
    free(t->out);
    free(t->size);
    free(t->index);
    free(t->room);
    free(t->leaf);
    free(t->wanted);
    free(t->kept);
}

static int make_room(tree *t)
{
    size_t each = (size_t)t->each, n = (size_t)t->arrays;

    t->index = ls__new(each, sizeof *t->index, "rows");
    t->out = ls__new(n, sizeof *t->out, "rows");
    t->room = ls__new((size_t)(t->each * t->width + 2 * LS__LEAF),
                      sizeof *t->room, "rows");
    t->leaf = ls__new((size_t)ls__merkle_leaves(t->words) + 1, sizeof *t->leaf,
                      "leaves of rows");
    if (!t->index || !t->out || !t->room || !t->leaf)
        return LS_ENOMEM;
    for (int a = 0; a < t->arrays; a++)
        if (!(t->out[a] = ls__new(each * (size_t)t->size[a],
                                  sizeof **t->out, "rows")))
            return LS_ENOMEM;
    return 0;
}

int ls__row_tree_open(ls__row_tree *t, const ls_source *s)
{
    *t = (tree){.source = s, .arrays = s->n_arrays + s->weighted};
    if (s->rows < 1 || s->n_arrays < 1 || !s->fill)
        return ls__fail(LS_EINVAL, "a source of %lld rows and %d arrays is "
                        "empty", (long long)s->rows, s->n_arrays);
    if (s->by_epoch)
        return ls__fail(LS_ENOTSUP, "rows that are others in each epoch have "
                        "no root");
    if (!(t->size = ls__new((size_t)t->arrays, sizeof *t->size, "rows")))
        return LS_ENOMEM;
    for (int a = 0; a < t->arrays; a++) {
        t->size[a] = a < s->n_arrays ? ls__count(s->arrays[a].rank,
                                                 s->arrays[a].shape) : 1;
        t->width += t->size[a];
    }
    if (s->rows > (INT64_MAX >> 4) / t->width)
        return ls__fail(LS_ENOTSUP, "%lld rows of %lld words have no root",
                        (long long)s->rows, (long long)t->width);
    t->words = s->rows * t->width;
    t->each = ls__most(1, ls__least(ROWS, WORDS / t->width));
    return make_room(t);
}

/* ------ hashing ------ */

/* Hash all whole leaves in the room, or at the end what is left. */
static void hash_leaves(tree *t, bool end)
{
    int64_t n = end ? ls__merkle_leaves(t->at) : t->at / LS__LEAF;
    int64_t words = ls__least(n * LS__LEAF, t->at);

    ls__merkle_hash((const float *)(const void *)t->room, words, 0, n,
                    t->leaf + t->done);
    for (int64_t k = 0; t->wanted && k < n; k++)
        if (t->wanted[t->done + k])
            memcpy(t->kept + t->taken++ * LS__LEAF, t->room + k * LS__LEAF,
                   (size_t)ls__least(LS__LEAF, words - k * LS__LEAF) *
                       sizeof *t->kept);
    t->done += n;
    t->at -= words;
    LS__ASSERT(t->done <= ls__merkle_leaves(t->words) && t->at < LS__LEAF);
    memmove(t->room, t->room + words, (size_t)t->at * sizeof *t->room);
}

static void take_row(tree *t, int64_t row)
{
    const ls_source *s = t->source;

    for (int a = 0; a < t->arrays; a++) {
        const uint32_t *from = t->out[a] + row * t->size[a];

        if (a < s->n_arrays && s->arrays[a].dtype == LS_I32)
            memcpy(t->room + t->at, from, (size_t)t->size[a] * sizeof *from);
        else
            ls__canonical(from, t->size[a], t->room + t->at);
        t->at += t->size[a];
    }
    LS__ASSERT(t->at <= t->each * t->width + LS__LEAF);
}

int ls__row_tree_hash(ls__row_tree *t)
{
    const ls_source *s = t->source;

    for (int64_t first = 0; first < s->rows; first += t->each) {
        int64_t n = ls__least(t->each, s->rows - first);
        int status;

        for (int64_t i = 0; i < n; i++)
            t->index[i] = first + i;
        ls__fail(0, "%s", "");
        status = s->fill(s->user, n, t->index, (void *const *)t->out);
        if (status < 0)
            return ls__fail(LS_EUSER, "the data source failed with status %d "
                            "on rows %lld on%s%s", status, (long long)first,
                            *ls_errmsg() ? ": " : "", ls_errmsg());
        for (int64_t i = 0; i < n; i++)
            take_row(t, i);
        hash_leaves(t, false);
    }
    hash_leaves(t, true);
    return 0;
}

int ls_source_root(const ls_source *source, char root[65])
{
    LS__NEED(source);
    LS__NEED(root);

    tree t;
    int status = ls__row_tree_open(&t, source);
    ls__digest top;

    *root = 0;
    if (status == 0)
        status = ls__row_tree_hash(&t);
    if (status == 0) {
        top = ls__merkle_root(t.leaf, t.done);
        ls__digest_text(&top, root);
        root[64] = 0;
    }
    ls__row_tree_free(&t);
    return status;
}

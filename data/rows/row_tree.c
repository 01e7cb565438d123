/* SPDX-License-Identifier: BSD-3-Clause */
/* A source's rows as the leaves of one tree: its root, and evidence of a word
 * of a batch, which stands in one of them, or of what a row weighs.  The rows
 * are one array of words (hash/merkle.h), row after row, of each its arrays and
 * then its weight. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/sized.h"
#include "disk/file.h"
#include "hash/merkle.h"
#include <lockstep/source.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 512,            /* that are read at once, at most, */
    WORDS = 4 * LS__LEAF,  /* or so many words, and one row at the least */
    PATH = 64,             /* digests of a proof */
    SHUFFLED = 1 << 26     /* rows that the referee sorts, at most */
};

typedef struct tree {
    const ls_source *source;
    int arrays;       /* with the weight */
    int64_t width, words; /* of a row, of all rows */
    int64_t *size;    /* [arrays] */
    int64_t each;     /* rows that are read at once */
    int64_t *index;   /* [each] */
    uint32_t **out;   /* [arrays] */
    uint32_t *room;   /* leaves that are not full yet */
    int64_t at, done; /* words in it; leaves hashed */
    ls__digest *leaf;
    int64_t wanted;   /* a leaf whose words are kept; -1: none */
    uint32_t kept[LS__LEAF];
    int64_t kept_words;
} tree;

/* ------ opening ------ */

static void free_tree(tree *t)
{
    for (int a = 0; t->out && a < t->arrays; a++)
        free(t->out[a]);
    free(t->out);
    free(t->size);
    free(t->index);
    free(t->room);
    free(t->leaf);
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

static int open_tree(tree *t, const ls_source *s)
{
    *t = (tree){.source = s, .arrays = s->n_arrays + s->weighted, .wanted = -1};
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
    int64_t words = ls__least(n * LS__LEAF, t->at), i = t->wanted - t->done;

    ls__merkle_hash((const float *)(const void *)t->room, words, 0, n,
                    t->leaf + t->done);
    if (i >= 0 && i < n) {
        t->kept_words = ls__least(LS__LEAF, words - i * LS__LEAF);
        memcpy(t->kept, t->room + i * LS__LEAF,
               (size_t)t->kept_words * sizeof *t->kept);
    }
    t->done += n;
    t->at -= words;
    memmove(t->room, t->room + words, (size_t)t->at * sizeof *t->room);
}

static void take_row(tree *t, int64_t row)
{
    for (int a = 0; a < t->arrays; a++) {
        memcpy(t->room + t->at, t->out[a] + row * t->size[a],
               (size_t)t->size[a] * sizeof *t->room);
        t->at += t->size[a];
    }
}

static int hash_rows(tree *t)
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
    int status = open_tree(&t, source);
    ls__digest top;

    *root = 0;
    if (status == 0)
        status = hash_rows(&t);
    if (status == 0) {
        top = ls__merkle_root(t.leaf, t.done);
        ls__digest_text(&top, root);
        root[64] = 0;
    }
    free_tree(&t);
    return status;
}

/* ------ evidence ------ */

/* Where the word of a claim stands in a row: which row of the batch, and how
 * many words of the source's row, or of the first one of a window, are before
 * it. */
typedef struct spot {
    int64_t row, word;
} spot;

static spot spot_of(const tree *t, const ls_row_claim *c)
{
    int64_t size = c->array < t->source->n_arrays
                       ? t->size[c->array] * ls__most(c->window, 1) : 1;
    spot at = {c->element / size, c->element % size};

    for (int a = 0; a < c->array; a++)
        at.word += t->size[a];
    return at;
}

/* The permutation of the epoch, or the window that the step draws. */
static int64_t row_of(const tree *t, const ls_row_claim *c, int64_t row,
                      int *status)
{
    int64_t rows = t->source->rows, first, at;
    int32_t *order, start;

    if (c->window) {
        ls_random_randint(ls_key_fold_in(c->key, (uint32_t)c->step),
                          (uint64_t)(row < c->batch ? row : 0), 1, 0,
                          (int32_t)(rows - c->window + 1), &start);
        return start;
    }
    first = c->step % c->batches * c->batch;
    at = first + (row < ls__least(c->batch, rows - first) ? row : 0);
    if (!c->shuffle)
        return at;
    if (!(order = ls__new((size_t)rows, sizeof *order, "order of rows"))) {
        *status = LS_ENOMEM;
        return 0;
    }
    *status = ls_random_permutation(
        ls_key_fold_in(c->key, (uint32_t)(c->step / c->batches)), rows, order);
    at = *status < 0 ? 0 : order[at];
    free(order);
    return at;
}

static void put_words(FILE *f, const char *name, int n, const uint32_t *word)
{
    fputs(name, f);
    for (int i = 0; i < n; i++)
        fprintf(f, " %08" PRIx32, word[i]);
    fputc('\n', f);
}

static void put_count(FILE *f, const char *name, int64_t n)
{
    put_words(f, name, 1, &(uint32_t){(uint32_t)n});
}

static void put_digests(FILE *f, const char *name, int n, const ls__digest *d)
{
    fputs(name, f);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 32; k++)
            fprintf(f, "%s%02x", k % 4 ? "" : " ", d[i].byte[k]);
    fputc('\n', f);
}

/* The siblings of the leaf that was kept, from the root down, and the root;
 * returns how many.  The leaves are used up. */
static int path_of(const tree *t, ls__digest path[PATH], ls__digest *root)
{
    ls__digest *node = t->leaf, both[2];
    bool is_left[PATH];
    int64_t first = 0, n = t->done;
    int depth = 0;

    for (; n > 1; depth++) {
        int64_t left = 1;

        while (2 * left < n)
            left *= 2;
        is_left[depth] = t->wanted - first < left;
        path[depth] = is_left[depth]
                          ? ls__merkle_root(node + first + left, n - left)
                          : ls__merkle_root(node + first, left);
        first += is_left[depth] ? 0 : left;
        n = is_left[depth] ? left : n - left;
    }
    *root = node[first];
    for (int d = depth - 1; d >= 0; d--) {
        both[!is_left[d]] = *root;
        both[is_left[d]] = path[d];
        *root = ls__merkle_pair(both);
    }
    return depth;
}

/* Is the claim about what a row weighs? */
static bool is_weight(const tree *t, const ls_row_claim *c)
{
    return c->array == t->source->n_arrays;
}

/* Does the source say nothing of it?  A row then weighs 1, or 0 where it only
 * fills the batch up, and no leaf is needed. */
static bool is_plain(const tree *t, const ls_row_claim *c)
{
    return is_weight(t, c) && (c->window || !t->source->weighted);
}

/* Write where the word of the source is. */
static void put_spot(FILE *f, const tree *t, const ls_row_claim *c, spot at)
{
    put_count(f, "word", at.word);
    put_count(f, "width", t->width);
    if (c->window)
        put_count(f, "window", c->window);
    if (c->window || c->shuffle)
        put_words(f, "key", 2, c->key.word);
}

static void put_claim(FILE *f, const tree *t, const ls_row_claim *c, spot at)
{
    static const char *const rules[] = {"batch", "batch.shuffled",
                                        "batch.window"};
    bool shuffled = c->shuffle && !is_plain(t, c);

    fprintf(f, "lockstep evidence 1\nop %s\nclaim %08" PRIx32 " %08" PRIx32
            "\n", rules[c->window ? 2 : shuffled], c->a, c->b);
    put_count(f, "step", c->step);
    put_count(f, "batch", c->batch);
    put_count(f, "row", at.row);
    put_count(f, "rows", t->source->rows);
    if (!c->window)
        put_count(f, "batches", c->batches);
    if (is_weight(t, c))
        put_count(f, "weight", !is_plain(t, c));
    if (!is_plain(t, c))
        put_spot(f, t, c, at);
}

static void put_proof(FILE *f, const tree *t)
{
    ls__digest path[PATH], root;
    int depth = path_of(t, path, &root);

    if (t->wanted >= 0)
        put_words(f, "leaf", (int)t->kept_words, t->kept);
    if (t->wanted >= 0 && depth)
        put_digests(f, "path", depth, path);
    put_digests(f, "root", 1, &root);
}

static int check_claim(const tree *t, const ls_row_claim *c)
{
    int64_t rows = t->source->rows;

    if (c->array < 0 || c->array > t->source->n_arrays || c->element < 0 ||
        c->step < 0 || c->step > UINT32_MAX || c->batch < 1 ||
        (!c->window && c->batches < 1) || c->window < 0 || c->window > rows)
        return ls__fail(LS_EINVAL, "element %lld of array %d of step %lld: "
                        "there is no such word", (long long)c->element,
                        c->array, (long long)c->step);
    if (rows > (c->shuffle ? SHUFFLED : INT32_MAX) || t->width > INT32_MAX)
        return ls__fail(LS_ENOTSUP, "the referee takes at most %lld rows%s of "
                        "2147483647 words; there are %lld of %lld",
                        (long long)(c->shuffle ? SHUFFLED : INT32_MAX),
                        c->shuffle ? " that are shuffled," : "",
                        (long long)rows, (long long)t->width);
    return 0;
}

static int save(tree *t, const ls_row_claim *c, spot at, const char *path)
{
    FILE *f = fopen(path, "w");
    bool good = f != NULL;

    if (f) {
        put_claim(f, t, c, at);
        put_proof(f, t);
        good = !ferror(f);
    }
    if (f && fclose(f) != 0)
        good = false;
    return good ? 0 : ls__io_error(path, "write");
}

static const ls_row_claim defaults = {0};

void ls_row_claim_defaults_bytes(ls_row_claim *claim, size_t size)
{
    LS__NEED_OR(claim, );
    ls__sized_defaults(claim, size, &defaults, sizeof defaults);
}

int ls_source_evidence(const ls_source *source, const ls_row_claim *claim,
                       const char *path)
{
    LS__NEED(source);
    LS__NEED(claim);
    LS__NEED(path);

    ls_row_claim c = defaults;
    spot at = {0};
    tree t = {0};
    int status = ls__sized_take("row_claim", &c, sizeof c, claim);

    if (status == 0)
        status = open_tree(&t, source);
    if (status == 0)
        status = check_claim(&t, &c);
    if (status == 0) {
        at = spot_of(&t, &c);
        if (!is_plain(&t, &c))
            t.wanted = (row_of(&t, &c, at.row, &status) * t.width + at.word) /
                       LS__LEAF;
    }
    if (status == 0)
        status = hash_rows(&t);
    if (status == 0)
        status = save(&t, &c, at, path);
    free_tree(&t);
    return status;
}

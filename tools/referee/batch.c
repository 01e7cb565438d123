/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a batch: those of the data, under their root, that the step draws. */
#include "record.h"
#include "step.h"
#include "verdict.h"

#include <stdlib.h>

/* ------ which rows ------ */

/* Number i of those from 0 below `span` that JAX draws. */
static uint32_t drawn_below(const f32 key[2], uint32_t i, uint32_t span)
{
    uint32_t half = 65536 % span, whole = half * half % span;
    f32 high[2], low[2];

    threefry(key, 0, high);
    threefry(key, 1, low);
    return (random_bits(high, i) % span * whole +
            random_bits(low, i) % span) % span;
}

enum { CARDS = 1 << 26 }; /* rows that are shuffled, at most */

/* The permutation of n: sorted by random words, more than once where there are
 * so many that words repeat. */
static card *permuted(const f32 of_epoch[2], uint32_t n)
{
    int rounds = (n > 1) + (n > 1625) + (n > 2642245);
    card *all = room_of((size_t)n * sizeof *all);
    f32 key[2], by[2];

    memcpy(key, of_epoch, sizeof key);
    for (uint32_t i = 0; i < n; i++)
        all[i].of = i;
    for (; rounds > 0; rounds--) {
        threefry(key, 1, by);
        for (uint32_t i = 0; i < n; i++) {
            all[i].key = random_bits(by, i);
            all[i].at = i;
        }
        qsort(all, n, sizeof *all, by_key);
        threefry(key, 0, by);
        memcpy(key, by, sizeof key);
    }
    return all;
}

/* Rows of the data as a step draws them, from the head. */
typedef struct claim {
    int64_t rows, batch, batches, window, width, first;
    bool shuffle, weighted;
    f32 key[2];
    const json *arrays;
    const char *root;
    const card *order; /* of the epoch, once it is asked for */
} claim;

static void read_key(const char *hex, f32 key[2])
{
    char part[9] = "";

    for (int i = 0; i < 2 && hex && strlen(hex) == 16; i++) {
        memcpy(part, hex + 8 * i, 8);
        key[i] = (f32)strtoul(part, NULL, 16);
    }
}

static bool read_claim(const record *r, claim *c)
{
    const json *rows = json_get(r->head, "rows");

    memset(c, 0, sizeof *c);
    c->root = json_text(rows, "root");
    c->rows = json_whole(rows, "rows", 0);
    c->batch = json_whole(rows, "batch", 0);
    c->batches = json_whole(rows, "batches", 0);
    c->window = json_whole(rows, "window", 0);
    c->shuffle = json_whole(rows, "shuffle", 0) != 0;
    c->weighted = json_whole(rows, "weighted", 0) != 0;
    c->arrays = json_get(rows, "arrays");
    read_key(json_text(rows, "key"), c->key);
    c->width = c->weighted;
    for (const json *j = c->arrays ? c->arrays->first : NULL; j; j = j->next) {
        int64_t n = json_as_whole(j, 0);

        if (n < 1 || c->width > ATTRIBUTE - n)
            return false;
        c->width += n;
    }
    if (!c->root || !c->arrays || c->rows < 1 || c->rows > 0x7fffffff ||
        c->batch < 1 || c->batch > c->rows || c->width < 1 || c->window < 0 ||
        c->window > c->rows || (c->window && c->weighted))
        return false;
    if (!c->window && (c->batches < 1 || (c->shuffle && c->rows > CARDS) ||
                       c->batches > (c->rows + c->batch - 1) / c->batch))
        return false;
    c->first = c->window ? 0 : batches_before() % c->batches * c->batch;
    return true;
}

/* Does row i of the batch only fill it up? */
static bool fills_up(const claim *c, int64_t i)
{
    return i >= c->batch || (!c->window && i >= c->rows - c->first);
}

/* The row of the data that row i is; what fills a batch up is its first row. */
static int64_t row_of_data(claim *c, int64_t i)
{
    uint32_t step = (uint32_t)batches_before();
    f32 key[2];

    i = fills_up(c, i) ? 0 : i;
    if (c->window) {
        threefry(c->key, step, key);
        return drawn_below(key, (uint32_t)i,
                           (uint32_t)(c->rows - c->window + 1));
    }
    if (!c->shuffle)
        return c->first + i;
    if (!c->order) {
        threefry(c->key, step / (uint32_t)c->batches, key);
        c->order = permuted(key, (uint32_t)c->rows);
    }
    return c->order[c->first + i].of;
}

/* ------ leaves of the data ------ */

/* What a record shows of the data, and says of its batch. */
typedef struct shows {
    record *of;
    claim c;
    const uint32_t **x; /* of an array that is a leaf of the data's tree, once
                           it stands under the root; NULL: not asked for */
    int64_t last;       /* the array that was asked for */
    const char *why;    /* it is not as it should be */
} shows;

/* The hash of leaves first .. first+n-1, of which leaf `at` is at hand; the way
 * is from the leaf up, each digest as words. */
static bool climb(int64_t first, int64_t n, int64_t at, const uint32_t *way,
                  int64_t digests, uint8_t hash[HASH])
{
    int64_t left = 1;
    uint8_t both[2 * HASH];
    int is_left;

    if (n == 1)
        return digests == 0; /* the leaf's hash is in place */
    if (digests < 1)
        return false;
    while (2 * left < n)
        left *= 2;
    is_left = at < first + left;
    if (!climb(is_left ? first : first + left, is_left ? left : n - left, at,
               way, digests - 1, hash))
        return false;
    memcpy(both + HASH * !is_left, hash, HASH);
    way += 8 * (digests - 1);
    for (int i = 0; i < HASH; i++)
        both[HASH * is_left + i] = (uint8_t)(way[i / 4] >> (24 - i % 4 * 8));
    hash_pair(both, hash);
    return true;
}

static uint32_t *words_of(record *r, const array *k)
{
    uint32_t *x = room_for(k->n + LEAF_WORDS);

    for (int64_t i = 0; i < leaves_of(k); i++)
        record_leaf(r, k, i, x + i * LEAF_WORDS);
    return x;
}

/* Is array i of the batch, so called, and of that leaf? */
static bool is_of_leaf(const record *r, int64_t i, const char *what,
                       int64_t leaf)
{
    return i < r->entries && !strcmp(r->arrays[i].phase, "batch") &&
           !strcmp(r->arrays[i].what, what) && r->arrays[i].first == leaf;
}

/* Read array i, a leaf, and the way behind it, and hold it against the root;
 * NULL: it does not stand there. */
static const uint32_t *open_leaf(shows *s, int64_t i, int64_t leaf)
{
    int64_t all = s->c.rows * s->c.width, n = all / LEAF_WORDS;
    int64_t here = least(all - leaf * LEAF_WORDS, LEAF_WORDS);
    const array *k = &s->of->arrays[i], *way = k + 1;
    const uint32_t *x;
    uint8_t hash[HASH];

    n += all % LEAF_WORDS != 0;
    if (!is_of_leaf(s->of, i + 1, "way of the data", leaf) || leaf >= n ||
        k->n != here || way->n % 8 || way->n > 8 * 64)
        return NULL;
    x = words_of(s->of, k);
    hash_words(x, (long)here, hash);
    return climb(0, n, leaf, words_of(s->of, way), way->n / 8, hash) &&
           sha_is(hash, s->c.root) ? x : NULL;
}

/* The word of the data, by its number; false: the record does not show it. */
static bool word_of_data(shows *s, int64_t at, uint32_t *x)
{
    static const char what[] = "leaf of the data";
    int64_t leaf = at / LEAF_WORDS, i = s->last, n = s->of->entries;

    if (!is_of_leaf(s->of, i, what, leaf))
        for (i = 0; i < n && !is_of_leaf(s->of, i, what, leaf); i++)
            ;
    if (i < n && !s->x[i])
        s->x[i] = open_leaf(s, i, leaf);
    if (i == n || !s->x[i]) {
        s->why = text_of("it does not show leaf %lld of the data under their "
                         "root", (long long)leaf);
        return false;
    }
    s->last = i;
    *x = s->x[i][at % LEAF_WORDS];
    return true;
}

/* ------ a record's batch ------ */

/* Word i of an array of the batch, as the data have it, `each` of a row: its
 * number, the low half first, its weight, or what stands `from` words behind
 * its beginning.  False: the record does not show it. */
static bool word_of_batch(shows *s, const array *k, int64_t from, int64_t each,
                          int64_t i, uint32_t *is)
{
    bool fills = fills_up(&s->c, i / each);
    int64_t row = row_of_data(&s->c, i / each);

    if (!strcmp(k->what, "numbers of rows")) {
        *is = (uint32_t)((uint64_t)(fills ? -1 : row) >> 32 * (i % 2));
        return true;
    }
    if (strcmp(k->what, "weights of rows"))
        return word_of_data(s, row * s->c.width + from + i % each, is);
    *is = F(1.0f);
    if (s->c.weighted &&
        !word_of_data(s, row * s->c.width + s->c.width - 1, is))
        return false;
    *is = fills ? 0 : *is;
    return true;
}

static bool is_of_data(shows *s, const array *k, int64_t from, int64_t each)
{
    const uint32_t *x = words_of(s->of, k);
    uint32_t is;

    for (int64_t i = 0; i < k->n; i++) {
        if (!word_of_batch(s, k, from, each, i, &is))
            return false;
        if (x[i] != is) {
            s->why = text_of("batch: %s: element %lld is %08x, and row %lld of "
                             "the data has %08x", k->what, (long long)i,
                             (unsigned)x[i],
                             (long long)row_of_data(&s->c, i / each),
                             (unsigned)is);
            return false;
        }
    }
    return true;
}

static bool check_batch(shows *s)
{
    const json *size = s->c.arrays->first;
    int64_t from = 0;
    bool numbered = false;

    for (int64_t i = 0; i < s->of->entries; i++) {
        const array *k = &s->of->arrays[i];
        bool is_number = !strcmp(k->what, "numbers of rows");
        bool is_weight = !strcmp(k->what, "weights of rows");
        int64_t each = is_number ? 2 : is_weight ? 1 : json_as_whole(size, 0);

        if (strcmp(k->phase, "batch") || !strcmp(k->what, "leaf of the data") ||
            !strcmp(k->what, "way of the data"))
            continue;
        if (each < 1) {
            s->why = "its batch has more arrays than the data";
            return false;
        }
        if (!is_of_data(s, k, from, is_number || is_weight || !s->c.window
                                        ? each : each * s->c.window))
            return false;
        numbered |= is_number;
        if (!is_number && !is_weight) {
            from += each;
            size = size->next;
        }
    }
    s->why = "its batch is not whole";
    return !size && numbered;
}

const char *batch_differs(record *r, const char *root)
{
    shows s = {0};

    s.of = r;
    if (!json_get(r->head, "rows") || !r->values)
        return NULL;
    if (!read_claim(r, &s.c) || (root && strcmp(root, s.c.root)))
        return "its rows are not those of the root of the data";
    s.x = room_of((size_t)(r->entries + 1) * sizeof *s.x);
    return check_batch(&s) ? NULL : s.why;
}

/* ------ rows of a device ------ */

f32 batch_makes(void)
{
    const array *all = whole("batch", of->what);
    int64_t each = of->rows > 0 ? of->n / of->rows : 0;

    if (of == all)
        return unknown("rows of data that have no root: the data that one "
                            "side read are others, or its memory");
    if (!all || each < 1 || of->first > all->n / each ||
        of->first * each + element >= all->n)
        return unknown(of->what);
    return word(all->x + of->first * each + element);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Batched bag updates: a lot's work in its first chunk, each, and its last. */
#include "op/bag_update.h"
#include "base/assert.h"
#include "kernel/product.h"
#include "op/bag_list.h"

#include <string.h>

/* ------ memory ------ */

/* Bags of a member in all chunks. */
static int64_t bags_of(const ls__bag_update *lot, int m)
{
    return lot->chunks * lot->chunk_rows * ls__vectors(lot->member[m]);
}

void ls__lot_lay_out(ls__bag_update *lot, int64_t chunks)
{
    LS__ASSERT(chunks >= 1 && lot->members <= LS__LOT_MEMBERS);
    lot->chunks = chunks;
    lot->floats = lot->places = 0;
    for (int m = 0; m < lot->members; m++) { /* rows of all are one array */
        const ls_node *n = lot->member[m];
        int64_t bags = lot->chunk_rows * ls__vectors(n);

        lot->bags[m] = (bags + LS__CHUNK - 1) / LS__CHUNK * LS__CHUNK;
        LS__ASSERT(lot->floats % ls__width(n) == 0);
        lot->rows[m] = lot->floats;
        lot->floats += chunks * lot->bags[m] * ls__width(n);
        lot->places += bags_of(lot, m) * ls__bag_places(n);
    }
    for (int m = 0; m < lot->members; m++) {
        lot->lists[m] = lot->floats;
        lot->floats += bags_of(lot, m) * ls__bag_list_floats(lot->member[m]);
    }
    lot->entries = lot->floats;
    lot->floats += 2 * LS__BAG_ENTRY * lot->places + LS__BAG_COUNTS;
    lot->seen = lot->floats = (lot->floats + 15) / 16 * 16;
    lot->floats += (ls__bag_of_node(lot->member[0])->count + 3) / 4;
    lot->group = lot->floats = (lot->floats + 15) / 16 * 16;
    lot->floats = (lot->floats + 2 + 15) / 16 * 16;
}

static const ls__bag_update *lot_of(const ls__run *r)
{
    const ls__bag_made *made = r->in->made;

    return made->lot;
}

static float *memory_of(const ls__run *r)
{
    const ls__bag_made *made = r->in->made;

    return r->of->stays + made->lot_at;
}

static int number_of(const ls__run *r)
{
    int m = 0;

    while (lot_of(r)->member[m] != r->node)
        m++;
    LS__ASSERT(m < lot_of(r)->members);
    return m;
}

/* The chunk's number in its lot. */
static int64_t chunk_of(const ls__run *r)
{
    return r->of->before / lot_of(r)->chunk_rows % lot_of(r)->chunks;
}

/* The row of y, of all members', that belongs to a bag of the lot. */
static int64_t row_of(const ls__bag_update *lot, int m, int64_t bag)
{
    int64_t bags = lot->chunk_rows * ls__vectors(lot->member[m]);

    return lot->rows[m] / ls__width(lot->member[m]) +
           bag / bags * lot->bags[m] + bag % bags;
}

/* The place of this chunk's rows. */
static float *rows_at(const ls__run *r, int m)
{
    int64_t first = chunk_of(r) * lot_of(r)->bags[m];

    return memory_of(r) + lot_of(r)->rows[m] + first * ls__width(r->node);
}

static float *list_at(const ls__run *r, int m, int64_t bag)
{
    return memory_of(r) + lot_of(r)->lists[m] +
           bag * ls__bag_list_floats(lot_of(r)->member[m]);
}

/* Two arrays for entries, and counts before them. */
static ls__bag_entry *entries_at(const ls__run *r, uint32_t **count)
{
    *count = (uint32_t *)(void *)(memory_of(r) + lot_of(r)->entries);
    return (ls__bag_entry *)(void *)(*count + LS__BAG_COUNTS);
}

static size_t bytes_of_chunk(const ls__run *r)
{
    return (size_t)(r->rows * r->node->size) * sizeof(float);
}

/* ------ how often the gradient is added up ------ */

/* Entries of a row in one go: rows of dy that are read for one written. */
enum { OFTEN = 24 };

static unsigned char *seen_at(const ls__run *r)
{
    return (unsigned char *)(memory_of(r) + lot_of(r)->seen);
}

static void see(const ls__run *r, const ls__bag *bag)
{
    unsigned char *seen = seen_at(r);

    for (int64_t k = 0; k < bag->count; k++)
        seen[bag->index[k]] = 1;
}

static int64_t count_seen(const ls__run *r)
{
    int64_t rows = 0, all = ls__bag_of_node(r->node)->count;

    for (int64_t i = 0; i < all; i++)
        rows += seen_at(r)[i];
    return rows;
}

static int64_t group_of(const ls__run *r)
{
    int64_t group;

    memcpy(&group, memory_of(r) + lot_of(r)->group, sizeof group);
    return group;
}

/* Choose the size of a group from the entries that all lists of the lot
 * have. */
static void choose_group(const ls__run *r)
{
    const ls__bag_update *lot = lot_of(r);
    int64_t most = lot->chunks * lot->chunk_rows, entries = 0, groups, group;
    int64_t rows = r->of->left < most ? r->of->left : most;

    for (int m = 0; m < lot->members; m++)
        for (int64_t i = 0; i < rows * ls__vectors(lot->member[m]); i++)
            entries += ls__bag_list_count(list_at(r, m, i));
    groups = entries ? entries / (OFTEN * count_seen(r)) : 1;
    groups = groups < 1 ? 1 : groups > lot->chunks ? lot->chunks : groups;
    group = (lot->chunks + groups - 1) / groups;
    LS__ASSERT(group >= 1 && group <= lot->chunks);
    memcpy(memory_of(r) + lot->group, &group, sizeof group);
}

/* ------ forward ------ */

/* Bags of the lot that begins with this chunk: their lists, and an entry with
 * the least index of each. */
static int64_t make_lists(const ls__run *r, int m, ls__bag_entry *e)
{
    int64_t most = lot_of(r)->chunks * lot_of(r)->chunk_rows;
    int64_t rows = r->of->left < most ? r->of->left : most;
    int64_t n = rows * ls__vectors(r->node);

    for (int64_t i = 0; i < n; i++) {
        float *list = list_at(r, m, i);
        ls__bag bag;

        ls__bag_list_make(r, i, (ls__bag_entry *)(void *)r->scratch, list);
        bag = ls__bag_list(r, list);
        see(r, &bag);
        e[i] = (ls__bag_entry){bag.count ? bag.index[0] : 0, (uint32_t)i, 0};
    }
    return n;
}

enum { AHEAD = 2 }; /* bags */

static void prefetch(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16)
        __builtin_prefetch(x + i);
}

/* Compute y of all bags of the lot, ordered by the part of the table that they
 * read. */
static void compute_lot(const ls__run *r, int m)
{
    uint32_t *count;
    ls__bag_entry *e = entries_at(r, &count);
    int64_t n = make_lists(r, m, e), width = ls__width(r->node);
    const ls__bag_entry *of =
        ls__bag_sort(ls__bag_bits(r->node), n, e, e + bags_of(lot_of(r), m));

    for (int64_t i = 0; i < n; i++) {
        ls__bag bag = ls__bag_list(r, list_at(r, m, of[i].bag));

        if (i + AHEAD < n)
            prefetch(list_at(r, m, of[i + AHEAD].bag),
                     ls__bag_list_floats(r->node));
        r->kernels->bag_sum(&bag, memory_of(r) +
                                      row_of(lot_of(r), m, of[i].bag) * width);
    }
}

void ls__lot_forward(const ls__run *r)
{
    int m = number_of(r);

    if (chunk_of(r) == 0 && m == lot_of(r)->members - 1) /* the first to come */
        memset(seen_at(r), 0, (size_t)ls__bag_of_node(r->node)->count);
    if (chunk_of(r) == 0)
        compute_lot(r, m);
    memcpy(r->y, rows_at(r, m), bytes_of_chunk(r));
}

/* ------ backward ------ */

/* The first chunk of the group that this one is in. */
static int64_t group_begin(const ls__run *r)
{
    return chunk_of(r) / group_of(r) * group_of(r);
}

static bool ends_group(const ls__run *r)
{
    return chunk_of(r) == group_begin(r) + group_of(r) - 1 ||
           chunk_of(r) == lot_of(r)->chunks - 1 || r->rows == r->of->left;
}

/* A group's entries, radix sorted by the upper bits of their indices: each part
 * of the table stays in the second cache. */
typedef struct parts {
    const ls__run *run;
    int shift;       /* an index's bits within its part */
    uint32_t *count; /* [part] entries, then where the next one goes */
    ls__bag_entry *entry;
} parts;

typedef void list_fn(const parts *p, const ls_node *node, const float *list,
                     int64_t row);

static void of_chunk(const parts *p, int64_t chunk, int64_t rows, list_fn *fn)
{
    const ls__bag_update *lot = lot_of(p->run);

    for (int m = 0; m < lot->members; m++) {
        const ls_node *node = lot->member[m];
        int64_t first = chunk * lot->chunk_rows * ls__vectors(node);
        int64_t bags = rows * ls__vectors(node), row = row_of(lot, m, first);
        int64_t floats = ls__bag_list_floats(node);
        const float *list = list_at(p->run, m, first);

        for (int64_t i = 0; i < bags; i++)
            fn(p, node, list + i * floats, row + i);
    }
}

/* Each list of the group that ends here, in the order in which they are added
 * up. */
static void of_group(const parts *p, list_fn *fn)
{
    const ls__run *r = p->run;
    int64_t last = chunk_of(r);

    for (int64_t c = group_begin(r); c < last; c++)
        of_chunk(p, c, lot_of(r)->chunk_rows, fn);
    of_chunk(p, last, r->rows, fn);
}

/* Indices rise, so those of a part follow each other. */
static void count_list(const parts *p, const ls_node *node, const float *list,
                       int64_t row)
{
    const uint32_t *index = (const uint32_t *)(const void *)(list + 1);
    int64_t n = ls__bag_list_count(list);

    (void)node;
    (void)row;
    for (int64_t k = 0, begin; k < n;) {
        uint32_t part = index[k] >> p->shift;

        for (begin = k++; k < n && index[k] >> p->shift == part; k++)
            ;
        p->count[part] += (uint32_t)(k - begin);
    }
}

static void deal_list(const parts *p, const ls_node *node, const float *list,
                      int64_t row)
{
    const uint32_t *index = (const uint32_t *)(const void *)(list + 1);
    const float *value = list + 1 + ls__bag_places(node);
    int64_t n = ls__bag_list_count(list);

    for (int64_t k = 0; k < n;) {
        uint32_t part = index[k] >> p->shift, at = p->count[part];

        for (; k < n && index[k] >> p->shift == part; k++)
            p->entry[at++] = (ls__bag_entry){index[k], (uint32_t)row, value[k]};
        p->count[part] = at;
    }
}

/* Counts become where each part begins. */
static void deal(const parts *p)
{
    uint32_t sum = 0;

    memset(p->count, 0, LS__BAG_COUNTS * sizeof *p->count);
    of_group(p, count_list);
    for (int i = 0; i < LS__BAG_COUNTS; i++) {
        uint32_t of_part = p->count[i];

        p->count[i] = sum;
        sum += of_part;
    }
    of_group(p, deal_list);
}

/* Has an earlier group begun the gradient? */
static bool is_begun(const ls__run *r)
{
    int64_t chunks = chunk_of(r) - group_begin(r);

    return r->of->before > chunks * lot_of(r)->chunk_rows;
}

/* The gradient of the table, part by part; count[] is where each ends. */
static void add_up(const ls__run *r)
{
    parts p = {.run = r};
    ls__bag_entry *other;
    int64_t first = 0, next = 0, limit = ls__bag_of_node(r->node)->count;

    p.entry = entries_at(r, &p.count);
    other = p.entry + lot_of(r)->places;
    while ((limit - 1) >> p.shift >= LS__BAG_COUNTS)
        p.shift++;
    deal(&p);
    LS__ASSERT(p.count[LS__BAG_COUNTS - 1] <= lot_of(r)->places);
    for (int64_t i = 0; i << p.shift < limit; first = p.count[i++]) {
        int64_t n = p.count[i] - first;

        next = ls__bag_table_grad(
            r, next, n, ls__bag_sort(p.shift, n, p.entry + first, other),
            memory_of(r), is_begun(r));
    }
    if (!is_begun(r))
        ls__bag_clear(r, next, limit);
}

void ls__lot_backward(const ls__run *r)
{
    int m = number_of(r);

    if (chunk_of(r) == 0 && m == 0)
        choose_group(r);
    memcpy(rows_at(r, m), r->dy, bytes_of_chunk(r));
    if (m == lot_of(r)->members - 1 && ends_group(r))
        add_up(r);
}

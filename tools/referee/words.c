/* SPDX-License-Identifier: BSD-3-Clause */
/* See find.h: words by their pages, and what the head says of a step. */
#include "record.h"
#include "verdict.h"

/* ------ words ------ */

/* A leaf of the first record whose hash the second has, too. */
typedef struct page {
    const array *of;
    int64_t leaf;
    uint32_t x[LEAF_WORDS];
} page;

enum { PAGES = 256 };

static page *pages, *others; /* of the second: the element's array */
static const array *last;
static record *words_of;

static int stands_in(const array *k, place p)
{
    return p >= k->x && p < k->x + k->n;
}

/* The array that has a word before the element. */
static const array *array_with(place p)
{
    int64_t low = 0, high = array_count;

    if (last && stands_in(last, p))
        return last;
    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;

        if (arrays[mid].x <= p)
            low = mid;
        else
            high = mid;
    }
    while (low > 0 && low < array_count && arrays[low].n == 0)
        low--;
    if (low >= array_count || !stands_in(&arrays[low], p))
        refuse("the records have fewer words of an array than its shape says");
    return last = &arrays[low];
}

enum { MOST_STEPS = 1 << 30 };

static int64_t spent;

void spend(int64_t steps)
{
    spent += steps;
    if (spent > MOST_STEPS)
        unknown("an element that takes more than 2^30 steps");
}

void words_begin(record *r)
{
    spent = 0;
    words_of = r;
    pages = room_of(PAGES * sizeof *pages);
    others = room_of(PAGES * sizeof *others);
    last = NULL;
}

static const page *page_of(record *r, page *room, const array *k, int64_t leaf)
{
    page *here = &room[(uint64_t)((k - arrays) * 31 + leaf) % PAGES];

    if (here->of != k || here->leaf != leaf) {
        record_leaf(r, k, leaf, here->x);
        here->of = k;
        here->leaf = leaf;
    }
    return here;
}

/* An element may be made of others in its own array: of those before it, which
 * are the same, and of some behind it, as a recurrent layer goes back through
 * its steps. */
static void check_both(int64_t at, uint32_t x)
{
    uint32_t y = page_of(&records[1], others, of, at / LEAF_WORDS)
                     ->x[at % LEAF_WORDS];

    if (at == element)
        refuse("an element that would be made of itself");
    if (x != y)
        judge_instead(at, x, y);
}

uint32_t word(place p)
{
    const array *k = array_with(p);
    int64_t at = p - k->x;
    uint32_t x = page_of(words_of, pages, k, at / LEAF_WORDS)
                     ->x[at % LEAF_WORDS];

    if (k == of)
        check_both(at, x);
    return x;
}

uint32_t *words(place x, int64_t n, int64_t stride)
{
    uint32_t *all = room_for(n);

    for (int64_t i = 0; i < n; i++)
        all[i] = word(x + i * stride);
    return all;
}

uint32_t *room_for(int64_t n)
{
    if (n < 0 || n > INT64_C(1) << 32)
        refuse("an element of more than 2^32 numbers");
    return room_of((size_t)n * sizeof(uint32_t));
}

/* ------ the head ------ */

static int64_t of_head(const char *name)
{
    return json_whole(records[0].head, name, 0);
}

int64_t devices_of_step(void) { return of_head("devices"); }
int64_t micro_of_step(void) { return of_head("micro"); }
int64_t number_of_step(void) { return of_head("step"); }

int64_t batches_before(void) { return batches_of(&records[0]); }

const char *option(const char *name)
{
    return json_text(json_get(records[0].head, "options"), name);
}

size_t options_called(const char *begin, const char **name, size_t most)
{
    const json *all = json_get(records[0].head, "options");
    size_t n = 0;

    for (const json *j = all ? all->first : NULL; j && n < most; j = j->next)
        if (j->key && !strncmp(j->key, begin, strlen(begin)))
            name[n++] = j->key + strlen(begin);
    return n;
}

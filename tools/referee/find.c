/* SPDX-License-Identifier: BSD-3-Clause */
/* See find.h: words by their pages, arrays by their names, nodes and parameters
 * by what the head says. */
#include "find.h"
#include "record.h"
#include "verdict.h"

#include <stdlib.h>

const array *arrays, *of;
int64_t array_count, element;
const said *nodes, *slots;
int node_count, slot_count;

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

/* ------ arrays ------ */

static bool is_called(const array *k, const char *phase, const char *what)
{
    return !strcmp(k->what, what) && !strcmp(k->phase, phase);
}

static bool is_of(const array *k, int64_t node, int64_t index)
{
    return k->device == of->device && k->micro == of->micro &&
           k->node == node && k->index == index;
}

const array *array_of(const char *phase, const char *what, int64_t node,
                      int64_t index)
{
    for (int64_t i = 0; i < array_count; i++)
        if (is_of(&arrays[i], node, index) && arrays[i].first == of->first &&
            is_called(&arrays[i], phase, what))
            return &arrays[i];
    return NULL;
}

const array *before(const array *until, int64_t micro, const char *name)
{
    for (const array *k = until; k-- > arrays;)
        if (k->device == of->device && k->micro == micro &&
            is_called(k, "backward", "dparam") && !strcmp(k->name, name))
            return k;
    return NULL;
}

const array *first_called(const array *all, int64_t n, const char *phase,
                          const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (is_called(&all[i], phase, what))
            return &all[i];
    return NULL;
}

const array *whole(const char *phase, const char *what)
{
    return first_called(arrays, array_count, phase, what);
}

const array *of_device(const char *what, int64_t device)
{
    for (int64_t i = 0; i < array_count; i++)
        if (arrays[i].device == device &&
            is_called(&arrays[i], "gradient", what))
            return &arrays[i];
    return NULL;
}

const array *rows_of(const char *what)
{
    for (int64_t i = 0; i < array_count; i++)
        if (is_of(&arrays[i], 0, 0) && is_called(&arrays[i], "rows", what))
            return &arrays[i];
    return NULL;
}

/* ------ nodes and parameters ------ */

const said *node_of(int64_t node)
{
    return node >= 0 && node < node_count ? &nodes[node] : NULL;
}

static const json *item(const json *list, int k)
{
    const json *j = list && list->type == JSON_LIST ? list->first : NULL;

    while (j && k-- > 0)
        j = j->next;
    return j;
}

int64_t input(const said *n, int k)
{
    return json_as_whole(item(json_get(n->line, "inputs"), k), -1);
}

const said *param(const said *n, int k)
{
    const json *name = item(json_get(n->line, "parameters"), k);

    for (int i = 0; name && name->type == JSON_TEXT && i < slot_count; i++)
        if (!strcmp(slots[i].name, name->text))
            return &slots[i];
    return NULL;
}

const said *slot_of(int64_t at)
{
    for (int i = 0; i < slot_count; i++)
        if (at >= slots[i].at && at < slots[i].at + slots[i].floats)
            return &slots[i];
    return NULL;
}

/* ------ values and gradients ------ */

/* Rows of an input: the chunk's, among those of the shard. */
static place rows_of_input(const said *n)
{
    int64_t each = size(n->shape);
    const array *k = rows_of(n->name);

    return k && each > 0 && of->first + of->rows <= k->n / each
               ? k->x + of->first * each : 0;
}

place value(int64_t node)
{
    const said *n = node_of(node);
    const array *k;

    if (!n)
        return 0;
    if (!strcmp(n->op, "input"))
        return rows_of_input(n);
    k = array_of("forward", "y", node, 0);
    return k && has_rows(k, of->rows, size(n->shape)) ? k->x : 0;
}

/* The number of paths along which gradients go back is exponential: give up at
 * so many. */
enum { MOST_WALKS = 4096 };

static place walk(int64_t node, int64_t above, int *walks)
{
    const said *n = node_of(node);
    int64_t each = n ? size(n->shape) : 0;
    place found = 0;

    if (++*walks > MOST_WALKS)
        return 0;
    for (int i = node_count - 1; i > above && i > node; i--) {
        int k = 0;

        for (int64_t in; (in = input(&nodes[i], k)) >= 0; k++) {
            const array *dx;

            if (in != node)
                continue;
            dx = array_of("backward", "dx", i, k);
            if (dx && has_rows(dx, of->rows, each))
                found = dx->x;
            else if (!found && k < 32 && nodes[i].passes >> k & 1)
                found = walk(i, i, walks);
        }
    }
    return found;
}

place gradient(int64_t node, int64_t above)
{
    int walks = 0;

    return walk(node, above, &walks);
}

uint32_t unknown(const char *what)
{
    refuse("step %lld, %s: %s: known, and not judged: the referee does not "
           "know \"%s\", or not in this form", (long long)number_of_step(),
           place_text(of), element_text(of, element), what);
    return 0;
}

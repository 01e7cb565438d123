/* SPDX-License-Identifier: BSD-3-Clause */
/* Two records side by side: they have the same arrays in the same order, so the
 * first hash that differs is of the first thing that was made otherwise.  Of a
 * file only the tail, the leaves' hashes and one leaf are read. */
#include "audit/record_read.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/sized.h"
#include "file/line.h"
#include <lockstep/record.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    ls__record of[2];
    int64_t at; /* the array that differs */
    ls_record_difference *first;
} pair;

/* ------ are they of one step? ------ */

/* Those that may differ, and those that are compared apart. */
static const char *const passed[] = {"graph", "lockstep", "rows", "slots",
                                     "state", "values", NULL};

static int compare_heads(const pair *p)
{
    const json_t *a = p->of[0].head, *b = p->of[1].head;
    char text[LS__MESSAGE / 2] = "the graph is another";

    if (!ls__line_differs(a, b, passed, text, sizeof text) &&
        json_equal(json_object_get(a, "graph"), json_object_get(b, "graph")))
        return 0;
    return ls__fail(LS_EINVAL, "%.80s and %.80s are records of two steps, "
                    "which nothing can tell apart by a number: %.200s",
                    p->of[0].file.path, p->of[1].file.path, text);
}

static bool is_same_place(const pair *p, int64_t i)
{
    const ls__record_entry *a = &p->of[0].entry[i], *b = &p->of[1].entry[i];
    ls__where x = ls__record_where(&p->of[0], a);
    ls__where y = ls__record_where(&p->of[1], b);

    return a->kind == b->kind && a->words == b->words &&
           a->phase == b->phase && strcmp(x.op, y.op) == 0 &&
           strcmp(x.name, y.name) == 0 && strcmp(x.what, y.what) == 0 &&
           strcmp(x.shape, y.shape) == 0 && x.device == y.device &&
           x.micro == y.micro && x.first == y.first && x.rows == y.rows &&
           x.node == y.node && x.index == y.index;
}

/* ------ where it is, in words ------ */

/* The sizes in a text like "4x16"; returns how many, 0: it is no such text. */
static int sizes_of(const char *shape, int64_t size[LS_MAX_RANK])
{
    int rank = 0;
    char *end;

    for (; rank < LS_MAX_RANK && (size[rank] = strtoll(shape, &end, 10)) > 0;
         rank++)
        shape = end + (*end == 'x');
    return *shape ? 0 : rank;
}

/* " (row 0, position 3, channel 254)" of an element of rows of that shape; of a
 * parameter, which has no rows, its indices. */
static void add_indices(char *text, const char *shape, int64_t element,
                        bool has_rows)
{
    static const char *const names[4][4] = {
        {"channel"}, {"position", "channel"}, {"line", "column", "channel"},
        {"index", "line", "column", "channel"}};
    int64_t size[LS_MAX_RANK], at[LS_MAX_RANK], rest = element;
    int rank = sizes_of(shape, size);

    for (int k = rank - 1; k >= 0; k--) {
        at[k] = rest % size[k];
        rest /= size[k];
    }
    if (!rank && !has_rows)
        return;
    ls__where_add(text, " (");
    if (has_rows)
        ls__where_add(text, "row %" PRId64, rest);
    for (int k = 0; k < rank; k++)
        ls__where_add(text, "%s%s%s%" PRId64, k || has_rows ? ", " : "",
                      has_rows && rank <= 4 ? names[rank - 1][k] : "",
                      has_rows && rank <= 4 ? " " : "", at[k]);
    ls__where_add(text, ")");
}

/* The parameter that a float of the layout is of; NULL: it lies between two. */
static json_t *slot_at(const ls__record *r, int64_t element)
{
    json_t *one;
    size_t i;

    json_array_foreach (json_object_get(r->head, "slots"), i, one) {
        int64_t at = ls__json_count(one, "at");

        if (element >= at && element - at < ls__json_count(one, "floats"))
            return one;
    }
    return NULL;
}

static bool has_rows(const ls__where *w)
{
    return w->rows &&
           (strcmp(w->what, "y") == 0 || strcmp(w->what, "dx") == 0 ||
            strcmp(w->phase, "rows") == 0 || strcmp(w->phase, "batch") == 0);
}

/* An array of one number is told by its name alone. */
static void add_element(char *text, const ls__record *r,
                        const ls__record_entry *e, int64_t element)
{
    ls__where w = ls__record_where(r, e);
    json_t *s = ls__where_is_layout(&w) ? slot_at(r, element) : NULL;
    int64_t at = s ? ls__json_count(s, "at") : 0;

    if (e->words <= (e->kind == LS__DOUBLES ? 2 : 1))
        return;
    if (s)
        ls__where_add(text, ": \"%.100s\"", ls__json_word(s, "name"));
    ls__where_add(text, ": element %" PRId64 " of %" PRId64, element - at,
                  s ? ls__json_count(s, "floats") : e->words);
    add_indices(text, s ? ls__json_word(s, "shape") : w.shape, element - at,
                !s && has_rows(&w));
}

/* Write the number of which word i is one. */
static void add_value(char *text, const ls__record_entry *e,
                      const uint32_t *word, int64_t i)
{
    uint64_t both = e->kind == LS__DOUBLES
                        ? (uint64_t)word[i & -2] << 32 | word[i | 1] : 0;
    double x;
    float f;

    memcpy(&x, &both, sizeof x);
    memcpy(&f, &word[i], sizeof f);
    if (e->kind == LS__DOUBLES)
        ls__where_add(text, "%016" PRIx64 "  %.17g", both, x);
    else if (e->kind == LS__INTEGERS)
        ls__where_add(text, "%08" PRIx32 "  %" PRIu32, word[i], word[i]);
    else
        ls__where_add(text, "%08" PRIx32 "  %.9g", word[i], (double)f);
}

/* ------ the element ------ */

/* Name the device, unless all share what differs. */
static void name_place(pair *p)
{
    ls__where w = ls__record_where(&p->of[0], &p->of[0].entry[p->at]);
    ls_record_difference *f = p->first;

    ls__where_text(&w, f->place);
    memcpy(f->text, f->place, sizeof f->text);
    f->device = strncmp(f->place, "device ", 7) ? -1 : (int)w.device;
}

static void name_leaf(pair *p, const ls__record_entry *e)
{
    ls_record_difference *f = p->first;
    int64_t end = (f->leaf + 1) * LS__LEAF;

    ls__where_add(f->text,
                  ": one of elements %" PRId64 " to %" PRId64 "; records with "
                  "values tell which",
                  f->leaf * LS__LEAF, (end < e->words ? end : e->words) - 1);
}

/* Two leaves that differ, so that a word does, or a hash is not its leaf's. */
static int find_element(pair *p, const ls__record_entry *e)
{
    uint32_t word[2][LS__LEAF];
    ls_record_difference *f = p->first;
    int64_t n = 0, i = 0;

    for (int side = 0; side < 2; side++)
        if ((n = ls__record_words_of(&p->of[side], &p->of[side].entry[p->at],
                                     f->leaf, word[side])) < 0)
            return (int)n;
    LS__ASSERT(n <= LS__LEAF);
    while (i < n && word[0][i] == word[1][i])
        i++;
    if (i == n) /* hashes differ, so SHA-256 would be broken */
        return ls__fail(LS_EFORMAT, "%s: its leaves are the same, and their "
                        "hashes are not", p->of[1].file.path);
    f->element = f->leaf * LS__LEAF + i;
    f->a = word[0][i];
    f->b = word[1][i];
    add_element(f->text, &p->of[0], e, f->element);
    ls__where_add(f->text, "\n  ");
    add_value(f->text, e, word[0], i);
    ls__where_add(f->text, "  and  ");
    add_value(f->text, e, word[1], i);
    ls__where_add(f->text, "; its inputs are the same");
    return 0;
}

enum { HASHES = 256 }; /* read at once */

/* The first leaf of array i that differs; none: -1. */
static int compare_leaves(pair *p, int64_t i, int64_t *leaf)
{
    int64_t n, leaves = ls__merkle_leaves(p->of[0].entry[i].words);
    ls__digest hash[2][HASHES];
    int status = 0;

    LS__ASSERT(p->of[0].entry[i].words == p->of[1].entry[i].words);
    *leaf = -1;
    for (int64_t at = 0; at < leaves && *leaf < 0; at += n) {
        n = leaves - at < HASHES ? leaves - at : HASHES;
        for (int side = 0; side < 2 && status == 0; side++)
            status = ls__record_hashes(&p->of[side], &p->of[side].entry[i], at,
                                       n, hash[side]);
        if (status < 0)
            return status;
        for (int64_t k = n - 1; k >= 0; k--)
            if (memcmp(&hash[0][k], &hash[1][k], sizeof **hash) != 0)
                *leaf = at + k;
    }
    return 0;
}

static int compare_array(pair *p, int64_t i)
{
    int64_t leaf;
    int status;

    if (!is_same_place(p, i))
        return ls__fail(LS_EINVAL, "array %lld of %.80s and of %.80s is not "
                        "the same one: the steps have other operators",
                        (long long)i, p->of[0].file.path, p->of[1].file.path);
    status = compare_leaves(p, i, &leaf);
    if (status < 0 || leaf < 0)
        return status;
    p->at = i;
    p->first->same = false;
    p->first->leaf = leaf;
    name_place(p);
    if (p->of[0].values && p->of[1].values)
        return find_element(p, &p->of[0].entry[i]);
    name_leaf(p, &p->of[0].entry[i]);
    return 0;
}

/* ------ the whole ------ */

/* Find what differs of one control, or of how many batches there were. */
static void differ(pair *p, const char *phase, const char *name,
                   const json_t *a, const json_t *b)
{
    char *text[2];

    if (a && b && json_equal(a, b))
        return;
    p->first->same = false;
    snprintf(p->first->place, LS_RECORD_TEXT, "%s: %.100s", phase, name);
    text[0] = a ? ls__json_text(a, JSON_ENCODE_ANY) : NULL;
    text[1] = b ? ls__json_text(b, JSON_ENCODE_ANY) : NULL;
    snprintf(p->first->text, LS_RECORD_TEXT, "%s: %.100s\n  %.60s  and  %.60s",
             phase, name, text[0] ? text[0] : "none",
             text[1] ? text[1] : "none");
    free(text[0]);
    free(text[1]);
}

/* The first difference in what a state has beside its arrays, where both sides
 * say it. */
static void compare_sides(pair *p, const char *phase)
{
    json_t *side[2], *of[2], *a, *b;

    for (int i = 0; i < 2; i++) {
        side[i] = json_object_get(json_object_get(p->of[i].head, "state"),
                                  phase);
        of[i] = json_object_get(side[i], "controls");
    }
    if (!json_array_size(of[0]) || !json_array_size(of[1]))
        return;
    differ(p, phase, "batches", json_object_get(side[0], "batches"),
           json_object_get(side[1], "batches"));
    for (size_t i = 0; p->first->same; i++) {
        a = json_array_get(of[0], i);
        b = json_array_get(of[1], i);
        if (!a && !b)
            return;
        differ(p, phase, json_string_value(json_array_get(a ? a : b, 0)), a, b);
    }
}

static int compare_all(pair *p, const char *a, const char *b)
{
    int status = ls__record_open(&p->of[0], a);
    int64_t i = 0;

    if (status == 0)
        status = ls__record_open(&p->of[1], b);
    if (status == 0)
        status = compare_heads(p);
    if (status == 0)
        compare_sides(p, "before");
    for (; status == 0 && p->first->same && i < p->of[0].entries &&
           i < p->of[1].entries; i++)
        status = compare_array(p, i);
    if (status == 0 && p->first->same && p->of[0].entries != p->of[1].entries)
        status = ls__fail(LS_EINVAL, "%.80s has %lld arrays and %.80s %lld: "
                          "the steps have other operators, or the data was "
                          "given to one alone", a,
                          (long long)p->of[0].entries, b,
                          (long long)p->of[1].entries);
    if (status == 0 && p->first->same)
        compare_sides(p, "after");
    return status;
}

int ls_record_compare_bytes(const char *a, const char *b,
                            ls_record_difference *difference, size_t size)
{
    LS__NEED(a);
    LS__NEED(b);
    LS__NEED(difference);

    ls_record_difference first = {.same = true, .element = -1, .leaf = -1,
                                  .device = -1};
    pair p = {.first = &first};
    int status = compare_all(&p, a, b);

    ls__record_shut(&p.of[0]);
    ls__record_shut(&p.of[1]);
    if (status == 0)
        ls__sized_put(difference, size, &first, sizeof first);
    return status;
}

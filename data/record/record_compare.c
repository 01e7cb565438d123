/* SPDX-License-Identifier: BSD-3-Clause */
/* Two records side by side: they have the same lines in the same order, so the
 * first hash in which they differ is of the first thing that was made
 * otherwise. */
#include "record/record_compare.h"
#include "base/memory.h"
#include "base/sized.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 2 };

/* A parameter of the layout. */
typedef struct placed {
    char *name, *shape;
    int64_t at, floats;
} placed;

typedef struct pair {
    ls__record_reader reader[SIDES];
    ls__entry entry[SIDES];
    placed *slot; /* the layout's */
    int slots;
    ls_record_difference *first;
} pair;

/* ------ are they of one step? ------ */

static const char *const passed[] = {"prev", "lockstep", "values", NULL};

static int compare_heads(pair *p)
{
    char text[LS__MESSAGE / 2];

    if (!ls__line_differs(p->entry[0].line, p->entry[1].line, passed, text,
                          sizeof text))
        return 0;
    return ls__fail(LS_EINVAL, "%.80s and %.80s are records of two steps, "
                    "which nothing can tell apart by a number: %.200s",
                    p->reader[0].chain.path, p->reader[1].chain.path, text);
}

static bool is_text_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The same array or number? */
static bool is_same_place(const ls__entry *a, const ls__entry *b)
{
    const ls__where *x = &a->place, *y = &b->place;

    return a->kind == b->kind && a->floats == b->floats && a->at == b->at &&
           is_text_same(x->phase, y->phase) && is_text_same(x->op, y->op) &&
           is_text_same(x->name, y->name) && is_text_same(x->what, y->what) &&
           is_text_same(x->shape, y->shape) && x->device == y->device &&
           x->micro == y->micro && x->first == y->first &&
           x->rows == y->rows && x->node == y->node && x->index == y->index;
}

/* ------ where it is, in words ------ */

static void add(char *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char *text, const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + at, LS_RECORD_TEXT - at, format, args);
    va_end(args);
}

/* "13 layer_norm "blocks_0.ln_2"", and what of it that is. */
static void add_node(char *text, const ls__where *w)
{
    const char *what = w->what;

    add(text, "%" PRId64 " %s", w->node, w->op);
    if (*w->name)
        add(text, " \"%.80s\"", w->name);
    if (strcmp(what, "dx") == 0)
        add(text, ", gradient of input %" PRId64, w->index);
    else if (strcmp(what, "dparam") == 0)
        add(text, ", gradient of the parameter");
    else if (strcmp(what, "y"))
        add(text, ", %s", what);
}

void ls__where_text(const ls__where *w, char text[LS_RECORD_TEXT])
{
    bool of_chunk = w->op && *w->op;

    *text = 0;
    if (strcmp(w->phase, "rows") == 0 || strcmp(w->phase, "gradient") == 0 ||
        of_chunk)
        add(text, "device %" PRId64 ", ", w->device);
    if (w->micro)
        add(text, "micro-batch %" PRId64 ", ", w->micro);
    if (w->rows)
        add(text, "rows %" PRId64 " to %" PRId64 ", ", w->first,
            w->first + w->rows - 1);
    if (of_chunk) {
        add(text, "%s: ", w->phase);
        add_node(text, w);
    } else if (strcmp(w->phase, w->what) == 0) {
        add(text, "%s", w->phase);
    } else {
        add(text, "%s: %s", w->phase, w->what);
    }
}

/* The sizes that a text like "4x16" has; 0: none. */
static int sizes_of(const char *shape, int64_t size[LS_MAX_RANK])
{
    int rank = 0;

    while (shape && *shape && rank < LS_MAX_RANK) {
        char *end;
        long long n = strtoll(shape, &end, 10);

        if (end == shape || n < 1)
            return 0;
        size[rank++] = n;
        shape = *end == 'x' ? end + 1 : end;
        if (*end && *end != 'x')
            return 0;
    }
    return rank;
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
    add(text, " (");
    if (has_rows)
        add(text, "row %" PRId64, rest);
    for (int k = 0; k < rank; k++)
        add(text, "%s%s%s%" PRId64, k || has_rows ? ", " : "",
            has_rows && rank <= 4 ? names[rank - 1][k] : "",
            has_rows && rank <= 4 ? " " : "", at[k]);
    add(text, ")");
}

static const placed *slot_at(const pair *p, int64_t element)
{
    for (int i = 0; i < p->slots; i++)
        if (element >= p->slot[i].at &&
            element < p->slot[i].at + p->slot[i].floats)
            return &p->slot[i];
    return NULL;
}

static bool is_of_layout(const ls__where *w)
{
    return strcmp(w->phase, "before") == 0 || strcmp(w->phase, "after") == 0 ||
           strcmp(w->what, "gradient") == 0 ||
           strcmp(w->what, "mean gradient") == 0;
}

static void add_element(char *text, const pair *p, int64_t element)
{
    const ls__entry *e = &p->entry[0];
    const placed *s = is_of_layout(&e->place) ? slot_at(p, element)
                                                     : NULL;
    bool has_rows = !s && e->place.rows &&
                    (strcmp(e->place.what, "y") == 0 ||
                     strcmp(e->place.what, "dx") == 0 ||
                     strcmp(e->place.phase, "rows") == 0 ||
                     strcmp(e->place.phase, "batch") == 0);

    if (s)
        add(text, ": \"%.100s\"", s->name);
    add(text, ": element %" PRId64 " of %" PRId64,
        s ? element - s->at : element, s ? s->floats : e->floats);
    if (s)
        add_indices(text, s->shape, element - s->at, false);
    else
        add_indices(text, e->place.shape, element, has_rows);
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static void add_values(char *text, uint32_t a, uint32_t b)
{
    add(text, "\n  %08" PRIx32 "  %.9g  and  %08" PRIx32 "  %.9g; its inputs "
        "are the same", a, (double)float_of(a), b, (double)float_of(b));
}

/* ------ the element ------ */

static bool is_same_leaf(const pair *p, int64_t leaf)
{
    return memcmp(&p->entry[0].leaf[leaf], &p->entry[1].leaf[leaf],
                  sizeof(ls__digest)) == 0;
}

/* Read both sides' leaves up to the one that differs, and its numbers. */
static int64_t read_both(pair *p, int64_t leaf, uint32_t value[SIDES][LS__LEAF])
{
    int64_t n = 0;

    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i <= leaf; i++)
            if ((n = ls__record_leaf(&p->reader[side], value[side])) <= 0)
                return n;
    return n;
}

/* Name the device, unless all share what differs. */
static void name_place(pair *p)
{
    const ls__where *w = &p->entry[0].place;
    ls_record_difference *f = p->first;

    ls__where_text(w, f->place);
    memcpy(f->text, f->place, sizeof f->text);
    f->leaf = -1;
    f->device = strncmp(f->place, "device ", 7) ? -1 : (int)w->device;
}

static int find_element(pair *p)
{
    uint32_t value[SIDES][LS__LEAF];
    ls_record_difference *f = p->first;
    int64_t leaf = 0, n;

    while (is_same_leaf(p, leaf))
        leaf++;
    name_place(p);
    f->leaf = leaf;
    n = read_both(p, leaf, value);
    if (n < 0)
        return (int)n;
    if (n == 0) {
        add(f->text, ": one of elements %" PRId64 " to %" PRId64 "; records "
            "with values tell which", leaf * LS__LEAF,
            ls__merkle_leaves(p->entry[0].floats) == leaf + 1
                ? p->entry[0].floats - 1 : (leaf + 1) * LS__LEAF - 1);
        return 0;
    }
    n = 0;
    while (value[0][n] == value[1][n])
        n++;
    f->element = leaf * LS__LEAF + n;
    f->a = value[0][n];
    f->b = value[1][n];
    add_element(f->text, p, f->element);
    add_values(f->text, f->a, f->b);
    return 0;
}

/* Find a number; the element of a double is the first word that differs. */
static int find_number(pair *p)
{
    ls_record_difference *f = p->first;
    const char *a = p->entry[0].bits, *b = p->entry[1].bits;
    uint64_t x = 0, y = 0;

    name_place(p);
    add(f->text, "\n  %.16s  and  %.16s; its inputs are the same", a, b);
    for (size_t at = 0; at + 8 <= strlen(a) && at + 8 <= strlen(b); at += 8)
        if (strncmp(a + at, b + at, 8) && ls__bits_read(a + at, 8, &x) &&
            ls__bits_read(b + at, 8, &y)) {
            f->element = (int64_t)at / 8;
            f->a = (uint32_t)x;
            f->b = (uint32_t)y;
            break;
        }
    return 0;
}

/* ------ line by line ------ */

static int keep_slot(pair *p)
{
    const ls__entry *e = &p->entry[0];
    placed *more =
        realloc(p->slot, (size_t)(p->slots + 1) * sizeof *more);

    if (!more)
        return ls__no_memory("the layout", sizeof *more);
    p->slot = more;
    p->slot[p->slots] = (placed){ls__text_copy(e->place.name),
                                        ls__text_copy(e->place.shape), e->at,
                                        e->floats};
    p->slots++;
    return p->slot[p->slots - 1].name && p->slot[p->slots - 1].shape
               ? 0 : LS_ENOMEM;
}

static int compare_entries(pair *p)
{
    const ls__entry *a = &p->entry[0], *b = &p->entry[1];

    if (!is_same_place(a, b))
        return ls__fail(LS_EINVAL, "%.80s, line %lld, and %.80s, line %lld, "
                        "are not of the same array: the steps have other "
                        "operators",
                        p->reader[0].chain.path,
                        (long long)p->reader[0].chain.lines,
                        p->reader[1].chain.path,
                        (long long)p->reader[1].chain.lines);
    switch (a->kind) {
    case LS__HEAD_ENTRY: return compare_heads(p);
    case LS__SLOT_ENTRY: return keep_slot(p);
    case LS__ARRAY_ENTRY:
        if (strcmp(a->root, b->root) == 0)
            return 0;
        p->first->same = false;
        return find_element(p);
    case LS__NUMBER_ENTRY:
        if (strcmp(a->bits, b->bits) == 0)
            return 0;
        p->first->same = false;
        return find_number(p);
    default: return 0;
    }
}

static int next_pair(pair *p)
{
    int status = 0;

    for (int side = 0; side < SIDES && status == 0; side++) {
        ls__entry_release(&p->entry[side]);
        status = ls__record_next(&p->reader[side], &p->entry[side]);
    }
    return status;
}

static void close_pair(pair *p)
{
    for (int side = 0; side < SIDES; side++) {
        ls__entry_release(&p->entry[side]);
        ls__record_shut(&p->reader[side]);
    }
    for (int i = 0; i < p->slots; i++) {
        free(p->slot[i].name);
        free(p->slot[i].shape);
    }
    free(p->slot);
}

int ls__record_first(const char *a, const char *b,
                     ls_record_difference *first, ls__entry *at)
{
    pair p = {.first = first};
    int status = ls__record_open(&p.reader[0], a);

    *first = (ls_record_difference){.same = true, .element = -1, .leaf = -1,
                                     .device = -1};
    if (status == 0)
        status = ls__record_open(&p.reader[1], b);
    do {
        if (status == 0)
            status = next_pair(&p);
        if (status == 0)
            status = compare_entries(&p);
    } while (status == 0 && first->same &&
             p.entry[0].kind != LS__CLOSE_ENTRY);
    if (at)
        *at = (ls__entry){0};
    if (at && status == 0 && !first->same) {
        *at = p.entry[0];
        at->leaf = NULL;
        p.entry[0].line = NULL;
    }
    close_pair(&p);
    return status;
}

int ls_record_compare_bytes(const char *a, const char *b,
                            ls_record_difference *difference, size_t size)
{
    LS__NEED(a);
    LS__NEED(b);
    LS__NEED(difference);

    ls_record_difference first;
    int status = ls__record_first(a, b, &first, NULL);

    if (status == 0)
        ls__sized_put(difference, size, &first, sizeof first);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See evidence.h.  Of a record that has values this reads what the chunk at
 * hand may be made of: what all share, and the chunks of its device up to
 * it. */
#define _GNU_SOURCE
#include "record/evidence.h"
#include "base/file.h"
#include "base/memory.h"
#include "record/record_compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------ finding ------ */

static bool is_called(const ls__kept *k, const char *phase, const char *what)
{
    return strcmp(k->place.phase, phase) == 0 &&
           strcmp(k->place.what, what) == 0;
}

static bool is_of(const ls__evidence *e, const ls__kept *k, int64_t node,
                  int64_t index)
{
    const ls__where *w = &k->place, *of = &e->of->place;

    return w->device == of->device && w->micro == of->micro &&
           w->node == node && w->index == index;
}

const ls__kept *ls__evidence_array(const ls__evidence *e, const char *phase,
                                   const char *what, int64_t node,
                                   int64_t index)
{
    for (int64_t i = 0; i < e->count; i++)
        if (is_called(&e->kept[i], phase, what) &&
            is_of(e, &e->kept[i], node, index) &&
            e->kept[i].place.first == e->of->place.first)
            return &e->kept[i];
    return NULL;
}

const ls__kept *ls__evidence_before(const ls__evidence *e, const char *what,
                                    int64_t node, int64_t index)
{
    for (const ls__kept *k = e->of; k-- > e->kept;)
        if (is_called(k, "backward", what) && is_of(e, k, node, index) &&
            k->place.first < e->of->place.first)
            return k;
    return NULL;
}

const ls__kept *ls__evidence_whole(const ls__evidence *e, const char *phase,
                                   const char *what)
{
    for (int64_t i = 0; i < e->count; i++)
        if (is_called(&e->kept[i], phase, what))
            return &e->kept[i];
    return NULL;
}

const ls__kept *ls__evidence_device(const ls__evidence *e, int64_t device)
{
    for (int64_t i = 0; i < e->count; i++)
        if (is_called(&e->kept[i], "gradient", "gradient") &&
            e->kept[i].place.device == device)
            return &e->kept[i];
    return NULL;
}

const ls__said *ls__evidence_node(const ls__evidence *e, int64_t node)
{
    for (int i = 0; i < e->nodes; i++)
        if (e->node[i].node == node)
            return &e->node[i];
    return NULL;
}

static const char *text_at(const ls__said *n, const char *of, int k)
{
    char number[20];

    snprintf(number, sizeof number, "%d", k);
    return json_string_value(
        json_object_get(json_object_get(n->line, of), number));
}

int64_t ls__evidence_input(const ls__said *n, int k)
{
    const char *text = text_at(n, "inputs", k);

    return text ? strtoll(text, NULL, 10) : -1;
}

const ls__said *ls__evidence_param(const ls__evidence *e, const ls__said *n,
                                   int k)
{
    const char *name = text_at(n, "params", k);

    for (int i = 0; name && i < e->slots; i++)
        if (strcmp(e->slot[i].name, name) == 0)
            return &e->slot[i];
    return NULL;
}

int64_t ls__evidence_size(const char *shape)
{
    int64_t size = 1;

    while (*shape) {
        char *end;
        long long n = strtoll(shape, &end, 10);

        if (end == shape || n < 1 || n > INT64_C(1) << 40 ||
            size > (INT64_C(1) << 40) / n)
            return 0;
        size *= n;
        shape = *end == 'x' ? end + 1 : end + strlen(end);
    }
    return size;
}

int64_t ls__evidence_width(const char *shape)
{
    const char *last = strrchr(shape, 'x');

    return *shape ? ls__evidence_size(last ? last + 1 : shape) : 1;
}

const char *ls__evidence_option(const ls__evidence *e, const char *name)
{
    return json_string_value(
        json_object_get(json_object_get(e->head, "options"), name));
}

/* Rows of an input: those of the shard, of which the chunk has some. */
static const uint32_t *rows_of(const ls__evidence *e, const ls__said *n)
{
    int64_t size = ls__evidence_size(n->shape), first = e->of->place.first;

    for (int64_t i = 0; i < e->count; i++) {
        const ls__kept *k = &e->kept[i];

        if (strcmp(k->place.phase, "rows") == 0 && is_of(e, k, 0, 0) &&
            strcmp(k->place.name, n->name) == 0)
            return (first + e->of->place.rows) * size <= k->n
                       ? k->x + first * size : NULL;
    }
    return NULL;
}

const uint32_t *ls__evidence_value(const ls__evidence *e, int64_t node)
{
    const ls__said *n = ls__evidence_node(e, node);
    const ls__kept *k;

    if (!n)
        return NULL;
    if (strcmp(n->op, "input") == 0)
        return rows_of(e, n);
    k = ls__evidence_array(e, "forward", "y", node, 0);
    return k && k->n == e->of->place.rows * ls__evidence_size(n->shape)
               ? k->x : NULL;
}

/* Nodes go back from the last; the first to give writes, the others add. */
const uint32_t *ls__evidence_gradient(const ls__evidence *e, int64_t node,
                                      int64_t above)
{
    const uint32_t *found = NULL;

    for (int i = e->nodes - 1; i >= 0 && e->node[i].node > above; i--)
        for (int k = 0; k < 64; k++) {
            const ls__said *n = &e->node[i];
            int64_t input = ls__evidence_input(n, k);
            const ls__kept *dx;

            if (input < 0)
                break;
            if (input != node || n->node <= node)
                continue;
            dx = ls__evidence_array(e, "backward", "dx", n->node, k);
            if (dx)
                found = dx->x;
            else if (!found && k < 32 && n->passes >> k & 1)
                found = ls__evidence_gradient(e, n->node, n->node);
        }
    return found;
}

/* ------ writing ------ */

void ls__evidence_list(ls__evidence *e, const char *name, int64_t n,
                       const uint32_t *x, int64_t stride)
{
    fputs(name, e->file);
    for (int64_t i = 0; i < n; i++)
        fprintf(e->file, " %08" PRIx32, x[i * stride]);
    fputc('\n', e->file);
}

void ls__evidence_word(ls__evidence *e, const char *name, uint32_t x)
{
    ls__evidence_list(e, name, 1, &x, 1);
}

void ls__evidence_rule(ls__evidence *e, const char *rule, uint32_t a,
                       uint32_t b)
{
    fprintf(e->file, "lockstep evidence 1\nop %s\n", rule);
    ls__evidence_list(e, "claim", 2, (uint32_t[]){a, b}, 1);
}

/* ------ reading ------ */

static void free_all(ls__evidence *e)
{
    for (int64_t i = 0; i < e->count; i++) {
        json_decref(e->kept[i].line);
        free(e->kept[i].x);
    }
    for (int i = 0; i < e->nodes; i++)
        json_decref(e->node[i].line);
    for (int i = 0; i < e->slots; i++)
        json_decref(e->slot[i].line);
    json_decref(e->head);
    free(e->kept);
    free(e->node);
    free(e->slot);
}

static int say(ls__said **list, int *count, ls__entry *x)
{
    ls__said *more = realloc(*list, (size_t)(*count + 1) * sizeof *more);

    if (!more)
        return ls__no_memory("a record", sizeof *more);
    *list = more;
    more[(*count)++] = (ls__said){
        x->line, x->place.name, x->place.op, x->place.shape, x->place.node,
        x->floats, x->at,
        json_integer_value(json_object_get(x->line, "passes")),
        json_integer_value(json_object_get(x->line, "tied")) != 0};
    x->line = NULL;
    return 0;
}

/* An array's numbers, leaf by leaf. */
static int read_values(ls__record_reader *r, ls__kept *k, int64_t floats)
{
    uint32_t value[LS__LEAF];
    int64_t n;

    while ((n = ls__record_leaf(r, value)) > 0) {
        uint32_t *more = realloc(k->x, (size_t)(k->n + n) * sizeof *more);

        if (!more)
            return ls__no_memory("a record", (size_t)(k->n + n) * 4);
        k->x = more;
        memcpy(k->x + k->n, value, (size_t)n * sizeof *more);
        k->n += n;
    }
    if (n == 0 && k->n != floats)
        return ls__fail(LS_ENOTSUP, "%s: has no values: --values writes them",
                        r->chain.path);
    return (int)n;
}

static int keep(ls__evidence *e, ls__record_reader *r, ls__entry *x)
{
    ls__kept *k;
    uint64_t bits = 0;

    if (e->count == e->room) {
        int64_t room = e->room ? 2 * e->room : 64;

        k = realloc(e->kept, (size_t)room * sizeof *k);
        if (!k)
            return ls__no_memory("a record", (size_t)room * sizeof *k);
        e->kept = k;
        e->room = room;
    }
    k = &e->kept[e->count++];
    *k = (ls__kept){.place = x->place, .line = x->line};
    x->line = NULL;
    if (x->kind == LS__ARRAY_ENTRY)
        return read_values(r, k, x->floats);
    (void)ls__bits_read(x->bits, 8, &bits);
    if (!(k->x = ls__new(1, sizeof *k->x, "a record")))
        return LS_ENOMEM;
    k->x[k->n++] = (uint32_t)bits;
    return 0;
}

/* May the place be made of it?  All share it, or it is of the same device. */
static bool is_near(const ls__where *w, const char *place)
{
    char device[40];

    snprintf(device, sizeof device, "device %" PRId64 ",", w->device);
    return strncmp(place, "device ", 7) == 0
               ? strncmp(place, device, strlen(device)) == 0 ||
                     strcmp(w->phase, "before") == 0
               : !w->op || !*w->op;
}

static int take(ls__evidence *e, ls__record_reader *r, ls__entry *x,
                const char *place)
{
    char text[LS_RECORD_TEXT];
    int status;

    switch (x->kind) {
    case LS__HEAD_ENTRY: e->head = json_incref(x->line); return 0;
    case LS__SLOT_ENTRY: return say(&e->slot, &e->slots, x);
    case LS__NODE_ENTRY: return say(&e->node, &e->nodes, x);
    case LS__CLOSE_ENTRY: return 0;
    default: break;
    }
    if (!is_near(&x->place, place))
        return 0;
    ls__where_text(&x->place, text);
    if ((status = keep(e, r, x)) == 0 && strcmp(text, place) == 0)
        e->element = e->count - 1;
    return status;
}

/* All up to the place; what comes later cannot be part of it. */
static int read_all(ls__evidence *e, const char *path, const char *place)
{
    ls__record_reader r;
    ls__entry x = {0};
    int status = ls__record_open(&r, path);
    bool over = false;

    e->element = -1;
    while (status == 0 && !over && e->element < 0) {
        status = ls__record_next(&r, &x);
        over = status == 0 && x.kind == LS__CLOSE_ENTRY;
        if (status == 0)
            status = take(e, &r, &x, place);
        ls__entry_release(&x);
    }
    ls__record_shut(&r);
    if (status == 0 && e->element < 0)
        status = ls__fail(LS_ENOTFOUND, "%.200s: has no place \"%.200s\"",
                          path, place);
    if (status == 0)
        e->of = &e->kept[e->element];
    return status;
}

/* ------ the public functions ------ */

static int save(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");
    bool good = f && fwrite(text, 1, bytes, f) == bytes;

    if (f && fclose(f) != 0)
        good = false;
    return good ? 0 : ls__io_error(path, "write");
}

int ls_record_leaf(const char *record, const char *place, int64_t leaf,
                   uint32_t value[4096])
{
    LS__NEED(record);
    LS__NEED(place);
    LS__NEED(value);

    ls__evidence e = {0};
    int64_t n = read_all(&e, record, place), left;

    if (n == 0) {
        left = leaf < 0 || leaf > e.of->n / LS__LEAF
                   ? 0 : e.of->n - leaf * LS__LEAF;
        n = left < LS__LEAF ? left : LS__LEAF;
        if (n)
            memcpy(value, e.of->x + leaf * LS__LEAF, (size_t)n * 4);
        else
            n = ls__fail(LS_ENOTFOUND, "%.200s: \"%.100s\" has no leaf %lld",
                         record, place, (long long)leaf);
    }
    free_all(&e);
    return (int)n;
}

/* Is it the entry of that place; then its leaf's hash. */
static bool has_leaf(const ls__entry *x, const char *place, int64_t leaf,
                     char hash[65])
{
    char text[LS_RECORD_TEXT];

    if (x->kind != LS__ARRAY_ENTRY)
        return false;
    ls__where_text(&x->place, text);
    if (strcmp(text, place) || leaf < 0 ||
        leaf >= ls__merkle_leaves(x->floats))
        return false;
    ls__digest_text(&x->leaf[leaf], hash);
    hash[64] = 0;
    return true;
}

int ls_record_leaf_hash(const char *record, const char *place, int64_t leaf,
                        char hash[65])
{
    LS__NEED(record);
    LS__NEED(place);
    LS__NEED(hash);

    ls__record_reader r;
    ls__entry x = {0};
    int status = ls__record_open(&r, record);
    bool found = false, over = false;

    while (status == 0 && !found && !over) {
        status = ls__record_next(&r, &x);
        over = status == 0 && x.kind == LS__CLOSE_ENTRY;
        found = status == 0 && has_leaf(&x, place, leaf, hash);
        ls__entry_release(&x);
    }
    ls__record_shut(&r);
    if (status == 0 && !found)
        status = ls__fail(LS_ENOTFOUND, "%.200s: \"%.100s\" has no leaf %lld",
                          record, place, (long long)leaf);
    return status;
}

int ls_record_evidence(const char *record, const char *place, int64_t element,
                       uint32_t a, uint32_t b, const char *path)
{
    LS__NEED(record);
    LS__NEED(place);
    LS__NEED(path);

    ls__evidence e = {0};
    int status = read_all(&e, record, place);
    char *text = NULL;
    size_t bytes = 0;

    if (status == 0 && (element < 0 || element >= e.of->n))
        status = ls__fail(LS_ENOTFOUND, "\"%.200s\" has no element %lld",
                          place, (long long)element);
    e.element = element;
    if (status == 0 && !(e.file = open_memstream(&text, &bytes)))
        status = ls__no_memory("evidence", 0);
    if (status == 0)
        status = ls__evidence_make(&e, a, b);
    if (e.file && fclose(e.file) != 0 && status == 0)
        status = ls__no_memory("evidence", bytes);
    if (status == 0)
        status = save(path, text, bytes);
    free(text);
    free_all(&e);
    return status;
}

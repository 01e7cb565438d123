/* SPDX-License-Identifier: BSD-3-Clause */
/* See evidence.h: what rules ask for, and the public functions. */
#define _GNU_SOURCE
#include "record/evidence.h"
#include "disk/file.h"
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

const ls__kept *ls__evidence_before(const ls__evidence *e,
                                    const ls__kept *until, int64_t micro,
                                    const char *name)
{
    for (const ls__kept *k = until; k-- > e->kept;)
        if (is_called(k, "backward", "dparam") && !k->is_number &&
            k->place.device == e->of->place.device &&
            k->place.micro == micro && strcmp(k->place.name, name) == 0)
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

const ls__kept *ls__evidence_device(const ls__evidence *e, const char *what,
                                    int64_t device)
{
    for (int64_t i = 0; i < e->count; i++)
        if (is_called(&e->kept[i], "gradient", what) &&
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

const ls__said *ls__evidence_slot(const ls__evidence *e, int64_t at)
{
    for (int i = 0; i < e->slots; i++)
        if (at >= e->slot[i].at && at < e->slot[i].at + e->slot[i].floats)
            return &e->slot[i];
    return NULL;
}

int ls__evidence_axes(const char *shape, int64_t size[LS_MAX_RANK])
{
    int rank = 0;

    while (*shape && rank < LS_MAX_RANK) {
        char *end;

        size[rank++] = strtoll(shape, &end, 10);
        shape = *end == 'x' ? end + 1 : end + strlen(end);
    }
    return rank;
}

const char *ls__evidence_of(const ls__said *n, const char *name)
{
    return json_string_value(
        json_object_get(json_object_get(n->line, "of"), name));
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

const ls__kept *ls__evidence_rows(const ls__evidence *e, const char *what)
{
    for (int64_t i = 0; i < e->count; i++)
        if (is_called(&e->kept[i], "rows", what) && is_of(e, &e->kept[i], 0, 0))
            return &e->kept[i];
    return NULL;
}

/* Rows of an input: those of the shard, of which the chunk has some. */
static const uint32_t *rows_of(const ls__evidence *e, const ls__said *n)
{
    int64_t size = ls__evidence_size(n->shape), first = e->of->place.first;
    const ls__kept *k = ls__evidence_rows(e, n->name);

    return k && size > 0 && first + e->of->place.rows <= k->n / size
               ? k->x + first * size : NULL;
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
    return k && ls__evidence_has(k, e->of->place.rows,
                                 ls__evidence_size(n->shape)) ? k->x : NULL;
}

/* Nodes that hand a gradient on can be connected by more ways than anybody
 * can go. */
enum { MOST_WALKS = 4096 };

/* Nodes go back from the last; the first to give writes, the others add. */
const uint32_t *ls__evidence_gradient(ls__evidence *e, int64_t node,
                                      int64_t above)
{
    const ls__said *of = ls__evidence_node(e, node);
    int64_t size = of ? ls__evidence_size(of->shape) : 0;
    const uint32_t *found = NULL;

    if (++e->walks > MOST_WALKS)
        return NULL;
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
            if (dx && ls__evidence_has(dx, e->of->place.rows, size))
                found = dx->x;
            else if (!found && k < 32 && n->passes >> k & 1)
                found = ls__evidence_gradient(e, n->node, n->node);
        }
    return found;
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
    int64_t n = ls__evidence_read(&e, record, place), left;

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
    ls__evidence_free(&e);
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
    int status = ls__evidence_read(&e, record, place);
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
    if (status == 0)
        status = ls__evidence_open(&e);
    if (e.file && fclose(e.file) != 0 && status == 0)
        status = ls__no_memory("evidence", bytes);
    if (status == 0 && bytes > LS__EVIDENCE_MOST)
        status = ls__fail(LS_ENOTSUP, "evidence of %zu bytes, which is more "
                          "than %d", bytes, LS__EVIDENCE_MOST);
    if (status == 0)
        status = save(path, text, bytes);
    free(text);
    ls__evidence_free(&e);
    return status;
}

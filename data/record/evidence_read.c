/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading, of a record that has values, what the chunk at hand may be made of:
 * what all share, and the chunks of its device up to it. */
#include "record/evidence.h"
#include "base/memory.h"
#include "record/record_compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ls__evidence_free(ls__evidence *e)
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
    free(e->opened);
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
        json_integer_value(json_object_get(x->line, "passes"))};
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
    k->is_number = true;
    if (!(k->x = ls__new(2, sizeof *k->x, "a record")))
        return LS_ENOMEM;
    for (size_t i = 0; i < strlen(x->bits); i += 8) {
        (void)ls__bits_read(x->bits + i, 8, &bits);
        k->x[k->n++] = (uint32_t)bits;
    }
    return 0;
}

/* May the place be made of it?  All share it, or it is of the same device; what
 * surveys find goes to all devices. */
static bool is_near(const ls__where *w, const char *place)
{
    char device[40];

    if (strncmp(w->what, "statistics", 10) == 0)
        return true;
    snprintf(device, sizeof device, "device %" PRId64 ",", w->device);
    return strncmp(place, "device ", 7) == 0
               ? strncmp(place, device, strlen(device)) == 0 ||
                     strcmp(w->phase, "before") == 0 ||
                     strcmp(w->phase, "batch") == 0 ||
                     strcmp(w->phase, "rule") == 0
               : !w->op || !*w->op;
}

enum { MOST_PARTS = 1 << 16 };

/* Rules go through devices and micro-batches, whether there are arrays of them
 * or not. */
static int take_head(ls__evidence *e, const ls__entry *x)
{
    e->head = json_incref(x->line);
    if (json_integer_value(json_object_get(e->head, "devices")) > MOST_PARTS ||
        json_integer_value(json_object_get(e->head, "micro")) > MOST_PARTS)
        return ls__fail(LS_ENOTSUP, "evidence of a step of more than %d "
                        "devices or micro-batches", MOST_PARTS);
    return 0;
}

static int take(ls__evidence *e, ls__record_reader *r, ls__entry *x,
                const char *place)
{
    char text[LS_RECORD_TEXT];
    int status;

    switch (x->kind) {
    case LS__HEAD_ENTRY: return take_head(e, x);
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

int ls__evidence_read(ls__evidence *e, const char *path, const char *place)
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

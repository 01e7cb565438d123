/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a record; see record_file.h. */
#include "audit/record_file.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "file/line.h"
#include "state/canonical.h"

#include <stdlib.h>
#include <string.h>

/* ------ the file ------ */

static int put(ls_record *r, const void *data, size_t bytes)
{
    r->at += (int64_t)bytes;
    return ls__newfile_write(&r->file.out, data, bytes);
}

/* Zeros up to where an array may begin. */
static int align(ls_record *r)
{
    static const char zeros[LS__RECORD_ALIGNED];

    _Static_assert((LS__RECORD_ALIGNED & (LS__RECORD_ALIGNED - 1)) == 0, "");
    return put(r, zeros, (size_t)(-r->at & (LS__RECORD_ALIGNED - 1)));
}

int ls__record_create(ls_record *r, const char *path, const ls__params *layout,
                      bool values)
{
    const ls__record_header none = {0};
    int status = ls__aside_open(&r->file, path);

    r->layout = layout;
    r->values = values;
    r->bytes = 1;
    return status < 0 ? status : put(r, &none, sizeof none);
}

void ls__record_drop(ls_record *r)
{
    if (!r)
        return;
    if (r->file.out.path)
        ls__aside_close(&r->file);
    ls__names_free(&r->known);
    ls__arena_free(&r->texts);
    json_decref(r->head);
    free(r->entry);
    free(r);
}

/* ------ names and index ------ */

/* The place of a name among the names; -1: no memory. */
static int64_t name_at(ls_record *r, const char *name)
{
    const char *copy;
    int *place;

    if (!name || !*name)
        return 0;
    if (!(copy = ls__arena_text(&r->texts, name)) ||
        !(place = ls__names_number(&r->known, copy)))
        return -1;
    if (!*place) {
        *place = (int)r->bytes;
        r->bytes += strlen(name) + 1;
    }
    return *place;
}

/* Room for an entry more. */
static bool grow(ls_record *r)
{
    int64_t most = r->most ? 2 * r->most : 64;
    ls__record_entry *more = realloc(r->entry, (size_t)most * sizeof *more);

    if (!more) {
        ls__no_memory("a record's index", (size_t)most * sizeof *more);
        return false;
    }
    r->entry = more;
    r->most = most;
    return true;
}

static int add_entry(ls_record *r, const ls__where *w, int64_t words,
                     ls__word_kind kind)
{
    int64_t what = name_at(r, w->what), name = name_at(r, w->name);
    int64_t op = name_at(r, w->op), shape = name_at(r, w->shape);

    if (what < 0 || name < 0 || op < 0 || shape < 0 ||
        (r->entries == r->most && !grow(r)))
        return LS_ENOMEM;
    r->entry[r->entries++] = (ls__record_entry){
        .phase = (uint32_t)ls__phase_of(w->phase), .kind = kind,
        .what = (uint32_t)what, .name = (uint32_t)name, .op = (uint32_t)op,
        .shape = (uint32_t)shape, .device = (int32_t)w->device,
        .micro = (int32_t)w->micro, .node = (int32_t)w->node,
        .index = (int32_t)w->index, .first = w->first, .rows = w->rows,
        .words = words, .at = (uint64_t)r->at};
    return 0;
}

/* ------ arrays ------ */

enum { SOME = 2 * LS__LEAF }; /* words at once: two leaves are hashed faster */

/* The words of doubles, of which a NaN has one form. */
static void take_doubles(uint32_t *x, int64_t n)
{
    for (int64_t i = 0; i + 1 < n; i += 2) {
        uint32_t high = x[i] & 0x7fffffff;

        if (high > 0x7ff00000 || (high == 0x7ff00000 && x[i + 1])) {
            x[i] = 0x7ff80000;
            x[i + 1] = 0;
        }
    }
}

/* n words from `first` on as the record has them. */
static void take(const ls_record *r, const ls__where *w,
                 const uint32_t *words, int64_t first, int64_t n,
                 ls__word_kind kind, uint32_t *to)
{
    const float *floats = (const float *)(const void *)words;

    if (kind == LS__FLOATS && r->layout && ls__where_is_layout(w))
        ls__canonical_part(r->layout, floats + first, first, n, to);
    else if (kind == LS__FLOATS)
        ls__canonical(words + first, n, to);
    else
        memcpy(to, words + first, (size_t)n * sizeof *to);
    if (kind == LS__DOUBLES)
        take_doubles(to, n);
}

int ls__record_array(ls_record *r, const ls__where *w, const void *words,
                     int64_t n, ls__word_kind kind)
{
    int64_t leaves = ls__merkle_leaves(n), m;
    ls__digest *leaf = ls__new((size_t)leaves, sizeof *leaf,
                               "leaves of a record");
    uint32_t x[SOME];
    int status = leaf ? align(r) : LS_ENOMEM;

    if (status == 0)
        status = add_entry(r, w, n, kind);
    for (int64_t i = 0; status == 0 && i < n; i += m) {
        m = ls__least(n - i, SOME);
        take(r, w, words, i, m, kind, x);
        ls__merkle_hash((const float *)(const void *)x, m, 0,
                        ls__merkle_leaves(m), leaf + i / LS__LEAF);
    }
    if (status == 0)
        status = put(r, leaf, (size_t)leaves * sizeof *leaf);
    for (int64_t i = 0; r->values && status == 0 && i < n; i += m) {
        m = ls__least(n - i, SOME);
        take(r, w, words, i, m, kind, x);
        ls__little(x, (size_t)m, sizeof *x);
        status = put(r, x, (size_t)m * sizeof *x);
    }
    free(leaf);
    return status;
}

/* ------ the tail ------ */

/* Put all names at their places, each with a zero behind it. */
static void join_names(const ls_record *r, char *names)
{
    for (size_t i = 0; i < r->known.capacity; i++)
        if (r->known.at[i].text)
            strcpy(names + r->known.at[i].number, r->known.at[i].text);
}

static int put_tail(ls_record *r, const char *head)
{
    size_t n = strlen(head), index = (size_t)r->entries * sizeof *r->entry;
    size_t bytes = n + index + r->bytes;
    ls__record_header h = {
        .magic = LS__RECORD_MAGIC, .version = LS__RECORD_VERSION,
        .tail_at = (uint64_t)r->at, .head_bytes = n,
        .entries = (uint64_t)r->entries, .names_bytes = r->bytes};
    char *tail = ls__new(bytes + sizeof(ls__digest), 1, "a record's tail");
    ls__digest seal;
    int status;

    if (!tail)
        return LS_ENOMEM;
    ls__record_header_turn(&h);
    for (int64_t i = 0; i < r->entries; i++)
        ls__record_entry_turn(&r->entry[i]);
    memcpy(tail, head, n);
    memcpy(tail + n, r->entry, index);
    join_names(r, tail + n + index);
    seal = ls__record_seal(&h, tail, bytes);
    memcpy(tail + bytes, &seal, sizeof seal);
    status = put(r, tail, bytes + sizeof seal);
    free(tail);
    return status < 0 ? status
                      : ls__newfile_write_at(&r->file.out, &h, sizeof h, 0);
}

int ls__record_finish(ls_record *r)
{
    char *text = ls__line_write(r->head);
    int status = text ? align(r) : ls__no_memory("a record's head", 0);

    if (status == 0)
        status = put_tail(r, text);
    if (status == 0)
        status = ls__aside_finish(&r->file);
    free(text);
    return status;
}

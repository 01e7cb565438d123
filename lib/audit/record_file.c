/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a record; see record_file.h. */
#include "audit/record_file.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/least.h"
#include "base/sha.h"
#include "file/line.h"
#include "state/canonical.h"

#include <stdlib.h>
#include <string.h>

/* ------ the file ------ */

static int put(ls__record_file *f, const void *data, size_t bytes)
{
    f->at += (int64_t)bytes;
    return ls__newfile_write(&f->file.out, data, bytes);
}

/* Zeros up to where an array may begin. */
static int align(ls__record_file *f)
{
    static const char zeros[LS__RECORD_ALIGNED];

    _Static_assert((LS__RECORD_ALIGNED & (LS__RECORD_ALIGNED - 1)) == 0, "");
    return put(f, zeros, (size_t)(-f->at & (LS__RECORD_ALIGNED - 1)));
}

int ls__record_create(ls__record_file *f, const char *path,
                      const ls__params *layout, bool values)
{
    const ls__record_header none = {0};
    int status = ls__aside_open(&f->file, path);

    f->layout = layout;
    f->values = values;
    f->names = ls__new(1, 1, "names of a record");
    f->bytes = f->names_room = 1;
    if (status == 0 && !f->names)
        status = LS_ENOMEM;
    return status < 0 ? status : put(f, &none, sizeof none);
}

void ls__record_close(ls__record_file *f)
{
    if (f->file.out.path)
        ls__aside_close(&f->file);
    ls__names_free(&f->known);
    ls__arena_free(&f->texts);
    free(f->names);
    free(f->entry);
    free(f->leaf);
    *f = (ls__record_file){0};
}

/* ------ names and index ------ */

/* Make room for `more` behind `used` of them. */
static void *grown(void *of, int64_t *room, int64_t used, int64_t more,
                   size_t size)
{
    int64_t want = *room;

    while (want < used + more)
        want = want ? 2 * want : 64;
    if (want == *room)
        return of;
    if ((of = realloc(of, (size_t)want * size)))
        *room = want;
    else
        ls__no_memory("a record's index", (size_t)want * size);
    return of;
}

/* The place of a name among the names; -1: no memory. */
static int64_t name_at(ls__record_file *f, const char *name)
{
    size_t n = name ? strlen(name) + 1 : 1;
    int64_t room = (int64_t)f->names_room;
    int *place;
    char *copy;

    if (n == 1)
        return 0;
    if (!(copy = ls__arena_text(&f->texts, name)) ||
        !(place = ls__names_number(&f->known, copy)))
        return -1;
    if (*place)
        return *place;
    if (!(copy = grown(f->names, &room, (int64_t)f->bytes, (int64_t)n, 1)))
        return -1;
    f->names = copy;
    f->names_room = (size_t)room;
    memcpy(f->names + f->bytes, name, n);
    *place = (int)f->bytes;
    f->bytes += n;
    return *place;
}

static int add_entry(ls__record_file *f, const ls__where *w, int64_t words,
                     ls__word_kind kind)
{
    int64_t what = name_at(f, w->what), name = name_at(f, w->name);
    int64_t op = name_at(f, w->op), shape = name_at(f, w->shape);
    ls__record_entry *more = grown(f->entry, &f->most, f->entries, 1,
                                   sizeof *more);

    if (more)
        f->entry = more;
    if (!more || what < 0 || name < 0 || op < 0 || shape < 0)
        return LS_ENOMEM;
    more[f->entries++] = (ls__record_entry){
        .phase = (uint32_t)ls__phase_of(w->phase), .kind = kind,
        .what = (uint32_t)what, .name = (uint32_t)name, .op = (uint32_t)op,
        .shape = (uint32_t)shape, .device = (int32_t)w->device,
        .micro = (int32_t)w->micro, .node = (int32_t)w->node,
        .index = (int32_t)w->index, .first = w->first, .rows = w->rows,
        .words = words, .at = (uint64_t)f->at};
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
static void take(const ls__record_file *f, const ls__where *w,
                 const uint32_t *words, int64_t first, int64_t n,
                 ls__word_kind kind, uint32_t *to)
{
    const float *floats = (const float *)(const void *)words;

    if (kind == LS__FLOATS && f->layout && ls__where_is_layout(w))
        ls__canonical_part(f->layout, floats + first, first, n, to);
    else if (kind == LS__FLOATS)
        ls__canonical(words + first, n, to);
    else
        memcpy(to, words + first, (size_t)n * sizeof *to);
    if (kind == LS__DOUBLES)
        take_doubles(to, n);
}

static int make_room(ls__record_file *f, int64_t leaves)
{
    if (leaves <= f->room)
        return 0;
    free(f->leaf);
    f->leaf = ls__new((size_t)leaves, sizeof *f->leaf, "leaves of a record");
    f->room = f->leaf ? leaves : 0;
    return f->leaf ? 0 : LS_ENOMEM;
}

int ls__record_array(ls__record_file *f, const ls__where *w, const void *words,
                     int64_t n, ls__word_kind kind)
{
    int64_t leaves = ls__merkle_leaves(n);
    uint32_t x[SOME];
    int status = make_room(f, leaves);

    if (status == 0)
        status = align(f);
    if (status == 0)
        status = add_entry(f, w, n, kind);
    for (int64_t i = 0; status == 0 && i < n; i += SOME) {
        take(f, w, words, i, ls__least(n - i, SOME), kind, x);
        ls__merkle_hash((const float *)(const void *)x, ls__least(n - i, SOME),
                        0, ls__merkle_leaves(ls__least(n - i, SOME)),
                        f->leaf + i / LS__LEAF);
    }
    if (status == 0)
        status = put(f, f->leaf, (size_t)leaves * sizeof *f->leaf);
    for (int64_t i = 0; f->values && status == 0 && i < n; i += SOME) {
        take(f, w, words, i, ls__least(n - i, SOME), kind, x);
        ls__little(x, (size_t)ls__least(n - i, SOME), sizeof *x);
        status = put(f, x, (size_t)ls__least(n - i, SOME) * sizeof *x);
    }
    return status;
}

/* ------ the tail ------ */

/* Write it as a part of what the seal is of. */
static int put_sealed(ls__record_file *f, ls__sha256 *sha, const void *data,
                      size_t bytes)
{
    ls__sha256_update(sha, data, bytes);
    return put(f, data, bytes);
}

static int put_tail(ls__record_file *f, const char *head)
{
    ls__record_header h = {
        .magic = LS__RECORD_MAGIC, .version = LS__RECORD_VERSION,
        .tail_at = (uint64_t)f->at, .head_bytes = strlen(head),
        .entries = (uint64_t)f->entries, .names_bytes = f->bytes};
    ls__digest seal;
    ls__sha256 sha;
    int status;

    ls__record_header_turn(&h);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, &h, sizeof h);
    status = put_sealed(f, &sha, head, strlen(head));
    for (int64_t i = 0; i < f->entries; i++)
        ls__record_entry_turn(&f->entry[i]);
    if (status == 0)
        status = put_sealed(f, &sha, f->entry,
                            (size_t)f->entries * sizeof *f->entry);
    if (status == 0)
        status = put_sealed(f, &sha, f->names, f->bytes);
    ls__sha256_final(&sha, seal.byte);
    if (status == 0)
        status = put(f, &seal, sizeof seal);
    return status < 0 ? status
                      : ls__newfile_write_at(&f->file.out, &h, sizeof h, 0);
}

int ls__record_finish(ls__record_file *f, const json_t *head)
{
    char *text = head ? ls__line_write(head) : NULL;
    int status = text ? align(f) : ls__no_memory("a record's head", 0);

    if (status == 0)
        status = put_tail(f, text);
    if (status == 0)
        status = ls__aside_finish(&f->file);
    free(text);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a record.  Anybody may have written it: sizes are checked against
 * the file's before memory is taken, all of the tail by its seal, and each leaf
 * by its hash. */
#include "audit/record_read.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/least.h"
#include "base/memory.h"
#include "file/line.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = sizeof(ls__record_entry), MOST_ENTRIES = 1 << 22 };

/* Words that an array may have: bytes of it fit an int64_t. */
#define MOST_WORDS (INT64_C(1) << 56)

static int wrong(const ls__record *r, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: is no record of a step, or was changed: "
                    "%s", r->file.path, what);
}

/* ------ the header ------ */

static int check_header(const ls__record *r, const ls__record_header *h)
{
    uint64_t size = (uint64_t)r->file.size;

    if (memcmp(h->magic, LS__RECORD_MAGIC, sizeof h->magic) != 0)
        return wrong(r, "it does not begin with \"lockstep record\"");
    if (h->version != LS__RECORD_VERSION)
        return ls__fail(LS_ENOTSUP, "%s: a record of version %llu; this is "
                        "lockstep %s, which knows version %d", r->file.path,
                        (unsigned long long)h->version, ls_version(),
                        LS__RECORD_VERSION);
    if (h->zero || h->tail_at < sizeof *h || h->tail_at > size ||
        h->tail_at % LS__RECORD_ALIGNED || h->head_bytes > LS__LINE_MOST ||
        h->entries > MOST_ENTRIES || h->names_bytes > LS__LINE_MOST ||
        h->names_bytes == 0 ||
        h->tail_at + h->head_bytes + h->entries * ENTRY + h->names_bytes +
                sizeof(ls__digest) != size)
        return wrong(r, "its parts do not make up the file");
    return 0;
}

/* ------ the head ------ */

/* Has a value a form of json_unpack's?  The names in it follow. */
static bool has_form(json_t *value, const char *form, ...)
{
    va_list names;
    int status;

    va_start(names, form);
    status = json_vunpack_ex(value, NULL, JSON_VALIDATE_ONLY, form, names);
    va_end(names);
    return status == 0;
}

/* Is it a list of parameters: where each begins, its size and name? */
static bool are_slots(json_t *slots)
{
    json_t *one;
    size_t i;

    json_array_foreach (slots, i, one)
        if (!has_form(one, "{s:I,s:I,s:s,s:s!}", "at", "floats", "name",
                      "shape") ||
            ls__json_count(one, "at") < 0 || ls__json_count(one, "floats") < 0)
            return false;
    return true;
}

/* Is it a state's: batches, updates and pairs of texts? */
static bool is_side(json_t *side)
{
    json_t *one;
    size_t i;

    if (!has_form(side, "{s:I,s:[],s:I!}", "batches", "controls", "updates") ||
        ls__json_count(side, "batches") < 0 ||
        ls__json_count(side, "updates") < 0)
        return false;
    json_array_foreach (json_object_get(side, "controls"), i, one)
        if (!has_form(one, "[s,s!]") ||
            json_string_length(json_array_get(one, 1)) != 16)
            return false;
    return true;
}

static bool is_head(json_t *h)
{
    json_t *device = json_object_get(h, "device");
    json_t *state = json_object_get(h, "state");
    int64_t values = ls__json_count(h, "values");

    return has_form(h, "{s:i,s:o,s:i,s:{},s:s,s:s,s:s,s:s,s:i,s:o,s:I,s?{},"
                    "s:[],s:{s:o,s:o!},s:I,s:i,s:i!}", "bits", "device",
                    "devices", "graph", "kind", "layout", "lockstep", "maker",
                    "micro", "options", "plan", "rows", "slots", "state",
                    "after", "before", "step", "values", "version") &&
           ls__line_is(h, "record") &&
           ls__json_count(h, "version") == LS__RECORD_VERSION &&
           (values == 0 || values == 1) &&
           ls__json_count(h, "devices") >= 1 &&
           ls__json_count(h, "micro") >= 1 && ls__json_count(h, "plan") >= 0 &&
           ls__json_count(h, "step") >= 0 &&
           (json_is_string(device) || json_is_integer(device)) &&
           ls__json_are_texts(json_object_get(h, "options")) &&
           are_slots(json_object_get(h, "slots")) &&
           is_side(json_object_get(state, "after")) &&
           is_side(json_object_get(state, "before"));
}

static int take_head(ls__record *r, size_t bytes)
{
    const char *text = r->tail;
    json_error_t error;
    char *written;
    int status = 0;

    r->head = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!r->head)
        return ls__json_fail(r->file.path, "the head of a record is no JSON", 0,
                             &error);
    if (!(written = ls__line_write(r->head)))
        return ls__no_memory("a record's head", bytes);
    if (strlen(written) != bytes || memcmp(written, text, bytes) != 0)
        status = wrong(r, "its head is not canonical JSON (keys sorted, no "
                       "blanks)");
    else if (!is_head(r->head))
        status = wrong(r, "its head is not what it must be");
    r->values = ls__json_count(r->head, "values");
    free(written);
    return status;
}

/* ------ the index ------ */

/* The byte behind an array that begins at `at`. */
static int64_t end_of(const ls__record *r, const ls__record_entry *e)
{
    return (int64_t)e->at + 32 * ls__merkle_leaves(e->words) +
           (r->values ? 4 * e->words : 0);
}

static int64_t aligned(int64_t at)
{
    return (at + LS__RECORD_ALIGNED - 1) & -LS__RECORD_ALIGNED;
}

/* Arrays lie one after the other, and the names end with a zero. */
static int check_index(ls__record *r, int64_t tail_at)
{
    int64_t at = sizeof(ls__record_header);
    uint32_t names = (uint32_t)r->names_bytes;

    if (r->names[0] || r->names[names - 1])
        return wrong(r, "names without an end");
    for (int64_t i = 0; i < r->entries; i++) {
        const ls__record_entry *e = &r->entry[i];

        if (e->phase >= LS__PHASES_OF_RECORD || e->kind >= LS__WORD_KINDS ||
            e->what >= names || e->name >= names || e->op >= names ||
            e->shape >= names || e->device < 0 || e->micro < 0 || e->node < 0 ||
            e->index < 0 || e->first < 0 || e->rows < 0 ||
            e->first > MOST_WORDS || e->rows > MOST_WORDS || e->words < 0 ||
            e->words > MOST_WORDS ||
            (e->kind == LS__DOUBLES && e->words % 2) || e->zero[0] ||
            e->zero[1] || e->zero[2])
            return wrong(r, "an array that there cannot be");
        if (e->at != (uint64_t)aligned(at) || end_of(r, e) > tail_at)
            return wrong(r, "an array that is not where it must be");
        at = end_of(r, e);
    }
    return aligned(at) == tail_at ? 0 : wrong(r, "more than its arrays");
}

/* Read it as it is, check the seal, and only then look at it. */
static int take_tail(ls__record *r, const ls__record_header *h)
{
    size_t bytes = (size_t)(r->file.size - (int64_t)h->tail_at);
    size_t head = (size_t)h->head_bytes, index = (size_t)h->entries * ENTRY;
    ls__record_header raw = *h;
    int status = LS_ENOMEM;
    ls__digest seal;

    r->entries = (int64_t)h->entries;
    r->names_bytes = (int64_t)h->names_bytes;
    r->entry = ls__new((size_t)r->entries, ENTRY, "a record's index");
    r->tail = ls__new(bytes, 1, "a record's head, index and names");
    if (r->entry && r->tail)
        status = ls__file_read(&r->file, r->tail, bytes, (int64_t)h->tail_at);
    if (status < 0)
        return status;
    ls__record_header_turn(&raw);
    seal = ls__record_seal(&raw, r->tail, bytes - sizeof seal);
    if (memcmp(&seal, r->tail + bytes - sizeof seal, sizeof seal) != 0)
        return wrong(r, "its seal is not that of its head and index");
    r->names = r->tail + head + index;
    memcpy(r->entry, r->tail + head, index);
    for (int64_t i = 0; i < r->entries; i++)
        ls__record_entry_turn(&r->entry[i]);
    status = take_head(r, head);
    return status < 0 ? status : check_index(r, (int64_t)h->tail_at);
}

/* ------ opening ------ */

int ls__record_open(ls__record *r, const char *path)
{
    ls__record_header h;
    int status;

    *r = (ls__record){0};
    if ((status = ls__file_open(&r->file, path)) < 0)
        return status;
    if (r->file.size < (int64_t)sizeof h)
        return wrong(r, "it is too short");
    if ((status = ls__file_read(&r->file, &h, sizeof h, 0)) < 0)
        return status;
    ls__record_header_turn(&h);
    status = check_header(r, &h);
    return status < 0 ? status : take_tail(r, &h);
}

void ls__record_shut(ls__record *r)
{
    ls__file_close(&r->file);
    json_decref(r->head);
    free(r->entry);
    free(r->tail);
    *r = (ls__record){0};
}

/* ------ arrays ------ */

ls__where ls__record_where(const ls__record *r, const ls__record_entry *e)
{
    return (ls__where){
        ls__phases[e->phase], r->names + e->op, r->names + e->name,
        r->names + e->what, r->names + e->shape, e->device, e->micro,
        e->first, e->rows, e->node, e->index};
}

int ls__record_hashes(const ls__record *r, const ls__record_entry *e,
                      int64_t first, int64_t n, ls__digest *leaf)
{
    LS__ASSERT(first >= 0 && first + n <= ls__merkle_leaves(e->words));
    return ls__file_read(&r->file, leaf, (size_t)n * sizeof *leaf,
                         (int64_t)e->at + first * (int64_t)sizeof *leaf);
}

int64_t ls__record_words_of(const ls__record *r, const ls__record_entry *e,
                            int64_t leaf, uint32_t word[LS__LEAF])
{
    int64_t left = ls__least(e->words - leaf * LS__LEAF, LS__LEAF);
    ls__digest want, is;
    int status = ls__record_hashes(r, e, leaf, 1, &want);

    LS__ASSERT(r->values);
    if (status == 0)
        status =
            ls__file_read(&r->file, word, (size_t)left * sizeof *word,
                          (int64_t)e->at + 32 * ls__merkle_leaves(e->words) +
                              4 * leaf * LS__LEAF);
    if (status < 0)
        return status;
    ls__little(word, (size_t)left, sizeof *word);
    ls__merkle_hash((const float *)(const void *)word, left, 0, 1, &is);
    return memcmp(&is, &want, sizeof is) == 0
               ? left : wrong(r, "a leaf that does not have its hash");
}

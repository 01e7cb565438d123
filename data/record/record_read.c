/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a record: sizes, digits and hashes are checked before anybody uses
 * them, and no line says how much memory is taken but by its own length. */
#include "record/record_read.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                               : -1;
}

bool ls__bits_read(const char *text, int digits, uint64_t *bits)
{
    *bits = 0;
    for (int i = 0; i < digits; i++) {
        int d = digit(text[i]);

        if (d < 0)
            return false;
        *bits = *bits << 4 | (uint64_t)d;
    }
    return true;
}

/* A digest from 64 hex digits; false: there are none. */
static bool read_digest(ls__digest *d, const char *text)
{
    uint64_t byte = 0;
    bool good = true;

    for (int i = 0; i < 32 && good; i++) {
        good = ls__bits_read(text + 2 * i, 2, &byte);
        d->byte[i] = (uint8_t)byte;
    }
    return good;
}

static int wrong(const ls__record_reader *r, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: line %lld: %s", r->chain.path,
                    (long long)r->chain.lines, what);
}

static const char *text_of(const json_t *line, const char *name)
{
    return json_string_value(json_object_get(line, name));
}

static int64_t count_of(const json_t *line, const char *name)
{
    return json_integer_value(json_object_get(line, name));
}

static size_t length_of(const json_t *line, const char *name)
{
    return json_string_length(json_object_get(line, name));
}

int ls__record_open(ls__record_reader *r, const char *path)
{
    int status;

    *r = (ls__record_reader){0};
    status = ls__chain_open(&r->chain, path);
    r->chain.form = LS__RECORD;
    return status;
}

void ls__record_shut(ls__record_reader *r)
{
    json_decref(r->ahead);
    free(r->leaf);
    free(r->piece);
    ls__chain_close(&r->chain);
    *r = (ls__record_reader){0};
}

void ls__entry_release(ls__entry *e)
{
    json_decref(e->line);
    *e = (ls__entry){0};
}

/* ------ leaves ------ */

static int64_t size_of(const ls__record_reader *r, int64_t leaf)
{
    int64_t left = r->floats - leaf * LS__LEAF;

    return left < LS__LEAF ? left : LS__LEAF;
}

/* A line "leaf", which must be the next of the array's. */
static int64_t read_leaf(ls__record_reader *r, const json_t *line,
                         uint32_t value[LS__LEAF])
{
    const char *bits = text_of(line, "bits");
    int64_t leaf = r->next_leaf, n;
    ls__digest d;

    if (!r->leaf || leaf >= ls__merkle_leaves(r->floats) ||
        count_of(line, "leaf") != leaf)
        return wrong(r, "a leaf that does not belong here");
    n = size_of(r, leaf);
    if (length_of(line, "bits") != (size_t)n * 8)
        return wrong(r, "a leaf with too few or too many numbers");
    for (int64_t i = 0; i < n; i++) {
        uint64_t x;

        if (!ls__bits_read(bits + 8 * i, 8, &x))
            return wrong(r, "a leaf whose numbers are no hex digits");
        value[i] = (uint32_t)x;
    }
    ls__merkle_hash((const float *)(const void *)value, n, 0, 1, &d);
    if (memcmp(&d, &r->leaf[leaf], sizeof d) != 0)
        return wrong(r, "a leaf that does not have its hash");
    r->piece[r->next_leaf++] =
        ls__merkle_pieces((const float *)(const void *)value, n);
    if (r->next_leaf < ls__merkle_leaves(r->floats))
        return n;
    d = ls__merkle_root(r->piece, r->next_leaf);
    return memcmp(&d, &r->pieces, sizeof d)
               ? wrong(r, "pieces that do not have their root") : n;
}

/* The next line into r->ahead, unless one waits there. */
static int look_ahead(ls__record_reader *r)
{
    return r->ahead ? 0 : ls__chain_read(&r->chain, &r->ahead);
}

static bool is_leaf(const json_t *line)
{
    return line && strcmp(text_of(line, "kind"), "leaf") == 0;
}

int64_t ls__record_leaf(ls__record_reader *r, uint32_t value[LS__LEAF])
{
    int64_t n = look_ahead(r);

    if (n < 0 || !is_leaf(r->ahead))
        return n;
    n = read_leaf(r, r->ahead, value);
    json_decref(r->ahead);
    r->ahead = NULL;
    return n;
}

/* Check those that nobody asked for. */
static int pass_leaves(ls__record_reader *r)
{
    uint32_t value[LS__LEAF];
    int64_t n;

    while ((n = ls__record_leaf(r, value)) > 0)
        ;
    if (n == 0 && r->leaf && r->values &&
        r->next_leaf < ls__merkle_leaves(r->floats))
        return wrong(r, "the array before it lacks leaves");
    free(r->leaf);
    free(r->piece);
    r->leaf = r->piece = NULL;
    return (int)n;
}

/* ------ entries ------ */

static int check_root(ls__record_reader *r, int64_t leaves, const char *root)
{
    ls__digest *all = ls__new((size_t)leaves + 1, sizeof *all, "leaves"), top;
    char text[LS__HEX] = "";

    if (!all)
        return LS_ENOMEM;
    memcpy(all, r->leaf, (size_t)leaves * sizeof *all);
    top = ls__merkle_root(all, leaves);
    free(all);
    ls__digest_text(&top, text);
    return strcmp(text, root) ? wrong(r, "a root that is not its leaves'") : 0;
}

static int read_array(ls__record_reader *r, ls__entry *e)
{
    const char *text = text_of(e->line, "leaves");
    int64_t leaves = ls__merkle_leaves(e->floats);

    if (length_of(e->line, "leaves") % 64 ||
        (int64_t)length_of(e->line, "leaves") / 64 != leaves)
        return wrong(r, "an array with too few or too many leaves");
    r->leaf = ls__new((size_t)leaves + 1, sizeof *r->leaf, "leaves");
    r->piece = ls__new((size_t)leaves + 1, sizeof *r->piece, "leaves");
    if (!r->leaf || !r->piece)
        return LS_ENOMEM;
    (void)read_digest(&r->pieces, text_of(e->line, "pieces"));
    for (int64_t i = 0; i < leaves; i++)
        if (!read_digest(&r->leaf[i], text + 64 * i))
            return wrong(r, "leaves that are no hex digits");
    r->floats = e->floats;
    r->next_leaf = 0;
    e->leaf = r->leaf;
    return check_root(r, leaves, e->root);
}

static int read_number(const ls__record_reader *r, const ls__entry *e)
{
    size_t n = length_of(e->line, "bits");
    uint64_t bits;

    if ((n != 8 && n != 16) || !ls__bits_read(e->bits, (int)n, &bits))
        return wrong(r, "a number that is no hex digits");
    return 0;
}

static int read_head(ls__record_reader *r, const ls__entry *e)
{
    if (r->chain.lines != 1)
        return wrong(r, "a second line \"record\"");
    if (count_of(e->line, "version") != LS__RECORD_VERSION)
        return ls__fail(LS_ENOTSUP, "%s: a record of version %lld; this is "
                        "lockstep %s, which knows version %d", r->chain.path,
                        (long long)count_of(e->line, "version"), ls_version(),
                        LS__RECORD_VERSION);
    r->values = count_of(e->line, "values") == 1;
    return 0;
}

static int read_end(ls__record_reader *r, const ls__entry *e)
{
    int64_t lines = r->chain.lines;
    int status;

    if (count_of(e->line, "lines") != lines)
        return wrong(r, "it says that there are other lines before it");
    r->is_over = true;
    status = look_ahead(r);
    if (status == 0 && r->ahead)
        status = wrong(r, "there is more behind the last line");
    return status;
}

ls__where ls__record_place(const json_t *l)
{
    return (ls__where){
        text_of(l, "phase"), text_of(l, "op"), text_of(l, "name"),
        text_of(l, "what"), text_of(l, "shape"), count_of(l, "device"),
        count_of(l, "micro"), count_of(l, "first"), count_of(l, "rows"),
        count_of(l, "node"), count_of(l, "index")};
}

static void fill(ls__entry *e)
{
    const json_t *l = e->line;

    e->place = ls__record_place(l);
    e->root = text_of(l, "root");
    e->bits = text_of(l, "bits");
    e->floats = count_of(l, "floats");
    e->at = count_of(l, "at");
}

static int read_entry(ls__record_reader *r, ls__entry *e)
{
    static const char *const kinds[] = {"record", "slot", "node", "array",
                                        "number", "close"};
    int kind = 0;

    while (strcmp(text_of(e->line, "kind"), kinds[kind]))
        kind++;
    e->kind = (ls__entry_kind)kind;
    fill(e);
    if (r->chain.lines == 1 && e->kind != LS__HEAD_ENTRY)
        return wrong(r, "a record begins with a line \"record\"");
    switch (e->kind) {
    case LS__HEAD_ENTRY: return read_head(r, e);
    case LS__ARRAY_ENTRY: return read_array(r, e);
    case LS__NUMBER_ENTRY: return read_number(r, e);
    case LS__CLOSE_ENTRY: return read_end(r, e);
    default: return 0;
    }
}

int ls__record_next(ls__record_reader *r, ls__entry *e)
{
    int status;

    *e = (ls__entry){0};
    if ((status = pass_leaves(r)) < 0 || (status = look_ahead(r)) < 0)
        return status;
    if (!r->ahead)
        return wrong(r, "the file ends here, and is not whole");
    e->line = r->ahead;
    r->ahead = NULL;
    status = read_entry(r, e);
    if (status < 0)
        ls__entry_release(e);
    return status;
}

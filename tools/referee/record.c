/* SPDX-License-Identifier: BSD-3-Clause */
/* See record.h. */
#include "record.h"
#include "verdict.h"

#include <limits.h>

enum { HEADER = 64, ENTRY = 96, MOST_HEAD = 1 << 24, MOST_TAIL = 1 << 27 };

record records[2];

static uint64_t little(const uint8_t *p, int n)
{
    uint64_t x = 0;

    while (n-- > 0)
        x = x << 8 | p[n];
    return x;
}

static void read_at(record *r, int64_t at, void *to, size_t n)
{
    if (at > LONG_MAX || fseek(r->file, (long)at, SEEK_SET) != 0 ||
        fread(to, 1, n, r->file) != n)
        refuse("%s: cannot be read", r->path);
}

static int64_t bytes_of(record *r)
{
    long n = -1;

    if (fseek(r->file, 0, SEEK_END) == 0)
        n = ftell(r->file);
    if (n < HEADER + 32)
        refuse("%s: is no record of a step", r->path);
    return n;
}

/* ------ the index ------ */

static const char *const phases[] = {"start", "before", "batch", "rows",
                                     "forward", "backward", "gradient", "mean",
                                     "rule", "after"};
enum { PHASES = sizeof phases / sizeof *phases };

typedef struct tail {
    const uint8_t *index;
    const char *names;
    int64_t names_bytes;
} tail;

static const char *name_at(record *r, const tail *t, const uint8_t *p)
{
    uint64_t at = little(p, 4);

    if (at >= (uint64_t)t->names_bytes)
        refuse("%s: a name outside of its names", r->path);
    return t->names + at;
}

/* Takes one entry in; its array begins where the one before ends, or behind
 * that at the next 64 bytes. */
static void take_entry(record *r, const tail *t, int64_t i, int64_t *end)
{
    const uint8_t *p = t->index + i * ENTRY;
    array *k = &r->arrays[i];
    uint64_t phase = little(p, 4), kind = little(p + 4, 4), at;

    if (phase >= PHASES || kind > 2)
        refuse("%s: array %lld is of no phase or kind", r->path, (long long)i);
    k->phase = phases[phase];
    k->kind = (int)kind;
    k->what = name_at(r, t, p + 8);
    k->name = name_at(r, t, p + 12);
    k->op = name_at(r, t, p + 16);
    k->shape = name_at(r, t, p + 20);
    k->device = (int32_t)little(p + 24, 4);
    k->micro = (int32_t)little(p + 28, 4);
    k->node = (int32_t)little(p + 32, 4);
    k->index = (int32_t)little(p + 36, 4);
    k->first = (int64_t)little(p + 40, 8);
    k->rows = (int64_t)little(p + 48, 8);
    k->n = (int64_t)little(p + 56, 8);
    at = little(p + 64, 8);
    if (k->n < 0 || k->n > r->bytes * 256 || k->first < 0 || k->rows < 0 ||
        k->first > INT64_C(1) << 40 || k->rows > INT64_C(1) << 40 ||
        k->micro < 0 || k->index < 0 || at != (uint64_t)(*end + 63) / 64 * 64)
        refuse("%s: array %lld does not stand where it should", r->path,
               (long long)i);
    k->x = (int64_t)at / 4 + 8 * leaves_of(k);
    *end = 4 * k->x + (r->values ? 4 * k->n : 0);
    if (*end > r->tail)
        refuse("%s: array %lld goes beyond its arrays", r->path, (long long)i);
}

/* ------ opening ------ */

static void check_seal(record *r, const uint8_t header[HEADER],
                       const uint8_t *text, int64_t n)
{
    uint8_t seal[HASH];
    sha s;

    sha_begin(&s);
    sha_add(&s, header, HEADER);
    sha_add(&s, text, (size_t)n);
    sha_end(&s, seal);
    if (memcmp(seal, text + n, HASH))
        refuse("%s: was damaged: its seal is another", r->path);
}

static void read_head(record *r, const char *text, int64_t n)
{
    r->head = json_read(text, (size_t)n);
    if (!r->head || !json_text(r->head, "kind") ||
        strcmp(json_text(r->head, "kind"), "record"))
        refuse("%s: its head is no record's", r->path);
    if (json_whole(r->head, "version", 0) != 3)
        refuse("%s: a record of a version that this referee does not read",
               r->path);
    r->values = json_whole(r->head, "values", 0) == 1;
}

void record_open(record *r, const char *path)
{
    uint8_t header[HEADER], *text;
    int64_t head, names, end = HEADER, n;
    tail t;

    r->path = path;
    r->file = fopen(path, "rb");
    if (!r->file)
        refuse("%s: cannot be opened", path);
    r->bytes = bytes_of(r);
    read_at(r, 0, header, HEADER);
    if (memcmp(header, "lockstep record\n", 16) ||
        little(header + 16, 8) != 3)
        refuse("%s: is no record of a step, or of another version", path);
    r->tail = (int64_t)little(header + 24, 8);
    head = (int64_t)little(header + 32, 8);
    r->entries = (int64_t)little(header + 40, 8);
    names = (int64_t)little(header + 48, 8);
    n = r->bytes - r->tail - 32;
    if (r->tail < HEADER || n < 0 || n > MOST_TAIL || head < 2 ||
        head > MOST_HEAD || names < 1 || names > n || r->entries < 0 ||
        r->entries > n / ENTRY || head + r->entries * ENTRY + names != n)
        refuse("%s: is not as long as its parts", path);
    text = room_of((size_t)n + 32);
    read_at(r, r->tail, text, (size_t)n + 32);
    check_seal(r, header, text, n);
    t.index = text + head;
    t.names = (const char *)t.index + r->entries * ENTRY;
    t.names_bytes = names;
    if (t.names[names - 1])
        refuse("%s: its names have no end", path);
    read_head(r, (const char *)text, head);
    r->arrays = room_of((size_t)(r->entries + 1) * sizeof *r->arrays);
    for (int64_t i = 0; i < r->entries; i++)
        take_entry(r, &t, i, &end);
    if (r->tail - end > 63)
        refuse("%s: has more than its arrays", path);
}

void record_close(record *r)
{
    if (r->file)
        fclose(r->file);
    memset(r, 0, sizeof *r);
}

/* ------ leaves ------ */

void record_hashes(record *r, const array *k, int64_t first, int64_t n,
                   uint8_t *hash)
{
    read_at(r, 4 * (k->x - 8 * (leaves_of(k) - first)), hash, (size_t)n * 32);
}

int64_t record_leaf(record *r, const array *k, int64_t leaf,
                    uint32_t x[LEAF_WORDS])
{
    static uint8_t bytes[4 * LEAF_WORDS + 1];
    int64_t n = k->n - leaf * LEAF_WORDS;
    uint8_t claimed[HASH], made[HASH];
    sha s;

    n = n < LEAF_WORDS ? n : LEAF_WORDS;
    if (!r->values)
        refuse("%s: has no values: a record with --values has", r->path);
    record_hashes(r, k, leaf, 1, claimed);
    read_at(r, 4 * (k->x + leaf * LEAF_WORDS), bytes, (size_t)n * 4);
    bytes[4 * n] = 0;
    sha_begin(&s);
    sha_add(&s, bytes, (size_t)n * 4 + 1);
    sha_end(&s, made);
    if (memcmp(claimed, made, HASH))
        refuse("%s: was damaged: words of \"%s: %s\" are not those of their "
               "hash", r->path, k->phase, k->what);
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint32_t)little(bytes + 4 * i, 4);
    return n;
}

void record_root(record *r, const array *k, uint8_t root[HASH])
{
    int64_t n = leaves_of(k);
    uint8_t *node = room_of((size_t)(n + 1) * HASH);
    sha s;

    sha_begin(&s);
    sha_end(&s, node); /* of no leaves */
    record_hashes(r, k, 0, n, node);
    hash_tree(node, n);
    memcpy(root, node, HASH);
}

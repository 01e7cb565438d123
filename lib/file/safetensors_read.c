/* The safetensors reader.  The whole file is read first, so that its length
 * bounds everything; then the header is parsed and each entry is checked by
 * itself, and all together for gaps and overlaps; only then are there entries.
 * What the format leaves open is refused: unknown keys of an entry, twice the
 * same name, a name with a zero byte. */
#include "base/error.h"
#include "base/file.h"
#include "base/sha.h"
#include "file/convert.h"
#include "file/json.h"
#include "file/safetensors.h"
#include "file/seal.h"

#include <stdlib.h>
#include <string.h>

enum { LEAD = 8, LONGEST = 100 << 20 }; /* of a header, as the format has it */

/* A file as it is read. */
typedef struct reader {
    ls__safetensors *file;
    const char *path;
    size_t head; /* bytes before the data */
    json_t *header;
} reader;

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* ------ The header as JSON ------ */

static int parse_json(reader *r)
{
    const char *text = r->file->bytes + LEAD;
    json_error_t error;

    if (*text != '{')
        return ls__fail(LS_EFORMAT, "%s: the header does not begin with {",
                        r->path);
    r->header = json_loadb(text, r->head - LEAD, JSON_REJECT_DUPLICATES,
                           &error);
    return r->header ? 0 : ls__json_fail(r->path, "the header is no JSON", LEAD,
                                         &error);
}

static int find_header(reader *r)
{
    size_t size = r->file->size;
    uint64_t length = 0;

    if (size < LEAD)
        return ls__fail(LS_EFORMAT, "%s: %zu byte%s are no safetensors file",
                        r->path, size, plural(size));
    for (int i = 0; i < LEAD; i++)
        length |= (uint64_t)(uint8_t)r->file->bytes[i] << 8 * i;
    if (length < 2 || length > size - LEAD || length > LONGEST)
        return ls__fail(LS_EFORMAT, "%s: a header of %llu bytes does not fit "
                        "into a file of %zu", r->path,
                        (unsigned long long)length, size);
    r->head = LEAD + (size_t)length;
    return parse_json(r);
}

/* ------ Metadata, and whose file it is ------ */

static int read_metadata(reader *r, json_t *meta)
{
    ls__safetensors *f = r->file;
    const char *key;
    json_t *value;

    if (!json_is_object(meta))
        return ls__fail(LS_EFORMAT, "%s: \"__metadata__\" is no object",
                        r->path);
    f->pair = ls__arena_new(&f->arena, json_object_size(meta), sizeof *f->pair);
    if (!f->pair)
        return LS_ENOMEM;
    json_object_foreach(meta, key, value) {
        ls__metadata *p = &f->pair[f->pairs];

        if (!json_is_string(value))
            return ls__fail(LS_EFORMAT, "%s: \"__metadata__\": \"%s\" is no "
                            "text", r->path, key);
        p->key = ls__arena_text(&f->arena, key);
        p->value = ls__arena_text(&f->arena, json_string_value(value));
        if (!p->key || !p->value)
            return LS_ENOMEM;
        f->pairs++;
    }
    return 0;
}

static bool sha_holds(const reader *r, const char *want)
{
    ls__sha256 sha;
    char hex[65];

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, r->file->bytes + r->head,
                      r->file->size - r->head);
    ls__sha256_hex(&sha, hex);
    return !strcmp(hex, want);
}

/* Either mark makes a file ours, so that damage to one is not enough to pass
 * for a foreign file. */
static int check_ours(const reader *r)
{
    ls__safetensors *f = r->file;
    const char *sha = ls__safetensors_meta(f, "sha256");

    if (!ls__safetensors_meta(f, "lockstep") &&
        !ls__safetensors_meta(f, LS__SEAL))
        return 0;
    if (!ls__seal_holds(f->bytes, r->head, f->size) ||
        (sha && !sha_holds(r, sha)))
        return ls__fail(LS_EFORMAT, "%s: the checksum does not match: the "
                        "file is damaged", r->path);
    return 0;
}

/* ------ Entries ------ */

static int bad_entry(const reader *r, const ls_entry *e, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: tensor \"%s\": %s", r->path, e->name,
                    what);
}

static int read_shape(const reader *r, const json_t *shape, ls_entry *e)
{
    size_t rank = json_array_size(shape);

    if (!json_is_array(shape))
        return bad_entry(r, e, "\"shape\" is no list");
    if (rank > LS_MAX_RANK)
        return ls__fail(LS_ENOTSUP, "%s: tensor \"%s\" has %zu axes, more than "
                        "%d", r->path, e->name, rank, LS_MAX_RANK);
    e->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *n = json_array_get(shape, i);

        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return bad_entry(r, e, "\"shape\" holds what is no size");
        e->shape[i] = json_integer_value(n);
    }
    e->elements = ls__count(e->rank, e->shape);
    return e->elements < 0 ? bad_entry(r, e, "\"shape\" is too large") : 0;
}

static int read_type(const reader *r, const json_t *dtype, ls_entry *e)
{
    int64_t bytes = 0;

    if (!json_is_string(dtype))
        return bad_entry(r, e, "\"dtype\" is no text");
    e->dtype = ls__element_type(json_string_value(dtype), &bytes);
    if (!e->dtype)
        return ls__fail(LS_ENOTSUP, "%s: tensor \"%s\": the element type "
                        "\"%s\" is unknown", r->path, e->name,
                        json_string_value(dtype));
    if (__builtin_mul_overflow(e->elements, bytes, &e->bytes))
        return bad_entry(r, e, "\"shape\" is too large");
    return 0;
}

static int read_offsets(const reader *r, const json_t *pair, ls_entry *e)
{
    const json_t *a = json_array_get(pair, 0), *b = json_array_get(pair, 1);
    int64_t room = (int64_t)(r->file->size - r->head);
    int64_t first = json_integer_value(a), last = json_integer_value(b);

    if (json_array_size(pair) != 2 || !json_is_integer(a) ||
        !json_is_integer(b))
        return bad_entry(r, e, "\"data_offsets\" is no pair of numbers");
    if (first < 0 || last < first || last > room)
        return ls__fail(LS_EFORMAT, "%s: tensor \"%s\": bytes %lld to %lld do "
                        "not lie in %lld bytes of data", r->path, e->name,
                        (long long)first, (long long)last, (long long)room);
    if (last - first != e->bytes)
        return ls__fail(LS_EFORMAT, "%s: tensor \"%s\": bytes %lld to %lld, "
                        "but its shape needs %lld", r->path, e->name,
                        (long long)first, (long long)last,
                        (long long)e->bytes);
    e->data = r->file->bytes + r->head + first;
    return 0;
}

static int read_entry(reader *r, const char *name, const json_t *value)
{
    ls_entry *e = &r->file->entry[r->file->count];
    int status;

    e->name = ls__arena_text(&r->file->arena, name);
    if (!e->name)
        return LS_ENOMEM;
    if (json_object_size(value) != 3)
        return bad_entry(r, e, "is not described by \"dtype\", \"shape\" and "
                         "\"data_offsets\"");
    status = read_shape(r, json_object_get(value, "shape"), e);
    if (status == 0)
        status = read_type(r, json_object_get(value, "dtype"), e);
    if (status == 0)
        status = read_offsets(r, json_object_get(value, "data_offsets"), e);
    r->file->count += status == 0;
    return status;
}

static int by_place(const void *a, const void *b)
{
    const ls_entry *x = a, *y = b;
    const char *p = x->data, *q = y->data;

    return p != q ? (p > q) - (p < q) : (x->bytes > y->bytes) -
                                            (x->bytes < y->bytes);
}

/* One after the other, from the first byte of data to the last. */
static int check_order(const reader *r)
{
    const ls__safetensors *f = r->file;
    const char *at = f->bytes + r->head, *end = f->bytes + f->size;

    qsort(f->entry, (size_t)f->count, sizeof *f->entry, by_place);
    for (int i = 0; i < f->count; i++) {
        if ((const char *)f->entry[i].data != at)
            return bad_entry(r, &f->entry[i], "there is a gap or an overlap "
                             "before its data");
        at += f->entry[i].bytes;
    }
    if (at != end)
        return ls__fail(LS_EFORMAT, "%s: %zu byte%s at the end belong to no "
                        "tensor", r->path, (size_t)(end - at),
                        plural((size_t)(end - at)));
    return 0;
}

static int read_entries(reader *r)
{
    ls__safetensors *f = r->file;
    const char *name;
    json_t *value;
    int status;

    f->entry = ls__arena_new(&f->arena, json_object_size(r->header),
                             sizeof *f->entry);
    if (!f->entry)
        return LS_ENOMEM;
    json_object_foreach(r->header, name, value) {
        status = strcmp(name, "__metadata__") ? read_entry(r, name, value)
                                              : read_metadata(r, value);
        if (status < 0)
            return status;
    }
    status = check_order(r);
    return status < 0 ? status : check_ours(r);
}

/* ------ */

int ls__safetensors_parse(ls__safetensors *file, const char *path, char *bytes,
                          size_t size)
{
    reader r = {file, path, 0, NULL};
    int status;

    *file = (ls__safetensors){.bytes = bytes, .size = size};
    status = find_header(&r);
    if (status == 0)
        status = read_entries(&r);
    json_decref(r.header);
    if (status < 0)
        ls__safetensors_free(file);
    return status;
}

int ls__safetensors_read(ls__safetensors *file, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    int status = ls__file_read(path, &bytes, &size);

    return status < 0 ? status
                      : ls__safetensors_parse(file, path, bytes, size);
}

void ls__safetensors_free(ls__safetensors *file)
{
    ls__arena_free(&file->arena);
    free(file->bytes);
    *file = (ls__safetensors){0};
}

const char *ls__safetensors_meta(const ls__safetensors *file, const char *key)
{
    for (int i = 0; i < file->pairs; i++)
        if (!strcmp(file->pair[i].key, key))
            return file->pair[i].value;
    return NULL;
}

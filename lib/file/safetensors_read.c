/* SPDX-License-Identifier: BSD-3-Clause */
/* The safetensors reader.  The header is read and parsed first; each entry is
 * checked by itself, and all together for gaps and overlaps and against the
 * file's length; only then are the data read, and only then are there entries.
 * So a large file of another kind costs nothing.  Ambiguities of the format are
 * refused: unknown keys of an entry, twice the same name, a name with a zero
 * byte. */
#include "base/error.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/little.h"
#include "file/file.h"
#include "file/format.h"
#include "file/convert.h"
#include "file/safetensors.h"
#include "file/seal.h"
#include <lockstep/transcript.h>

#include <stdlib.h>
#include <string.h>

enum { LEAD = 8, LONGEST = 100 << 20 }; /* of a header, as the format has it */

/* An entry on its way, and where its data begin. */
typedef struct place {
    int64_t first;
    ls_entry entry;
} place;

/* A file as it is read. */
typedef struct reader {
    ls__safetensors *file;
    const char *path;
    ls__file in;
    char *text;   /* the length and the header */
    size_t head;  /* bytes of it */
    size_t at;    /* the byte to parse next */
    int64_t room; /* bytes of data */
    json_t *seen; /* an object with all names so far */
    place *place; /* [places], with room for more */
    int places, most;
} reader;

/* ------ The header as JSON: pairs of a name and a value, one at a time, since
 * there may be very many ------ */

static int bad_json(const reader *r, const char *what)
{
    return ls__fail(LS_EFORMAT, "%s: the header is no JSON, at byte %zu: %s",
                    r->path, r->at, what);
}

/* The next character that is no space; 0 at the end. */
static char peek(reader *r)
{
    while (r->at < r->head && strchr(" \t\n\r", r->text[r->at]) &&
           r->text[r->at])
        r->at++;
    return r->at < r->head ? r->text[r->at] : 0;
}

static bool accept(reader *r, char sign)
{
    bool there = peek(r) == sign;

    r->at += there;
    return there;
}

static int parse_value(reader *r, json_t **value)
{
    json_error_t error;

    *value = json_loadb(r->text + r->at, r->head - r->at,
                        JSON_REJECT_DUPLICATES | JSON_DECODE_ANY |
                            JSON_DISABLE_EOF_CHECK, &error);
    if (!*value)
        return ls__json_fail(r->path, "the header is no JSON", r->at, &error);
    r->at += (size_t)error.position;
    return 0;
}

static int parse_name(reader *r, json_t **name)
{
    int status = peek(r) == '"' ? parse_value(r, name)
                                : bad_json(r, "a name is missing");

    if (status < 0)
        return status;
    if (json_object_get(r->seen, json_string_value(*name)))
        return bad_json(r, "a duplicate name before it");
    if (json_object_set_new(r->seen, json_string_value(*name), json_true()) < 0)
        return ls__no_memory(r->path, 0);
    return accept(r, ':') ? 0 : bad_json(r, "a : is missing");
}

static int read_pair(reader *r, const char *name, json_t *value);

static int parse_pair(reader *r)
{
    json_t *name = NULL, *value = NULL;
    int status = parse_name(r, &name);

    if (status == 0)
        status = parse_value(r, &value);
    if (status == 0)
        status = read_pair(r, json_string_value(name), value);
    json_decref(name);
    json_decref(value);
    return status;
}

static int parse_header(reader *r)
{
    bool more = true;
    int status = 0;

    r->at = LEAD + 1; /* behind the { */
    if (!(r->seen = json_object()))
        return ls__no_memory(r->path, 0);
    if (accept(r, '}'))
        more = false;
    while (more && (status = parse_pair(r)) == 0)
        if (!(more = accept(r, ',')) && !accept(r, '}'))
            return bad_json(r, "a } is missing");
    if (status < 0)
        return status;
    return peek(r) || r->at < r->head ? bad_json(r, "something follows the }")
                                      : 0;
}

/* ------ Its text ------ */

/* The length, and the { that must follow it. */
static int read_lead(reader *r)
{
    int64_t size = r->in.size;
    uint8_t lead[LEAD + 1] = {0};
    uint64_t length = 0;
    int status;

    if (size < LEAD)
        return ls__fail(LS_EFORMAT, "%s: %lld byte%s are no safetensors file",
                        r->path, (long long)size, ls__s(size));
    if ((status = ls__file_read(&r->in, lead, LEAD + (size > LEAD), 0)) < 0)
        return status;
    for (int i = 0; i < LEAD; i++)
        length |= (uint64_t)lead[i] << 8 * i;
    if (length < 2 || length > (uint64_t)size - LEAD || length > LONGEST)
        return ls__fail(LS_EFORMAT, "%s: no safetensors file, or cut off: a "
                        "header of %llu bytes does not fit into %lld", r->path,
                        (unsigned long long)length, (long long)size);
    if (lead[LEAD] != '{')
        return ls__fail(LS_EFORMAT, "%s: the header does not begin with {",
                        r->path);
    r->head = LEAD + (size_t)length;
    r->room = size - (int64_t)r->head;
    return 0;
}

static int read_header(reader *r)
{
    int status = read_lead(r);

    if (status < 0)
        return status;
    if (!(r->text = ls__new(r->head, 1, r->path)))
        return LS_ENOMEM;
    status = ls__file_read(&r->in, r->text, r->head, 0);
    return status < 0 ? status : parse_header(r);
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
        ls_setting *p = &f->pair[f->pairs];

        if (!json_is_string(value))
            return ls__fail(LS_EFORMAT, "%s: \"__metadata__\": \"%s\" is no "
                            "text", r->path, key);
        p->name = ls__arena_text(&f->arena, key);
        p->value = ls__arena_text(&f->arena, json_string_value(value));
        if (!p->name || !p->value)
            return LS_ENOMEM;
        f->pairs++;
    }
    return 0;
}

/* Either mark makes a file ours, so that damage to one is not enough to pass
 * for a foreign file. */
static int check_ours(const reader *r)
{
    ls__safetensors *f = r->file;
    const char *sha = ls__safetensors_meta(f, "sha256");
    char hex[65] = "";

    if (!ls__safetensors_meta(f, "lockstep") &&
        !ls__safetensors_meta(f, LS__SEAL))
        return 0;
    if (sha)
        ls_digest(f->data, (size_t)r->room, hex);
    if (!ls__seal_holds(r->text, r->head, f->data, (size_t)r->room) ||
        (sha && strcmp(hex, sha) != 0))
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

static int read_offsets(const reader *r, const json_t *pair, place *p)
{
    const json_t *a = json_array_get(pair, 0), *b = json_array_get(pair, 1);
    int64_t first = json_integer_value(a), last = json_integer_value(b);
    const ls_entry *e = &p->entry;

    if (json_array_size(pair) != 2 || !json_is_integer(a) ||
        !json_is_integer(b))
        return bad_entry(r, e, "\"data_offsets\" is no pair of numbers");
    if (first < 0 || last < first || last > r->room)
        return ls__fail(LS_EFORMAT, "%s: tensor \"%s\": bytes %lld to %lld do "
                        "not lie in %lld bytes of data", r->path, e->name,
                        (long long)first, (long long)last,
                        (long long)r->room);
    if (last - first != e->bytes)
        return ls__fail(LS_EFORMAT, "%s: tensor \"%s\": bytes %lld to %lld, "
                        "but its shape needs %lld", r->path, e->name,
                        (long long)first, (long long)last,
                        (long long)e->bytes);
    p->first = first;
    return 0;
}

/* Room for one more: twice as much as there was. */
static int make_place(reader *r)
{
    int most = r->most ? 2 * r->most : 64;
    place *more;

    if (r->places < r->most)
        return 0;
    if (!(more = ls__new((size_t)most, sizeof *more, r->path)))
        return LS_ENOMEM;
    if (r->places)
        memcpy(more, r->place, (size_t)r->places * sizeof *more);
    free(r->place);
    r->place = more;
    r->most = most;
    return 0;
}

static int read_entry(reader *r, const char *name, const json_t *value)
{
    int status = make_place(r);
    place *p = &r->place[r->places];
    ls_entry *e = &p->entry;

    LS__ASSERT(status < 0 || r->places < r->most);
    if (status < 0 || !(e->name = ls__arena_text(&r->file->arena, name)))
        return LS_ENOMEM;
    if (json_object_size(value) != 3)
        return bad_entry(r, e, "is not described by \"dtype\", \"shape\" and "
                         "\"data_offsets\"");
    status = read_shape(r, json_object_get(value, "shape"), e);
    if (status == 0)
        status = read_type(r, json_object_get(value, "dtype"), e);
    if (status == 0)
        status = read_offsets(r, json_object_get(value, "data_offsets"), p);
    r->places += status == 0;
    return status;
}

static int read_pair(reader *r, const char *name, json_t *value)
{
    return strcmp(name, "__metadata__") ? read_entry(r, name, value)
                                        : read_metadata(r, value);
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->entry.bytes > y->entry.bytes) -
           (x->entry.bytes < y->entry.bytes);
}

/* One after the other, from the first byte of data to the last. */
static int check_order(const reader *r)
{
    int64_t at = 0;

    if (r->places)
        qsort(r->place, (size_t)r->places, sizeof *r->place, by_place);
    for (int i = 0; i < r->places; i++) {
        if (r->place[i].first != at)
            return bad_entry(r, &r->place[i].entry, "there is a gap or an "
                             "overlap before its data");
        at += r->place[i].entry.bytes;
    }
    if (at != r->room)
        return ls__fail(LS_EFORMAT, "%s: %lld byte%s at the end belong to no "
                        "tensor", r->path, (long long)(r->room - at),
                        ls__s(r->room - at));
    return 0;
}

/* Elements as this machine has them. */
static void swap_bytes(const ls__safetensors *f)
{
    char *at = f->data;

    for (int i = 0; i < f->count; at += f->entry[i++].bytes)
        if (f->entry[i].elements)
            ls__little(at, (size_t)f->entry[i].elements,
                       (size_t)(f->entry[i].bytes / f->entry[i].elements));
}

static int read_data(reader *r)
{
    ls__safetensors *f = r->file;
    int status;

    f->data = ls__new((size_t)r->room + 1, 1, r->path);
    f->entry = ls__arena_new(&f->arena, (size_t)r->places, sizeof *f->entry);
    if (!f->data || !f->entry)
        return LS_ENOMEM;
    status = ls__file_read(&r->in, f->data, (size_t)r->room, (int64_t)r->head);
    if (status < 0)
        return status;
    for (; f->count < r->places; f->count++) {
        f->entry[f->count] = r->place[f->count].entry;
        f->entry[f->count].data = f->data + r->place[f->count].first;
    }
    status = check_ours(r);
    swap_bytes(f);
    return status;
}

/* ------ */

int ls__safetensors_read(ls__safetensors *file, const char *path)
{
    reader r = {.file = file, .path = path};
    int status = ls__file_open(&r.in, path);

    *file = (ls__safetensors){0};
    if (status == 0)
        status = ls__format_tell(read_header(&r), path, LS__SAFETENSORS);
    if (status == 0)
        status = check_order(&r);
    if (status == 0)
        status = read_data(&r);
    json_decref(r.seen);
    free(r.place);
    free(r.text);
    ls__file_close(&r.in);
    if (status < 0)
        ls__safetensors_free(file);
    return status;
}

void ls__safetensors_free(ls__safetensors *file)
{
    ls__arena_free(&file->arena);
    free(file->data);
    *file = (ls__safetensors){0};
}

const char *ls__safetensors_meta(const ls__safetensors *file, const char *key)
{
    for (int i = 0; i < file->pairs; i++)
        if (!strcmp(file->pair[i].name, key))
            return file->pair[i].value;
    return NULL;
}

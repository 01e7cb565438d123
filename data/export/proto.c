/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing Protocol Buffers: a key (number of the field, kind of value), then
 * the value.  protobuf.dev/programming-guides/encoding */
#include "export/proto.h"
#include "base/little.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, LENGTH = 2, FOUR_BYTES = 5 };

void ls__proto_free(ls__proto *p)
{
    free(p->bytes);
    *p = (ls__proto){0};
}

/* Place for n more bytes; NULL: there is none. */
static char *grow(ls__proto *p, size_t n)
{
    size_t room = p->room ? p->room : 64;
    char *grown;

    if (p->failed)
        return NULL;
    while (room - p->size < n)
        room *= 2;
    if (room > p->room) {
        if (!(grown = realloc(p->bytes, room))) {
            p->failed = true;
            return NULL;
        }
        p->bytes = grown;
        p->room = room;
    }
    p->size += n;
    return p->bytes + p->size - n;
}

static void put(ls__proto *p, const void *bytes, size_t n)
{
    char *at = grow(p, n);

    if (at && n)
        memcpy(at, bytes, n);
}

/* Seven bits a byte, the lowest first; the high bit says that more follow. */
static void varint(ls__proto *p, uint64_t value)
{
    unsigned char byte[10];
    size_t n = 0;

    do {
        byte[n++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    put(p, byte, n);
}

static void key(ls__proto *p, int field, int kind)
{
    varint(p, (uint64_t)(field * 8 + kind));
}

void ls__proto_int(ls__proto *p, int field, int64_t value)
{
    key(p, field, VARINT);
    varint(p, (uint64_t)value);
}

void ls__proto_float(ls__proto *p, int field, float value)
{
    key(p, field, FOUR_BYTES);
    ls__little(&value, 1, sizeof value);
    put(p, &value, sizeof value);
}

static void put_bytes(ls__proto *p, int field, const void *bytes, size_t size)
{
    key(p, field, LENGTH);
    varint(p, size);
    put(p, bytes, size);
}

void ls__proto_numbers(ls__proto *p, int field, const void *from, size_t n,
                       size_t width)
{
    char *at;

    key(p, field, LENGTH);
    varint(p, n * width);
    if ((at = grow(p, n * width)) && n) {
        memcpy(at, from, n * width);
        ls__little(at, n, width);
    }
}

void ls__proto_text(ls__proto *p, int field, const char *text)
{
    put_bytes(p, field, text, strlen(text));
}

void ls__proto_message(ls__proto *p, int field, ls__proto *message)
{
    p->failed |= message->failed;
    put_bytes(p, field, message->bytes, message->size);
    ls__proto_free(message);
}

void ls__proto_append(ls__proto *p, ls__proto *fields)
{
    p->failed |= fields->failed;
    put(p, fields->bytes, fields->size);
    ls__proto_free(fields);
}

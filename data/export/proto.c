/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing Protocol Buffers: a key (number of the field, kind of value), then
 * the value.  protobuf.dev/programming-guides/encoding */
#include "export/proto.h"
#include "base/little.h"

#include <string.h>

enum { VARINT = 0, LENGTH = 2, FOUR_BYTES = 5 };

/* Seven bits a byte, the lowest first; the high bit says that more follow. */
static void varint(ls__proto *p, uint64_t value)
{
    unsigned char byte[10];
    size_t n = 0;

    do {
        byte[n++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    ls__bytes_add(p, byte, n);
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
    ls__bytes_add(p, &value, sizeof value);
}

static void put_bytes(ls__proto *p, int field, const void *bytes, size_t size)
{
    key(p, field, LENGTH);
    varint(p, size);
    ls__bytes_add(p, bytes, size);
}

void ls__proto_numbers(ls__proto *p, int field, const void *from, size_t n,
                       size_t width)
{
    char *at;

    key(p, field, LENGTH);
    varint(p, n * width);
    if ((at = ls__bytes_grow(p, n * width)) && n) {
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
    ls__bytes_free(message);
}

void ls__proto_append(ls__proto *p, ls__proto *fields)
{
    p->failed |= fields->failed;
    ls__bytes_add(p, fields->bytes, fields->size);
    ls__bytes_free(fields);
}

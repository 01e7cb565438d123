/* SPDX-License-Identifier: BSD-3-Clause */
/* A small reader of Protocol Buffers: fields of a message in memory, which
 * anybody may have written.  Nothing is copied: what a field holds lies in the
 * bytes that it was read from.  protobuf.dev/programming-guides/encoding */
#ifndef LS_IMPORT_WIRE_H
#define LS_IMPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a message that are still to be read. */
typedef struct ls__wire {
    const uint8_t *at, *end;
} ls__wire;

typedef struct ls__field {
    int number;
    uint64_t value; /* of a varint, or the bits of 4 or 8 bytes */
    ls__wire bytes; /* of text, a message or packed numbers; else NULL */
} ls__field;

/* Read the next field: 1, 0 at the end; LS_EFORMAT: that is no message. */
int ls__wire_next(ls__wire *message, ls__field *field);

/* Read a number of a packed list, of so many bytes or (0) a varint; false:
 * there is none. */
bool ls__wire_number(ls__wire *list, int width, uint64_t *value);

/* The last field of that number, which readers go by; false: none is there.
 * The message was walked through before. */
bool ls__wire_find(ls__wire message, int number, ls__field *field);

static inline size_t ls__wire_size(ls__wire w)
{
    return (size_t)(w.end - w.at);
}

/* Are the bytes that text? */
bool ls__wire_is(ls__wire bytes, const char *text);

/* The float of 4 bytes. */
float ls__wire_float(uint64_t bits);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A small writer of Protocol Buffers: messages of fields, in memory. */
#ifndef LS_EXPORT_PROTO_H
#define LS_EXPORT_PROTO_H

#include "export/bytes.h"

#include <stdint.h>

typedef ls__bytes ls__proto;

/* A field: an integer that is not negative, a float, n numbers of a width,
 * text. */
void ls__proto_int(ls__proto *p, int field, int64_t value);
void ls__proto_float(ls__proto *p, int field, float value);
void ls__proto_numbers(ls__proto *p, int field, const void *from, size_t n,
                       size_t width);
void ls__proto_text(ls__proto *p, int field, const char *text);

/* A message in a field, which is freed; or its fields as some of p's own. */
void ls__proto_message(ls__proto *p, int field, ls__proto *message);
void ls__proto_append(ls__proto *p, ls__proto *fields);

#endif

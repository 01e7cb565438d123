/* SPDX-License-Identifier: BSD-3-Clause */
/* Inflation of deflated data, whichever frame is around it. */
#ifndef LS_ARRAY_INFLATE_H
#define LS_ARRAY_INFLATE_H

#include <stdint.h>
#include <zlib.h>

/* Begin a stream that takes its memory where the library does; the members for
 * input and output are the caller's.  bits: zlib's windowBits.  LS_ENOMEM. */
int ls__inflate_open(z_stream *s, int bits);

/* The most that n bytes can be inflated to: deflate writes 258 bytes for two
 * bits (RFC 1951, 3.2.5). */
int64_t ls__inflate_most(int64_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Little-endian numbers, for files and hashes on any machine. */
#ifndef LS_BASE_LITTLE_H
#define LS_BASE_LITTLE_H

#include <stddef.h>

#define LS__IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Turn n numbers of `size` bytes from the machine's order into a file's, or
 * back, in place. */
static inline void ls__little(void *data, size_t n, size_t size)
{
    unsigned char *p = data;

    if (LS__IS_LITTLE)
        return;
    for (; n > 0; n--, p += size)
        for (size_t i = 0, j = size - 1; i < j; i++, j--) {
            unsigned char byte = p[i];

            p[i] = p[j];
            p[j] = byte;
        }
}

#endif

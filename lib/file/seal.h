/* SPDX-License-Identifier: BSD-3-Clause */
/* A seal, which is a checksum: a CRC-32 within the JSON text it covers, as the
 * value of "lockstep.crc32", eight hex digits that count as zeros meanwhile.
 * It covers that text and all that follows it in the file. */
#ifndef LS_FILE_SEAL_H
#define LS_FILE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS__SEAL "lockstep.crc32"
#define LS__SEAL_OPEN "00000000"

/* The place of the digits in n bytes of text; NULL: there is no seal. */
char *ls__seal_find(char *text, size_t n);

/* A CRC-32 (zlib's) goes on: start with 0. */
uint32_t ls__crc32(uint32_t crc, const void *data, size_t bytes);

/* The eight digits. */
void ls__seal_close(char *digits, uint32_t crc);

/* Is there a seal in n bytes of text, and right for them and the `size` bytes
 * of data that follow?  The text is written to and put right again. */
bool ls__seal_holds(char *text, size_t n, const void *data, size_t size);

#endif

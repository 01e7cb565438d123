/* SPDX-License-Identifier: BSD-3-Clause */
/* reseal FILE: put the checksum of a text right again that somebody changed, as
 * who forges a checkpoint would.  For test/tools/run/hostile.sh. */
#include "file/seal.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 1 << 16 };

int main(int argc, char **argv)
{
    static char text[ROOM];
    FILE *file = argc == 2 ? fopen(argv[1], "r+b") : NULL;
    size_t n = file ? fread(text, 1, ROOM, file) : 0;
    char *digits = ls__seal_find(text, n);
    int good = digits != NULL;

    if (good) {
        memcpy(digits, LS__SEAL_OPEN, strlen(LS__SEAL_OPEN));
        ls__seal_close(digits, ls__crc32(0, text, n));
        rewind(file);
        good = fwrite(text, 1, n, file) == n;
    }
    return file && fclose(file) == 0 && good ? 0 : 1;
}

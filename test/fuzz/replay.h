/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share.  Built with -fsanitize=fuzzer a target is a
 * fuzzer; built plainly it is a program that feeds itself the files named on
 * its command line, so that make check keeps the corpus and all finds alive. */
#ifndef TEST_FUZZ_REPLAY_H
#define TEST_FUZZ_REPLAY_H

#include "image/images.h"
#include "memory_file.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Look at every byte.  volatile: so that the compiler looks too. */
static inline void touch(const void *data, int64_t n)
{
    const volatile uint8_t *p = data;

    for (int64_t i = 0; i < n; i++)
        (void)p[i];
}

/* Look at every row of a set. */
static inline void touch_rows(const ls__images *im)
{
    int64_t bytes = ls__images_row_bytes(im);
    uint8_t *room = malloc((size_t)bytes + 1);
    const uint8_t *row;

    for (int64_t i = 0; i < im->rows; i++) {
        row = room ? ls__images_row(im, i, room) : NULL;
        if (!row)
            abort();
        touch(row, bytes);
    }
    free(room);
}

#ifndef FUZZING
static int replay(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f) {
        perror(path);
        return 1;
    }
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, n);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    printf("%d files\n", argc - 1);
    return failed;
}
#endif

#endif

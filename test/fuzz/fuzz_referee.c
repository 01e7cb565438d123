/* SPDX-License-Identifier: BSD-3-Clause */
/* The referee's files: a record, as it is and with its hashes made right, is
 * judged against itself, which can only be the same or refused, and against the
 * one of the corpus; elements of it are made again; and a transcript. */
#define _GNU_SOURCE
#include "memory_file.h"
#include "mutate.h"
#include "referee/sha.h"
#include "referee/verdict.h"

#include <fcntl.h>

enum { HEADER = 64, ENTRY = 96, SEAL = 32, ROOM = 1 << 16 };

static uint64_t little(const uint8_t *p, int n)
{
    uint64_t x = 0;

    while (n-- > 0)
        x = x << 8 | p[n];
    return x;
}

static void hash(uint8_t to[32], const uint8_t *a, size_t n, const void *b,
                 size_t m)
{
    sha s;

    sha_begin(&s);
    sha_add(&s, a, n);
    sha_add(&s, b, m);
    sha_end(&s, to);
}

/* Leaves of one array, as far as they are in the file. */
static void hash_leaves(uint8_t *file, uint64_t tail, const uint8_t *entry)
{
    uint64_t n = little(entry + 56, 8), at = little(entry + 64, 8);
    uint64_t leaves = n / LEAF + (n % LEAF != 0), x = at + 32 * leaves;

    if (n > tail || at > tail || x > tail || 4 * n > tail - x)
        return;
    for (uint64_t i = 0; i < leaves; i++)
        hash(file + at + 32 * i, file + x + 4 * LEAF * i,
             4 * (n - i * LEAF < LEAF ? n - i * LEAF : LEAF), "", 1);
}

/* False: it is no record as far as its parts go. */
static int reseal_record(uint8_t *file, size_t size)
{
    uint64_t tail, head, entries;

    if (size < HEADER + SEAL)
        return 0;
    tail = little(file + 24, 8);
    head = little(file + 32, 8);
    entries = little(file + 40, 8);
    if (tail < HEADER || tail > size - SEAL || head > size - SEAL - tail ||
        entries > (size - SEAL - tail - head) / ENTRY)
        return 0;
    for (uint64_t i = 0; i < entries; i++)
        hash_leaves(file, tail, file + tail + head + i * ENTRY);
    hash(file + size - SEAL, file, HEADER, file + tail, size - SEAL - tail);
    return 1;
}

static char good[2][256]; /* record and transcript of the corpus */

/* of: a number that says which elements are made again. */
static void judge(const char *path, int is_record, size_t of)
{
    const char *const same[2] = {path, path}, *const record[2] = {good[0],
                                                                  good[0]};
    const char *const other[2] = {path, good[0]};
    uint32_t word;
    int status;

    if (!is_record) {
        judge_files(record, same);
        return;
    }
    status = judge_files(same, NULL);
    if (status != SAME && status != REFUSED && status != NEITHER_IS_RIGHT)
        abort();
    judge_files(other, NULL);
    for (int64_t i = of % 8; i < 64; i += 8)
        judge_element(path, i, i * 7 % 5, &word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = (uint8_t *)copy_of(data, size);
    char path[32];

    if (!*good[0])
        for (int i = 0; i < 2; i++)
            snprintf(good[i], sizeof good[i], "%s/test/fuzz/corpus/referee/%s",
                     getenv("top_srcdir") ? getenv("top_srcdir") : ".",
                     i ? "linear.lst" : "linear.lsr");
    for (int sealed = 0; sealed < 2; sealed++) {
        int fd;

        if (sealed && !reseal_record(bytes, size))
            break;
        fd = memory_file(bytes, size, path);
        judge(path, size < 1 || *bytes != '{', size);
        close(fd);
    }
    free(bytes);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static uint8_t file[2][ROOM];
    size_t size[2] = {0};

    LLVMFuzzerTestOneInput(file[0], 0);
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(good[i], "rb");

        if (!f || !(size[i] = fread(file[i], 1, ROOM, f))) {
            perror(good[i]);
            return 1;
        }
        fclose(f);
    }
    if (!freopen("/dev/null", "w", stdout))
        return 1;
    for (int i = 0; i < 1000; i++) {
        static uint8_t input[ROOM];
        size_t n = size[i % 2], of = below(4);

        memcpy(input, file[i % 2], n);
        for (size_t k = 0; k <= of && n > 0; k++)
            n = mutate(input, n, ROOM);
        LLVMFuzzerTestOneInput(input, n);
    }
    return 0;
}
#endif

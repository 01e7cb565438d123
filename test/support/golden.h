/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of other programs, from files that golden/make_*.py write: a line
 * "NAME COUNT", then COUNT numbers in hexadecimal, eight in a line, so that no
 * bit is lost.  Lines with a # are comments.  Asserts with Check. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden_block {
    struct golden_block *next;
    float values[];
} golden_block;

static golden_block *golden_blocks;

static inline void golden_free(void)
{
    while (golden_blocks) {
        golden_block *next = golden_blocks->next;

        free(golden_blocks);
        golden_blocks = next;
    }
}

static inline golden_block *golden_new(int64_t n)
{
    golden_block *b = malloc(sizeof *b + (size_t)n * sizeof *b->values);

    ck_assert_ptr_nonnull(b);
    if (!golden_blocks)
        atexit(golden_free);
    b->next = golden_blocks;
    return golden_blocks = b;
}

/* Is the file at the numbers of a name?  Then count is how many follow. */
static inline bool golden_find(FILE *f, const char *name, long long *count)
{
    char line[256], word[128];

    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%127s %lld", word, count) == 2 && !strcmp(word, name))
            return true;
    return false;
}

/* The n numbers that golden/FILE.txt has below a name, freed at exit. */
__attribute__((format(printf, 3, 4)))
static inline const float *golden(const char *file, int64_t n,
                                  const char *format, ...)
{
    const char *top = getenv("top_srcdir");
    char path[4096], name[128], word[64], *end = word;
    golden_block *b = golden_new(n);
    va_list names;
    long long count = 0;
    FILE *f;

    va_start(names, format);
    vsnprintf(name, sizeof name, format, names);
    va_end(names);
    snprintf(path, sizeof path, "%s/test/golden/%s.txt", top ? top : "..",
             file);
    f = fopen(path, "r");
    if (!f)
        ck_abort_msg("%s cannot be read", path);
    if (!golden_find(f, name, &count))
        ck_abort_msg("%s has no \"%s\"", path, name);
    if (count != n)
        ck_abort_msg("%s: \"%s\" has %lld numbers, not %lld", path, name,
                     count, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (fscanf(f, "%63s", word) == 1)
            b->values[i] = strtof(word, &end);
        if (end == word || *end)
            ck_abort_msg("%s: \"%s\" ends after %d numbers", path, name,
                         (int)i);
    }
    if (fscanf(f, "%63s", word) == 1 && (strtof(word, &end), !*end))
        ck_abort_msg("%s: \"%s\" has more than %d numbers", path, name, (int)n);
    fclose(f);
    return b->values;
}

/* Numbers to compare with in double. */
static inline void golden_wider(int64_t n, const float *from, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

#endif

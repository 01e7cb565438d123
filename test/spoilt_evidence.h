/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence with proofs in which something is changed.  The test includes the
 * referee before. */
#ifndef TEST_SPOILT_EVIDENCE_H
#define TEST_SPOILT_EVIDENCE_H

#include "record_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static inline char *read_text(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "r");
    char *text = malloc(1 << 21);

    ck_assert(f && text);
    *bytes = fread(text, 1, (1 << 21) - 1, f);
    text[*bytes] = 0;
    fclose(f);
    return text;
}

/* Where a list begins that the proofs hold: the arrays, the proof, where the
 * numbers of a list stand, or numbers that stand in an array. */
static inline char *proved_line(char *text, uint32_t *r)
{
    char *line[64], name[32];
    int lines = 0;

    for (char *at = text; (at = strchr(at, '\n')) && at[1]; at++) {
        size_t n = strcspn(at + 1, " \n");

        if (n > 20 || strncmp(at + 1, "op", n) == 0 ||
            strncmp(at + 1, "claim", n) == 0)
            continue;
        snprintf(name, sizeof name, "\n%.*s@ ", (int)n, at + 1);
        if (!memchr(at + 1, '@', n) &&
            (!strstr(text, name) ||
             strncmp(strstr(text, name) + n + 3, "ffffffff", 8) == 0))
            continue;
        ck_assert_int_lt(lines, 64);
        line[lines++] = at + 1 + n;
    }
    ck_assert_int_gt(lines, 0);
    return line[between(r, 0, lines - 1)];
}

/* Judge in a process of its own: 0 the number is `is`, 1 it is another, 3 it
 * was refused. */
static inline int judge_text(const char *text, size_t bytes, uint32_t is)
{
    int state;
    pid_t child;

    fflush(NULL);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        FILE *f = fmemopen((void *)(uintptr_t)text, bytes, "r");
        char op[32];

        if (!freopen("/dev/null", "w", stderr) || !f || !read_evidence(f, op))
            exit(4);
        exit(make(op) != is);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert_msg(WIFEXITED(state), "a crash on: %.200s", text);
    return WEXITSTATUS(state);
}

/* One digit, a word that is taken out, or one that is doubled: what is proved
 * is refused, or is the same. */
static inline void spoil_evidence(const char *path, uint32_t is, uint32_t *r)
{
    size_t bytes;
    char *text = read_text(path, &bytes), *line = proved_line(text, r), *at;
    int64_t words = (int64_t)strcspn(line, "\n") / 9;
    int status;

    ck_assert_int_gt(words, 0);
    at = line + 1 + 9 * between(r, 0, words - 1);
    switch (between(r, 0, 3)) {
    case 0: memmove(at - 1, at + 8, strlen(at + 8) + 1); break;
    case 1: memmove(at + 9, at, strlen(at) + 1); at[8] = ' '; break;
    default: at += between(r, 0, 7); *at = *at == 'f' ? '0' : 'f';
    }
    status = judge_text(text, strlen(text), is);
    ck_assert_msg(status == 3 || status == 0, "spoilt evidence gives status "
                  "%d", status);
    free(text);
}

#endif

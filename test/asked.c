/* SPDX-License-Identifier: BSD-3-Clause */
/* See asked.h. */
#define REFEREE_IS_TESTED
#include "../referee/referee.c"

#include "asked.h"

enum { ROOM = 1 << 22 };

static f32 room[ROOM];
static long used;

float *asked_list(const char *name, int64_t n)
{
    list *l = &lists[count];

    if (count == LISTS || n > ROOM - used)
        refuse(name);
    memset(l, 0, sizeof *l);
    strncpy(l->name, name, sizeof l->name - 1);
    l->n = (long)n;
    l->x = room + used;
    used += (long)n;
    count++;
    return (float *)(void *)l->x;
}

void asked_copy(const char *name, int64_t n, const float *x)
{
    memcpy(asked_list(name, n), x, (size_t)n * sizeof *x);
}

void asked_number(const char *name, float x)
{
    asked_copy(name, 1, &x);
}

void asked_word(const char *name, uint32_t x)
{
    memcpy(asked_list(name, 1), &x, sizeof x);
}

void asked_words(const char *name, uint64_t x)
{
    uint32_t word[2] = {(uint32_t)(x >> 32), (uint32_t)x};

    memcpy(asked_list(name, 2), word, sizeof word);
}

void asked_real(const char *name, double x)
{
    asked_words(name, D(x));
}

static void write_evidence(FILE *f, const char *rule, f32 is)
{
    fprintf(f, "lockstep evidence 1\nop %s\nclaim %08x %08x\n", rule,
            (unsigned)is, (unsigned)is ^ 1);
    for (int i = 0; i < count; i++) {
        fputs(lists[i].name, f);
        for (long k = 0; k < lists[i].n; k++)
            fprintf(f, " %08x", (unsigned)lists[i].x[k]);
        fputc('\n', f);
    }
    fputc('\n', f);
}

uint32_t asked_bits(const char *rule)
{
    static FILE *f;
    f32 is = make(rule);

    if (!f && getenv("LS_EVIDENCE"))
        f = fopen(getenv("LS_EVIDENCE"), "a");
    if (f)
        write_evidence(f, rule, is);
    if (f)
        fflush(f);
    count = 0;
    used = 0;
    return is;
}

float asked(const char *rule)
{
    uint32_t bits = asked_bits(rule);
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The program's own. */
typedef void unused(void);
extern unused *const asked_unused[];
unused *const asked_unused[] = {(unused *)print_rules,
                                (unused *)read_evidence};

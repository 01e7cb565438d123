/* SPDX-License-Identifier: BSD-3-Clause */
/* See words.h. */
#include "table/words.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/real_text.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* The slot of a word, or the free one where it belongs. */
static int find_slot(const ls__words *w, const char *text)
{
    uint32_t mask = 2 * (uint32_t)w->room - 1, i = hash(text) & mask;

    while (w->slot[i] >= 0 && strcmp(w->word[w->slot[i]], text))
        i = (i + 1) & mask;
    return (int)i;
}

static bool no_memory(void)
{
    ls__fail(LS_ENOMEM, "no memory for the words of a table");
    return false;
}

static bool grow(ls__words *w)
{
    int room = w->room ? 2 * w->room : 16;
    char **word = room <= INT_MAX / 4
                      ? realloc(w->word, (size_t)room * sizeof *word)
                      : NULL;
    int *slot;

    if (!word)
        return no_memory();
    w->word = word;
    if (!(slot = realloc(w->slot, 2 * (size_t)room * sizeof *slot)))
        return no_memory();
    w->slot = slot;
    w->room = room;
    for (int i = 0; i < 2 * room; i++)
        slot[i] = -1;
    for (int i = 0; i < w->count; i++)
        slot[find_slot(w, word[i])] = i;
    return true;
}

bool ls__words_add(ls__words *w, const char *text)
{
    int i;

    if (w->count == w->room && !grow(w))
        return false;
    i = find_slot(w, text);
    if (w->slot[i] >= 0)
        return true;
    if (!(w->word[w->count] = ls__text_copy(text)))
        return false;
    w->slot[i] = w->count++;
    return true;
}

bool ls__words_has(const ls__words *w, const char *text)
{
    return w->slot && w->slot[find_slot(w, text)] >= 0;
}

/* Read a number as strtod does in the C locale, inf and hexadecimal too. */
static bool is_number(const char *text, double *out)
{
    return !strchr(text, ',') && ls__real_value(text, out);
}

int ls__words_compare(const char *a, const char *b)
{
    double x = 0, y = 0;
    bool number_a = is_number(a, &x), number_b = is_number(b, &y);

    if (number_a != number_b)
        return number_a ? -1 : 1;
    if (number_a && (x < y || x > y))
        return x < y ? -1 : 1;
    return strcmp(a, b);
}

static int by_order(const void *a, const void *b)
{
    return ls__words_compare(*(char *const *)a, *(char *const *)b);
}

void ls__words_sort(ls__words *w)
{
    if (w->count)
        qsort(w->word, (size_t)w->count, sizeof *w->word, by_order);
    free(w->slot);
    w->slot = NULL;
}

int ls__words_find(char *const *word, int n, const char *text)
{
    char *const *at = n ? bsearch(&text, word, (size_t)n, sizeof *word,
                                  by_order) : NULL;

    return at ? (int)(at - word) : -1;
}

void ls__words_free(ls__words *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->word[i]);
    free(w->word);
    free(w->slot);
    *w = (ls__words){0};
}

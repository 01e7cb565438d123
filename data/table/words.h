/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of words: those of a column of text, or the classes of a target. */
#ifndef LS_TABLE_WORDS_H
#define LS_TABLE_WORDS_H

#include <stdbool.h>

typedef struct ls__words {
    char **word; /* [count] */
    int count;
    int room;  /* of word, */
    int *slot; /* and twice as many places of a hash; -1: free */
} ls__words;

/* Add a copy of a word that is not there yet; false, and a message: no
 * memory. */
bool ls__words_add(ls__words *w, const char *text);

/* Is a word there?  Before they are sorted. */
bool ls__words_has(const ls__words *w, const char *text);

/* Numbers by their values first, then texts by their bytes.  Nothing is added
 * any more. */
void ls__words_sort(ls__words *w);

/* The place of a word among n that are sorted; -1: it is none of them. */
int ls__words_find(char *const *word, int n, const char *text);

/* Compare as ls__words_sort does: below 0, 0 or above it. */
int ls__words_compare(const char *a, const char *b);

void ls__words_free(ls__words *w);

#endif

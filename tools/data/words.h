/* A set of words: those of a column of text, or the classes of a target. */
#ifndef TOOLS_WORDS_H
#define TOOLS_WORDS_H

#include <stdbool.h>

typedef struct word_set {
    char **word; /* [count] */
    int count;
    int room;  /* of word, */
    int *slot; /* and twice as many places of a hash; -1: free */
} word_set;

/* Add a copy of a word that is not there yet; false: no memory. */
bool words_add(word_set *w, const char *text);

/* Numbers by their values first, then texts by their bytes.  Nothing is added
 * any more. */
void words_sort(word_set *w);

/* The place of a word among n that are sorted; -1: it is none of them. */
int words_find(char *const *word, int n, const char *text);

/* As words_sort puts them: below 0, 0 or above it. */
int words_compare(const char *a, const char *b);

void words_free(word_set *w);

#endif

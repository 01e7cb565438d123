/* SPDX-License-Identifier: BSD-3-Clause */
/* What a column of a table was seen to hold, over all rows. */
#ifndef LS_TABLE_SURVEY_H
#define LS_TABLE_SURVEY_H

#include "table/coding.h"

/* Words are counted up to the most; so few numbers may be meant as classes. */
enum { LS__MOST_WORDS = 1000, LS__FEW_WORDS = 20 };

typedef struct ls__survey {
    bool ignored;
    int64_t numbers, texts, missing;
    int64_t counted; /* rows with the number after that of the row before */
    double last;     /* the number of that */
    int64_t text_line, missing_line, part_line; /* the first of them */
    char text[48];
    char part[LS__WORD]; /* the first number that is not whole; or empty */
    ls__words words;     /* of all that is not missing, up to one too many */
    int64_t dates;
    int64_t other_line; /* the first value that is no date */
    char other[48];
    double first[LS__DATE_PARTS]; /* the numbers of the first date, */
    bool varies[LS__DATE_PARTS];  /* and which of them others do not have */
} ls__survey;

/* Look at the column's value of a row; LS_ENOMEM. */
int ls__survey_look(ls__survey *s, const ls__cell *cell);

/* How many values are not missing. */
static inline int64_t ls__values(const ls__survey *s)
{
    return s->numbers + s->texts;
}

static inline bool ls__is_of_dates(const ls__survey *s)
{
    return s->dates > 0 && s->dates == ls__values(s);
}

/* Has a word less than so many rows?  Then they are names, of which each row
 * has its own, or numbers that were measured. */
static inline bool ls__has_many(const ls__survey *s, int rows)
{
    return s->words.count > LS__MOST_WORDS ||
           (s->words.count > LS__FEW_WORDS &&
            s->words.count > ls__values(s) / rows);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The survey of a column of a table, over all rows. */
#ifndef LS_TABLE_SURVEY_H
#define LS_TABLE_SURVEY_H

#include "table/coding.h"
#include "table/looks.h"

/* Words are counted up to the most; so few numbers may be meant as classes. */
enum { LS__MOST_WORDS = 1000, LS__FEW_WORDS = 20 };

typedef struct ls__column_survey {
    bool ignored;
    int64_t numbers, texts, missing;
    int64_t counted; /* rows with the number after that of the row before */
    double last;     /* the number of that */
    int64_t text_line, missing_line, part_line; /* the first of them */
    char text[48];
    char part[LS__WORD]; /* the first number that is not whole; or empty */
    ls__words words;     /* of all that is not missing, up to one too many */
    int64_t looks, absent; /* texts that look like numbers or dates; like a
                              value that is missing */
    ls__look look;     /* of the first of them */
    ls__around around; /* what stands around it, */
    int64_t alike;     /* and in how many the same */
    int64_t look_line, longer_line, quoted_line; /* of the first of each */
    char looked[48];
    char longer[48]; /* a number with more digits than a double keeps */
    char quoted[8];  /* "NA", which is missing without its quotes */
    int64_t thousands, decimals; /* numbers as 1.050; others with a mark */
    char thousand[16];
    double most; /* the largest number without a mark */
    int64_t dates;
    double day, step; /* the last date, and from the first one to the second */
    int64_t uneven, uneven_line; /* other steps; the first of them, */
    double odd;                  /* in days */
    int64_t other_line; /* the first value that is no date */
    char other[48];
    double first[LS__DATE_PARTS]; /* the numbers of the first date, */
    bool varies[LS__DATE_PARTS];  /* and which of them others do not have */
} ls__column_survey;

/* Look at the column's value of a row; LS_ENOMEM. */
int ls__survey_look(ls__column_survey *s, const ls__cell *cell);

/* The number of values that are not missing. */
static inline int64_t ls__values(const ls__column_survey *s)
{
    return s->numbers + s->texts;
}

static inline bool ls__is_of_dates(const ls__column_survey *s)
{
    return s->dates > 0 && s->dates == ls__values(s);
}

/* Are most texts numbers or dates to a person? */
static inline bool ls__is_marked(const ls__column_survey *s)
{
    int64_t others = s->texts - s->looks - s->absent - s->dates;

    return s->looks > 0 && s->looks + s->numbers + s->dates > others;
}

/* Are all but some numbers, or dates, and those words for missing values? */
static inline bool ls__is_absent(const ls__column_survey *s)
{
    return s->absent > 0 && s->absent + s->dates == s->texts &&
           s->numbers + s->dates > 0;
}

/* May the marks of its numbers part thousands, below which the others are? */
static inline bool ls__is_of_thousands(const ls__column_survey *s)
{
    return s->thousands > 0 && !s->decimals && s->numbers > s->thousands &&
           s->most < 1000;
}

/* Has a word less than `rows` rows?  Then they are names, each row its own, or
 * numbers that were measured. */
static inline bool ls__has_many(const ls__column_survey *s, int rows)
{
    return s->words.count > LS__MOST_WORDS ||
           (s->words.count > LS__FEW_WORDS &&
            s->words.count > ls__values(s) / rows);
}

/* Two whole numbers, as 0 and 1: a target of them is classes. */
static inline bool ls__is_of_two(const ls__column_survey *s)
{
    return !s->texts && !*s->part && s->words.count == 2;
}

/* Has each row a whole number or a word of its own, and does the name say that
 * it is an id?  Then it tells rows apart, and nothing of them. */
bool ls__is_id(const ls__column_survey *s, const char *name);

/* A few words, none of them a number or a date, or names with a number, as
 * seats are: they may be meant as words. */
static inline bool ls__may_be_words(const ls__column_survey *s)
{
    return (s->words.count <= LS__FEW_WORDS && !s->numbers &&
            s->look != LS__DATE) || s->look == LS__NAMED ||
           (s->look == LS__UNIT && s->alike <= s->looks / 2);
}

/* Nothing of it can be mended: it has no values, or a word for each row. */
static inline bool ls__is_useless(const ls__column_survey *s)
{
    return !ls__values(s) ||
           (s->texts > s->numbers && !ls__is_marked(s) && !ls__is_absent(s) &&
            s->dates <= ls__values(s) / 2);
}

#endif

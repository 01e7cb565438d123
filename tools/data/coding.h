/* How the columns of a table become the numbers a model takes, and its outputs
 * the values of the target: columns of numbers are standardised, columns of
 * text become a 1 among zeros, one place for each word.  Made from the table
 * that is trained on, kept in the model file (docs/model-file.md), used again
 * by whoever predicts. */
#ifndef TOOLS_CODING_H
#define TOOLS_CODING_H

#include "data/words.h"

#include <lockstep.h>
#include <lockstep/table.h>

/* The pair of a model file's metadata. */
#define CODING_KEY "lockstep.table"

enum { CODING_AUTO, CODING_CLASSES, CODING_REGRESSION };
enum { CODING_REFUSE, CODING_MEAN };

typedef struct coding_column {
    char *name;
    word_set words;        /* none: a column of numbers, */
    double mean, scale; /* of which x becomes (x - mean) / scale */
    int64_t at;         /* its first input */
} coding_column;

typedef struct coding {
    int columns;
    coding_column *column; /* the inputs */
    coding_column target;  /* with words: classes */
    bool impute;           /* a missing value becomes the mean, or no word */
    int64_t width;         /* numbers that a row becomes; of a series one more,
                              the target */
    int64_t window;        /* a series: rows of what the model sees; else 0 */
    int64_t horizon;       /* and how many rows after the last of them the
                              target stands that it predicts */
} coding;

typedef struct coding_wants {
    const char *target; /* name */
    const char *ignore; /* names by commas; NULL: none */
    int64_t task;       /* CODING_AUTO.. */
    bool impute;
    int64_t window, horizon; /* of a series; else 0 */
} coding_wants;

/* Is there one? */
static inline bool coding_is(const coding *c)
{
    return c->target.name != NULL;
}

/* Numbers of a row as the model sees it. */
static inline int64_t coding_seen(const coding *c)
{
    return c->width + (c->window > 0);
}

/* ------ From a table to train on ------ */

/* Learn what the columns are from all rows; *rows: how many.  The statistics
 * are not there yet.  OPT_GO, or the status after a message. */
int coding_learn(coding *c, ls_table *t, const coding_wants *want,
                 const char *path, int64_t *rows);

/* Take mean and scale from the rows of raw values (rows, columns + 1), the
 * target last, that are not held out (NULL: none is). */
void coding_fit(coding *c, int64_t rows, const double *raw, const bool *held);

void coding_free(coding *c);

/* ------ Rows ------ */

/* The word of field i: of a number the shortest text that reads back, 10 for a
 * whole one, so that 1 and 1.0 are one class.  In room or the table's own. */
enum { CODING_WORD = 32 };
const char *coding_word(ls_table *t, int i, char room[CODING_WORD]);

/* Where the columns are in a table: map[columns], the target's behind them
 * where it is wanted.  A name that is not there is refused. */
int coding_map(const coding *c, ls_table *t, const char *path, bool target,
               int *map);

/* The row's raw values: numbers, places of words, NaN where there is none. */
int coding_read(const coding *c, ls_table *t, const char *path, const int *map,
                bool target, double *raw);

/* The row as the model sees it, x[coding_seen]: the inputs of raw values, and
 * of a series the target, standardised too. */
void coding_inputs(const coding *c, const double *raw, float *x);

/* ------ Files ------ */

/* As JSON, to be freed; NULL after a message. */
char *coding_write(const coding *c);

/* From the text of a file, which is believed nothing; OPT_FAILED after a
 * message that names the path. */
int coding_load(coding *c, const char *text, const char *path);

#endif

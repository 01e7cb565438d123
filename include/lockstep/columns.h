/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of tables: what the columns of a table mean to a model, the table as
 * rows to train on, and predictions for rows of text or numbers.
 *
 *     ls_table_model *m;
 *     ls_table_context *c;
 *     const char *name[] = {"rooms", "town"}, *cell[] = {"3", "Bergen"};
 *     double price;
 *
 *     ls_table_model_open(&m, "houses.st", NULL);
 *     ls_table_context_open(&c, m, NULL);
 *     ls_table_predict_text(c, 1, 2, name, cell, &price, NULL);
 *
 * A column of numbers becomes one input, (x - mean) / scale.  A column of text
 * becomes as many as it has words, a 1 among zeros, and a column of dates
 * several numbers (ls_column.date).  What is predicted is a number,
 * standardised like those, or one of some classes.  The model file says so in a
 * note, which lockstep-train --data writes and ls_coding_note gives for
 * programs that train by themselves (docs/model-file.md).
 *
 * Of liblockstep_data: link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_COLUMNS_H
#define LOCKSTEP_COLUMNS_H

#include <lockstep/predictor.h>
#include <lockstep/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ What the columns mean ------ */

/* The name of the note of a model file. */
#define LS_CODING_NOTE "lockstep.table"

/* The meaning of all columns of a table; it belongs to what it was got from. */
typedef struct ls_coding ls_coding;

/* A column; its texts live as long as the coding.
 *
 * Dates are as ISO 8601 has them: 2026-11-25, and with a time 2026-11-25T18:30,
 * 2026-11-25 18:30:05.25, and with a zone 2026-11-25T18:30Z or +02:00; the day
 * may be 2026/11/25 or 25.11.2026, too.  A column of them becomes columns of
 * numbers of one name, one for each of these that `date` names and in which its
 * rows differ, "days" in any case:
 *
 *     days     since 1970-01-01, the time as a fraction, in UTC where there is
 *              a zone; the others are of the date as it is written:
 *     year
 *     month    1 to 12
 *     day      of the month, 1 to 31
 *     weekday  Monday is 1, Sunday 7
 *     yearday  1 to 366
 *     hour     of the day, 0 to below 24, minutes and seconds as a fraction
 */
typedef struct ls_column {
    const char *name;
    const char *date;        /* the number of a date that it is; or NULL */
    int words;               /* of a column of text, or classes; 0: numbers */
    const char *const *word; /* [words]: numbers by value, texts by bytes */
    double mean, scale;      /* of numbers x becomes (x - mean) / scale */
    int64_t at;              /* the first of the inputs that it becomes */
} ls_column;

/* The numbers of a date, as ls_table_predict_doubles takes them. */
typedef struct ls_date {
    double days, year, month, day, weekday, yearday, hour;
} ls_date;

/* Read a text such as a column of dates has; false: it is no date. */
LS_API bool ls_date_read(ls_date *date, const char *text);

/* Stores column i = 0, 1, .. of those that a prediction takes and returns
 * true; false past the last. */
LS_API bool ls_coding_column(const ls_coding *coding, int i, ls_column *column);

/* Stores what is predicted and returns true. */
LS_API bool ls_coding_target(const ls_coding *coding, ls_column *column);

/* The width of a row as the model sees it, in numbers. */
LS_API int64_t ls_coding_width(const ls_coding *coding);

/* Returns how many rows of a series the model sees, its target among the
 * numbers; 0: it is no series.  *horizon (NULL: not wanted): how many rows
 * after the last of them what is predicted stands. */
LS_API int64_t ls_coding_window(const ls_coding *coding, int64_t *horizon);

/* The note of a model file, JSON text: pass it on as LS_CODING_NOTE to
 * ls_trainer_save_with.  NULL where nothing was measured yet
 * (ls_table_data_take). */
LS_API const char *ls_coding_note(const ls_coding *coding);

/* Read such a note, as ls_archive_note gives it; path is for messages.
 * LS_EFORMAT; LS_ENOMEM. */
LS_API int ls_coding_read(ls_coding **coding, const char *note,
                          const char *path);

/* Free what ls_coding_read made; NULL is accepted. */
LS_API void ls_coding_free(ls_coding *coding);

/* ------ A table to train on ------ */

/* The task.  AUTO: classes for a column of text or of two whole numbers, a
 * number for other numbers; whole numbers may be classes too. */
typedef enum ls_table_task {
    LS_TABLE_AUTO, LS_TABLE_CLASSIFICATION, LS_TABLE_REGRESSION
} ls_table_task;

/* Options for reading a table as data. */
typedef struct ls_table_data_options {
    size_t size; /* ls_table_data_defaults() writes it */
    const char *target;  /* the name of the column to predict; NULL: the last,
                            of those with a name */
    const char *ignore;  /* names of columns to leave out, commas between them;
                            NULL: none */
    ls_table_task task;
    bool missing_mean;   /* a missing value becomes the mean, or none of the
                            words; else it is refused */
    bool drop_no_target; /* a row whose target is missing is left out; else it
                            is refused, as it is in a series */
    int64_t window;      /* rows of a series that a prediction sees; 0: each row
                            is by itself */
    int64_t horizon;     /* and how many rows after the last of them it is; 0:
                            1 of a series */
    const char *prefix;  /* of the names of these options in messages; NULL:
                            "option " */
    ls_log_fn *log;      /* called with what one may want to know; NULL: not */
    void *log_user;
    bool robust;         /* of columns of numbers the median and the distance of
                            the quartiles (half of the range where that is 0)
                            take the place of mean and deviation, by NumPy's
                            quantiles; of the target they do not */
} ls_table_data_options;

/* Returns options that predict the last column, whatever it is, and refuse
 * missing values. */
LS_API void ls_table_data_defaults_bytes(ls_table_data_options *options,
                                         size_t size);
static inline ls_table_data_options ls_table_data_defaults(void)
{
    ls_table_data_options o;

    ls_table_data_defaults_bytes(&o, sizeof o);
    return o;
}

typedef struct ls_table_data ls_table_data;

/* Read a table to train a model on; options NULL means the defaults.  A column
 * is of numbers if all its values are numbers, of dates if all are dates, and
 * of text if most are no numbers.  One that is called an id and has another
 * whole number or word in each of twenty rows or more is left out.  Refused are
 * a column of numbers or dates with something else here and there; text that
 * differs in nearly every row, or that looks like numbers or dates ("17%",
 * "1 000", "01/15/2025"); a first line that is a row; and a series out of order
 * by its first dates.  LS_EINVAL: the options do not fit the table; LS_EIO;
 * LS_EFORMAT names line and column; LS_ENOMEM. */
LS_API int ls_table_data_open(ls_table_data **data, const char *path,
                              const ls_table_data_options *options);

/* Read another table by the same coding, to evaluate a model on.  The coding is
 * borrowed until the data are closed; no mean is taken from the table.  Its
 * columns may stand in another order, and others among them.  LS_ENOTFOUND
 * names a column that it lacks; LS_EFORMAT: a word that is not known, and the
 * rest as for ls_table_data_open. */
LS_API int ls_table_data_open_as(ls_table_data **data, const char *path,
                                 const ls_coding *coding);

/* Close the data, its coding with it; NULL is accepted. */
LS_API void ls_table_data_close(ls_table_data *data);

/* The number of rows. */
LS_API int64_t ls_table_data_rows(const ls_table_data *data);

/* The meaning of the columns; it lives until the data are closed. */
LS_API const ls_coding *ls_table_data_coding(const ls_table_data *data);

/* Take the rows as a model sees them, to be freed by ls_array_free: *x LS_F32
 * (rows, ls_coding_width), and *y the classes, LS_I32 (rows), or the numbers,
 * LS_F32 (rows, 1).  Mean and scale are those of the rows that are not held
 * (held[rows]; NULL: none is), which are to be evaluated on.  Once: the data
 * keep no rows.  LS_EINVAL: they were taken; LS_ERANGE: a value is too far from
 * the others; LS_ENOMEM. */
LS_API int ls_table_data_take(ls_table_data *data, const bool *held,
                              ls_array *x, ls_array *y);

/* ------ Predictions ------ */

/* A model and what its table was.  Threads share it, as they share a predictor
 * (lockstep/predictor.h): each has a context of its own, which is closed before
 * the model. */
typedef struct ls_table_model ls_table_model;
typedef struct ls_table_context ls_table_context;

typedef struct ls_table_model_options {
    size_t size; /* ls_table_model_defaults() writes it */
    const char *adapters; /* a file of lockstep/lora.h to put on the model;
                             where it has a note of its own, that counts */
} ls_table_model_options;

/* Returns options without adapters. */
LS_API void ls_table_model_defaults_bytes(ls_table_model_options *options,
                                          size_t size);
static inline ls_table_model_options ls_table_model_defaults(void)
{
    ls_table_model_options o;

    ls_table_model_defaults_bytes(&o, sizeof o);
    return o;
}

/* Open a model file; options NULL means the defaults.  Fails as
 * ls_predictor_load and ls_coding_read do; LS_ENOTFOUND: the file does not say
 * what its table was; LS_EFORMAT: what it says is not of its model. */
LS_API int ls_table_model_open(ls_table_model **model, const char *path,
                               const ls_table_model_options *options);

/* Write a model file that predicts the mean of n others, of probabilities or of
 * numbers: models of one table, as folds of it give them, whose columns, words
 * and target are the same.  Each goes on to see rows by the means and scales of
 * its own; a missing value is what it is to the first.  pool as for
 * ls_trainer_open.  LS_EINVAL: two are of other columns, or of a series, or
 * there is none; fails as ls_table_model_open and ls_trainer_save_with do. */
LS_API int ls_table_model_join(const char *path, int n,
                               const char *const *model, ls_pool *pool);

/* The same of a predictor and a coding that are there; both are borrowed until
 * the model is closed.  LS_EFORMAT: they do not go together. */
LS_API int ls_table_model_of(ls_table_model **model, ls_predictor *predictor,
                             const ls_coding *coding);

/* Close the model; NULL is accepted. */
LS_API void ls_table_model_close(ls_table_model *model);

/* The meaning of the columns, and the predictor; they live until the model is
 * closed. */
LS_API const ls_coding *ls_table_model_coding(const ls_table_model *model);
LS_API ls_predictor *ls_table_model_predictor(const ls_table_model *model);

/* The memory of one thread's calls; pool as for ls_context_open. */
LS_API int ls_table_context_open(ls_table_context **context,
                                 const ls_table_model *model, ls_pool *pool);

/* Close the context; NULL is accepted. */
LS_API void ls_table_context_close(ls_table_context *context);

/* Predictions go to out (rows, K): the probabilities of the K classes in the
 * order of the target's words, or, K being 1, the number in the target's unit.
 * best (rows; NULL: not wanted) is the most probable class's place among the
 * words.  They are what lockstep-predict writes for the same rows.
 *
 * All fail with LS_EFORMAT where a value is missing (and the model was trained
 * without missing_mean), is none of the words trained on, is no number, or is
 * too far from those trained on: the message names row and column. */

/* Predict rows of text: cell[i * columns + k] is row i's of the column called
 * name[k], as a table's field without quotes has it; NULL is missing, as "" and
 * NA are.  Names are in any order; those that the model does not take are no
 * harm.  LS_ENOTFOUND: one that it takes is missing; LS_EINVAL: a name is there
 * twice; LS_ENOTSUP: the model is of a series; LS_ENOMEM. */
LS_API int ls_table_predict_text(ls_table_context *context, int64_t rows,
                                 int columns, const char *const *name,
                                 const char *const *cell, double *out,
                                 int *best);

/* Predict rows of numbers: number (rows, columns) in the order of the model's
 * columns, NaN where one is missing, and in word (rows, columns) the words of
 * columns of text, NULL or "" where one is missing; what stands in the place of
 * the other is not looked at.  Each number of a date has a place of its own.
 * word may be NULL if no column is of text, number if all are; else LS_EINVAL.
 * LS_ENOTSUP: the model is of a series. */
LS_API int ls_table_predict_doubles(ls_table_context *context, int64_t rows,
                                    const double *number,
                                    const char *const *word, double *out,
                                    int *best);

/* Predict the rows of an open table from its next one on, borrowed until the
 * last of them: ls_table_predict_next then gives them.  LS_ENOTFOUND: it has no
 * column of a name. */
LS_API int ls_table_predict_from(ls_table_context *context, ls_table *table);

/* Predict up to `most` of the table's next rows; *rows: how many, a few hundred
 * at most, 0 after the last one.  In a series each is the window that ends with
 * a row; the first rows have none.  Fails as ls_table_next does, too. */
LS_API int ls_table_predict_next(ls_table_context *context, int64_t most,
                                 int64_t *rows, double *out, int *best);

#ifdef __cplusplus
}
#endif

#endif

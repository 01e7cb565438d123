/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns to numbers.  coding_learn.c finds out what they are. */
#include "table/coding.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/real_text.h"
#include "table/number.h"
#include "table/looks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void ls__coding_clear(ls_coding *c)
{
    for (int i = 0; i < c->columns; i++) {
        free(c->column[i].name);
        ls__words_free(&c->column[i].words);
    }
    free(c->column);
    free(c->target.name);
    ls__words_free(&c->target.words);
    free(c->note);
    *c = (ls_coding){0};
}

void ls_coding_free(ls_coding *coding)
{
    if (!coding)
        return;
    ls__coding_clear(coding);
    free(coding);
}

/* ------ What they are ------ */

static ls_column shown(const ls__column *column)
{
    return (ls_column){.name = column->name,
                       .words = column->words.count,
                       .word = (const char *const *)column->words.word,
                       .date = ls__date_name[column->date],
                       .mean = column->mean,
                       .scale = column->scale,
                       .at = column->at};
}

bool ls_coding_column(const ls_coding *coding, int i, ls_column *column)
{
    LS__NEED_OR(coding, false);
    LS__NEED_OR(column, false);
    if (i < 0 || i >= coding->columns)
        return false;
    *column = shown(&coding->column[i]);
    return true;
}

bool ls_coding_target(const ls_coding *coding, ls_column *column)
{
    LS__NEED_OR(coding, false);
    LS__NEED_OR(column, false);
    *column = shown(&coding->target);
    return true;
}

int64_t ls_coding_width(const ls_coding *coding)
{
    LS__NEED_OR(coding, 0);
    return coding->width + (coding->window > 0);
}

int64_t ls_coding_window(const ls_coding *coding, int64_t *horizon)
{
    LS__NEED_OR(coding, 0);
    if (horizon)
        *horizon = coding->horizon;
    return coding->window;
}

const char *ls_coding_note(const ls_coding *coding)
{
    LS__NEED_OR(coding, NULL);
    return coding->note;
}

/* ------ Statistics ------ */

/* The mean and the deviation of column i, as StandardScaler takes them; a
 * column that is all the same keeps its unit. */
static void fit(ls__column *column, int64_t rows, const double *raw,
                int stride, const bool *held)
{
    double first = (double)NAN, sum = 0, squares = 0, n = 0;

    for (int64_t r = 0; r < rows; r++, raw += stride) {
        double x = *raw;

        if ((held && held[r]) || isnan(x))
            continue;
        if (isnan(first))
            first = x; /* what is close to 0 keeps its digits */
        sum += x - first;
        squares += (x - first) * (x - first);
        n++;
    }
    column->mean = n > 0 ? first + sum / n : 0;
    column->scale = n > 0 ? squares / n - sum / n * (sum / n) : 0;
    column->scale = column->scale > 0 ? sqrt(column->scale) : 1;
    if (!isfinite(column->mean) || !isfinite(column->scale)) {
        column->mean = 0;
        column->scale = 1;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int64_t n, double q)
{
    double at = q * (double)(n - 1), low = floor(at);
    const double *x = sorted + (int64_t)low;

    return at > low ? x[0] + (x[1] - x[0]) * (at - low) : x[0];
}

/* The same by median and quartiles; room is for all rows. */
static void fit_robust(ls__column *column, int64_t rows, const double *raw,
                       int stride, const bool *held, double *room)
{
    int64_t n = 0;

    for (int64_t r = 0; r < rows; r++, raw += stride)
        if (!(held && held[r]) && !isnan(*raw))
            room[n++] = *raw;
    qsort(room, (size_t)n, sizeof *room, by_value);
    column->mean = n ? quantile(room, n, 0.5) : 0;
    column->scale = n ? quantile(room, n, 0.75) - quantile(room, n, 0.25) : 0;
    if (n && !(column->scale > 0))
        column->scale = (room[n - 1] - room[0]) / 2;
    if (!(column->scale > 0) || !isfinite(column->scale))
        column->scale = 1;
}

int ls__coding_fit(ls_coding *c, int64_t rows, const double *raw,
                   const bool *held)
{
    int stride = c->columns + 1;
    double *room = NULL;

    if (c->robust && !(room = ls__new((size_t)rows, sizeof *room, "a column")))
        return LS_ENOMEM;
    for (int i = 0; i < c->columns; i++)
        if (!c->column[i].words.count && c->robust)
            fit_robust(&c->column[i], rows, raw + i, stride, held, room);
        else if (!c->column[i].words.count)
            fit(&c->column[i], rows, raw + i, stride, held);
    if (!c->target.words.count)
        fit(&c->target, rows, raw + c->columns, stride, held);
    free(room);
    return 0;
}

/* ------ Cells ------ */

/* A failure of a cell. */
static int refuse(const ls__cell *cell, const ls__column *column,
                  const char *what)
{
    if (cell->table)
        return ls__fail(LS_EFORMAT, "%s: line %lld, column %d \"%.80s\": %s",
                        cell->table->path,
                        (long long)ls_table_line(cell->table), cell->at + 1,
                        column->name, what);
    return ls__fail(LS_EFORMAT, "row %lld, column \"%.80s\": %s",
                    (long long)cell->row, column->name, what);
}

ls__cell ls__table_cell(const ls_table *t, int i)
{
    return (ls__cell){.text = ls_table_text(t, i),
                      .missing = ls_table_missing(t, i),
                      .comma = ls__table_comma(t),
                      .table = t,
                      .at = i};
}

const char *ls__cell_word(const ls__cell *cell, char room[LS__WORD])
{
    double x, again;
    ls__number n;

    if (!ls__number_read(cell->text, cell->comma, &n) || n.longer)
        return cell->text;
    x = n.value;
    if (x == floor(x) && fabs(x) < 1e15) { /* 10, not 1e+01 */
        snprintf(room, LS__WORD, "%.0f", x + 0.0);
        return room;
    }
    /* %.15g gives back what up to 15 digits say, and leaves zeros out. */
    for (int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; digits++) {
        snprintf(room, LS__WORD, "%.*g", digits, x);
        ls__real_point(room);
        if (ls__real_value(room, &again) && again == x)
            break;
    }
    return room;
}

static int read_word(const ls_coding *c, const ls__column *column,
                     const ls__cell *cell, double *raw)
{
    char room[LS__WORD], what[LS__MESSAGE];
    int place = ls__words_find(column->words.word, column->words.count,
                               ls__cell_word(cell, room));

    *raw = place < 0 ? (double)NAN : place;
    if (place >= 0)
        return 0;
    snprintf(what, sizeof what, "\"%.300s\" is none of the %d word%s trained on"
             "%s", cell->text, column->words.count, ls__s(column->words.count),
             c->impute && column != &c->target
                 ? "; an empty field is a missing value" : "");
    return refuse(cell, column, what);
}

static int read_number(const ls__column *column, const ls__cell *cell,
                       double *raw)
{
    char what[LS__MESSAGE], hint[LS__MESSAGE];

    if (ls__number_value(cell->text, cell->comma, raw))
        return 0;
    ls__look_hint(cell->text, column->name,
                  cell->table ? cell->table->csv.separator : ',', sizeof hint,
                  hint);
    snprintf(what, sizeof what, "\"%.80s\" is no number%s%.300s", cell->text,
             *hint ? "; it may be " : "", hint);
    return refuse(cell, column, what);
}

static int read_date(const ls__column *column, const ls__cell *cell,
                     double *raw)
{
    double part[LS__DATE_PARTS];
    char what[LS__MESSAGE];

    if (ls__date_read(cell->text, part)) {
        *raw = part[column->date];
        return 0;
    }
    snprintf(what, sizeof what, "\"%.80s\" is no date, as 2026-11-25 is",
             cell->text);
    return refuse(cell, column, what);
}

int ls__cell_missing(const ls_coding *c, const ls__column *column,
                     const ls__cell *cell)
{
    return refuse(cell, column,
                  column == &c->target
                      ? "the value is missing"
                      : "the value is missing; a model trained with --missing "
                        "mean puts the mean in its place");
}

int ls__cell_value(const ls_coding *c, const ls__column *column,
                   const ls__cell *cell, double *raw)
{
    if (cell->missing) {
        *raw = (double)NAN;
        return c->impute && column != &c->target
                   ? 0 : ls__cell_missing(c, column, cell);
    }
    if (column->words.count)
        return read_word(c, column, cell, raw);
    return column->date ? read_date(column, cell, raw)
                        : read_number(column, cell, raw);
}

/* ------ Rows ------ */

int ls__order_check(ls__order *o, const ls_table *t)
{
    double part[LS__DATE_PARTS];
    const char *text;

    for (int i = 0; !o->rows && !o->column && i < t->columns; i++)
        o->column = ls__date_read(ls_table_text(t, i), part) ? i + 1 : 0;
    o->rows++;
    text = o->column ? ls_table_text(t, o->column - 1) : NULL;
    if (!text || !ls__date_read(text, part))
        return 0;
    if (o->rows > 1 && part[LS__DAYS] < o->last)
        return ls__fail(LS_EFORMAT, "%s: line %lld, column %d \"%.40s\": "
                        "\"%.40s\" is before the row above, and the rows of a "
                        "series follow each other in time: { head -n 1 FILE; "
                        "tail -n +2 FILE | sort -s -t '%c' -k %d,%d; } >NEW "
                        "sorts dates as 2026-11-25", t->path,
                        (long long)ls_table_line(t), o->column,
                        t->name[o->column - 1], text, t->csv.separator,
                        o->column, o->column);
    o->last = part[LS__DAYS];
    return 0;
}

int ls__coding_map(const ls_coding *c, const ls_table *t, bool target,
                   int *map)
{
    for (int i = 0; i < c->columns + target; i++) {
        map[i] = ls_table_find(t, ls__coding_input(c, i)->name);
        if (map[i] < 0)
            return map[i];
    }
    return 0;
}

int ls__coding_row(const ls_coding *c, const ls_table *t, const int *map,
                   bool target, double *raw)
{
    int status = 0;

    for (int i = 0; i < c->columns + target && status == 0; i++) {
        ls__cell cell = ls__table_cell(t, map[i]);

        status = ls__cell_value(c, ls__coding_input(c, i), &cell, &raw[i]);
    }
    return status;
}

bool ls__coding_inputs(const ls_coding *c, const double *raw, float *x)
{
    bool finite = true;

    for (int i = 0; i < c->columns; i++) {
        const ls__column *column = &c->column[i];
        float *to = x + column->at;

        for (int k = 0; k < column->words.count; k++)
            to[k] = raw[i] == k;
        if (!column->words.count) {
            *to = isnan(raw[i])
                      ? 0
                      : (float)((raw[i] - column->mean) / column->scale);
            finite = finite && isfinite(*to);
        }
    }
    if (c->window) {
        x[c->width] = (float)((raw[c->columns] - c->target.mean) /
                              c->target.scale);
        finite = finite && isfinite(x[c->width]);
    }
    return finite;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions for the rows of a table, or of a program: values become inputs
 * some rows at a time, outputs probabilities or numbers in the target's
 * unit. */
#include "base/error.h"
#include "base/memory.h"
#include "table/table_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------ Outputs ------ */

static int largest(int n, const float *y)
{
    int top = 0;

    for (int i = 1; i < n; i++)
        if (y[i] > y[top])
            top = i;
    return top;
}

/* The class of the largest logit, and softmax of all. */
static int classes(int n, const float *y, double *out)
{
    int top = largest(n, y);
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += exp((double)y[i] - (double)y[top]);
    for (int i = 0; i < n; i++)
        out[i] = exp((double)y[i] - (double)y[top]) / sum;
    return top;
}

static void show(const ls_coding *c, int64_t rows, const float *y, double *out,
                 int *best)
{
    int n = c->target.words.count, top;

    for (int64_t i = 0; i < rows; i++) {
        if (!n) {
            out[i] = (double)y[i] * c->target.scale + c->target.mean;
            continue;
        }
        top = classes(n, y + i * n, out + i * n);
        if (best)
            best[i] = top;
    }
}

/* Predict the rows that are in t->x. */
static int predict(ls_table_context *t, int64_t rows, double *out, int *best)
{
    const ls_table_model *m = t->model;
    int64_t outputs = ls__coding_outputs(m->coding);
    int status = ls_context_set(t->context, m->in.name, m->in.dtype, t->x,
                                rows);

    if (status == 0)
        status = ls_context_predict(t->context, m->out.name, rows * outputs,
                                    t->y);
    if (status == 0)
        show(m->coding, rows, t->y, out, best);
    return status;
}

/* ------ Rows of a program ------ */

/* The rows given: one of the two. */
typedef struct given {
    int columns;
    const char *const *cell; /* text */
    const double *number;    /* numbers, and words for columns of text */
    const char *const *word;
} given;

static int text_value(const ls_coding *c, const ls__column *column,
                      const char *text, int64_t row, double *raw)
{
    ls__cell cell = {.text = text, .row = row};

    cell.missing = !text || ls__table_missing(text);
    return ls__cell_value(c, column, &cell, raw);
}

static int double_value(const ls_coding *c, int k, const given *g, int64_t row,
                        double *raw)
{
    const ls__column *column = &c->column[k];
    ls__cell cell = {.row = row};

    if (column->words.count) {
        cell.text = g->word[row * c->columns + k];
        cell.missing = !cell.text || !*cell.text;
        return ls__cell_value(c, column, &cell, raw);
    }
    *raw = g->number[row * c->columns + k];
    return isnan(*raw) && !c->impute ? ls__cell_missing(c, column, &cell) : 0;
}

/* Row `row` as row i of the inputs. */
static int take_row(ls_table_context *t, const given *g, int64_t row, int64_t i)
{
    const ls_coding *c = t->model->coding;
    int status = 0;

    for (int k = 0; k < c->columns && status == 0; k++)
        status = g->cell
                     ? text_value(c, &c->column[k],
                                  g->cell[row * g->columns + t->map[k]], row,
                                  &t->raw[k])
                     : double_value(c, k, g, row, &t->raw[k]);
    if (status < 0 || ls__coding_inputs(c, t->raw, t->x + i * c->width))
        return status;
    return ls__fail(LS_EFORMAT, "row %lld: a value is too far from those that "
                    "the model was trained on", (long long)row);
}

static int predict_rows(ls_table_context *t, const given *g, int64_t rows,
                        double *out, int *best)
{
    int64_t outputs = ls__coding_outputs(t->model->coding);
    int status = 0;

    for (int64_t row = 0, n; row < rows && status == 0; row += n) {
        n = rows - row < LS__TABLE_ROWS ? rows - row : LS__TABLE_ROWS;
        for (int64_t i = 0; i < n && status == 0; i++)
            status = take_row(t, g, row + i, i);
        if (status == 0)
            status = predict(t, n, out + row * outputs,
                             best ? best + row : NULL);
    }
    return status;
}

static int check_rows(const ls_table_context *t, int64_t rows)
{
    int64_t window = t->model->coding->window;

    if (window)
        return ls__fail(LS_ENOTSUP, "the model is of a series and sees windows "
                        "of %lld rows: it takes a table", (long long)window);
    return rows >= 0 ? 0 : ls__fail(LS_EINVAL, "%lld rows", (long long)rows);
}

static int map_names(ls_table_context *t, int columns, const char *const *name,
                     const int *sorted)
{
    const ls_coding *c = t->model->coding;

    for (int k = 0; k < c->columns; k++) {
        t->map[k] = ls__find_text(columns, name, sorted, c->column[k].name);
        if (t->map[k] < 0)
            return ls__no_text("the rows", " have", columns, name,
                               c->column[k].name);
    }
    return 0;
}

/* Finds the model's columns among the names. */
static int find_names(ls_table_context *t, int columns, const char *const *name)
{
    int *sorted, same, status;

    for (int i = 0; i < columns; i++)
        if (!name[i])
            return ls__fail(LS_EINVAL, "column %d has no name", i);
    if (!(sorted = ls__sort_texts(columns, name, &same)))
        return LS_ENOMEM;
    status = same < 0 ? map_names(t, columns, name, sorted)
                      : ls__fail(LS_EINVAL, "two columns are named \"%.80s\"",
                                 name[same]);
    free(sorted);
    return status;
}

int ls_table_predict_text(ls_table_context *context, int64_t rows, int columns,
                          const char *const *name, const char *const *cell,
                          double *out, int *best)
{
    LS__NEED(context);
    LS__NEED(name);
    LS__NEED(cell);
    LS__NEED(out);

    given g = {.columns = columns, .cell = cell};
    int status = check_rows(context, rows);

    if (status == 0 && columns < 0)
        status = ls__fail(LS_EINVAL, "%d columns", columns);
    if (status == 0)
        status = find_names(context, columns, name);
    return status == 0 ? predict_rows(context, &g, rows, out, best) : status;
}

/* Is what the columns need there? */
static int check_given(const ls_coding *c, const given *g)
{
    for (int k = 0; k < c->columns; k++) {
        bool text = c->column[k].words.count > 0;

        if (text ? !g->word : !g->number)
            return ls__fail(LS_EINVAL, "no %s are given, and column \"%.80s\" "
                            "is of %s", text ? "words" : "numbers",
                            c->column[k].name, text ? "text" : "numbers");
    }
    return 0;
}

int ls_table_predict_doubles(ls_table_context *context, int64_t rows,
                             const double *number, const char *const *word,
                             double *out, int *best)
{
    LS__NEED(context);
    LS__NEED(out);

    given g = {.number = number, .word = word};
    int status = check_rows(context, rows);

    if (status == 0)
        status = check_given(context->model->coding, &g);
    return status == 0 ? predict_rows(context, &g, rows, out, best) : status;
}

/* ------ Rows of a table ------ */

int ls_table_predict_from(ls_table_context *context, ls_table *table)
{
    LS__NEED(context);
    LS__NEED(table);

    const ls_coding *c = context->model->coding;

    context->table = NULL;
    context->seen = 0;
    context->order = (ls__order){0};
    if (ls__coding_map(c, table, c->window > 0, context->map) < 0)
        return LS_ENOTFOUND;
    context->table = table;
    return 0;
}

/* The inputs of a row, finite too. */
static int code_row(const ls_table_context *t, float *x)
{
    if (ls__coding_inputs(t->model->coding, t->raw, x))
        return 0;
    return ls__fail(LS_EFORMAT, "%s: line %lld: a value is too far from those "
                    "that the model was trained on", t->table->path,
                    (long long)ls_table_line(t->table));
}

/* The rows of a series move up by one. */
static int add_last(ls_table_context *t)
{
    int64_t width = ls_coding_width(t->model->coding);
    int64_t rows = t->model->coding->window;

    memmove(t->last, t->last + width,
            (size_t)((rows - 1) * width) * sizeof *t->last);
    t->seen++;
    return code_row(t, t->last + (rows - 1) * width);
}

/* The table's row as row *n of the inputs, if there are enough for a window. */
static int take_field_row(ls_table_context *t, int64_t *n)
{
    const ls_coding *c = t->model->coding;
    int64_t size = c->window * ls_coding_width(c);
    int status = c->window ? ls__order_check(&t->order, t->table) : 0;

    if (status == 0)
        status = ls__coding_row(c, t->table, t->map, c->window > 0, t->raw);
    if (status == 0)
        status = c->window ? add_last(t) : code_row(t, t->x + *n * c->width);
    if (status < 0 || t->seen < c->window)
        return status;
    if (c->window)
        memcpy(t->x + *n * size, t->last, (size_t)size * sizeof *t->x);
    ++*n;
    return 0;
}

/* The end of the table. */
static int check_end(const ls_table_context *t)
{
    int64_t window = t->model->coding->window;

    return t->seen < window
               ? ls__fail(LS_EFORMAT, "%s: %lld row%s; the model sees windows "
                          "of %lld", t->table->path, (long long)t->seen,
                          ls__s(t->seen), (long long)window)
               : 0;
}

int ls_table_predict_next(ls_table_context *context, int64_t most,
                          int64_t *rows, double *out, int *best)
{
    LS__NEED(context);
    LS__NEED(rows);
    LS__NEED(out);

    ls_table_context *t = context;
    int64_t n = 0;
    int next = 1, status = 0;

    if (!t->table || most < 1)
        return ls__fail(LS_EINVAL, "ls_table_predict_next: %s",
                        t->table ? "no rows are asked for" : "there is no "
                        "table; see ls_table_predict_from");
    most = most < LS__TABLE_ROWS ? most : LS__TABLE_ROWS;
    while (status == 0 && n < most && (next = ls_table_next(t->table)) > 0)
        status = take_field_row(t, &n);
    if (status == 0 && next <= 0)
        status = next < 0 ? next : check_end(t);
    if (status == 0 && n > 0)
        status = predict(t, n, out, best);
    if (status == 0)
        *rows = n;
    return status;
}

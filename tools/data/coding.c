/* Columns to numbers.  coding_learn.c finds out what they are. */
#include "data/coding.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void coding_free(coding *c)
{
    for (int i = 0; i < c->columns; i++) {
        free(c->column[i].name);
        words_free(&c->column[i].words);
    }
    free(c->column);
    free(c->target.name);
    words_free(&c->target.words);
    *c = (coding){0};
}

/* ------ Statistics ------ */

/* The mean and the deviation of column i, as StandardScaler takes them; a
 * column that is all the same keeps its unit. */
static void fit(coding_column *column, int64_t rows, const double *raw,
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

void coding_fit(coding *c, int64_t rows, const double *raw, const bool *held)
{
    int stride = c->columns + 1;

    for (int i = 0; i < c->columns; i++)
        if (!c->column[i].words.count)
            fit(&c->column[i], rows, raw + i, stride, held);
    if (!c->target.words.count)
        fit(&c->target, rows, raw + c->columns, stride, held);
}

/* ------ Rows ------ */

static int find_column(const ls_table *t, const char *name)
{
    int i = 0;

    while (ls_table_column(t, i) && strcmp(ls_table_column(t, i), name))
        i++;
    return ls_table_column(t, i) ? i : -1;
}

int coding_map(const coding *c, ls_table *t, const char *path, bool target,
               int *map)
{
    for (int i = 0; i < c->columns + target; i++) {
        const char *name = i < c->columns ? c->column[i].name : c->target.name;

        map[i] = find_column(t, name);
        if (map[i] < 0)
            return opt_fail(OPT_WRONG, "%s: has no column \"%s\"", path, name);
    }
    return OPT_GO;
}

static int unknown(const coding_column *column, ls_table *t, const char *path,
                   int i)
{
    return opt_fail(OPT_FAILED, "%s: line %lld, column %d \"%s\": \"%s\" is "
                    "none of the %d words trained on", path,
                    (long long)ls_table_line(t), i + 1, column->name,
                    ls_table_text(t, i), column->words.count);
}

const char *coding_word(ls_table *t, int i, char room[CODING_WORD])
{
    double x;

    if (ls_table_number(t, i, &x) < 0)
        return ls_table_text(t, i);
    if (x == floor(x) && fabs(x) < 1e15) { /* 10, not 1e+01 */
        snprintf(room, CODING_WORD, "%.0f", x + 0.0);
        return room;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(room, CODING_WORD, "%.*g", digits, x);
        if (strtod(room, NULL) == x)
            break;
    }
    return room;
}

static int read_word(const coding *c, const coding_column *column, ls_table *t,
                     const char *path, int i, double *raw)
{
    char room[CODING_WORD];
    int place = words_find(column->words.word, column->words.count,
                           coding_word(t, i, room));

    if (place < 0 && !c->impute)
        return unknown(column, t, path, i);
    *raw = place < 0 ? (double)NAN : place;
    return OPT_GO;
}

static int read_field(const coding *c, const coding_column *column, ls_table *t,
                      const char *path, int i, double *raw)
{
    bool is_target = column == &c->target;

    *raw = (double)NAN;
    if (ls_table_missing(t, i))
        return c->impute && !is_target
                   ? OPT_GO
                   : opt_fail(OPT_FAILED,
                              "%s: line %lld, column %d \"%s\": the "
                              "value is missing%s",
                              path, (long long)ls_table_line(t), i + 1,
                              column->name,
                              is_target ? ""
                                        : "; a model trained with --missing "
                                          "mean puts the mean in its place");
    if (column->words.count)
        return read_word(c, column, t, path, i, raw);
    return opt_check(ls_table_number(t, i, raw));
}

int coding_read(const coding *c, ls_table *t, const char *path, const int *map,
                bool target, double *raw)
{
    int status = OPT_GO;

    for (int i = 0; i < c->columns + target && status == OPT_GO; i++)
        status = read_field(c, i < c->columns ? &c->column[i] : &c->target, t,
                            path, map[i], &raw[i]);
    return status;
}

void coding_inputs(const coding *c, const double *raw, float *x)
{
    for (int i = 0; i < c->columns; i++) {
        const coding_column *column = &c->column[i];
        float *to = x + column->at;

        for (int k = 0; k < column->words.count; k++)
            to[k] = raw[i] == k;
        if (!column->words.count)
            *to = isnan(raw[i])
                      ? 0
                      : (float)((raw[i] - column->mean) / column->scale);
    }
    if (c->window)
        x[c->width] = (float)((raw[c->columns] - c->target.mean) /
                              c->target.scale);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions of a saved model of a table, in the form of lockstep-predict:
 * ask_table text|doubles MODEL TABLE.  As text each row is asked by itself, its
 * columns backwards; as doubles all are asked at once. table.sh compares the
 * two programs. */
#include <lockstep/columns.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ls_table *table;
static ls_table_context *context;
static ls_column target;

static int fail(void)
{
    fprintf(stderr, "ask_table: %s\n", ls_errmsg());
    exit(1);
}

/* Print what stands before the first row. */
static void print_head(void)
{
    static bool done;

    if (done)
        return;
    done = true;
    printf("%s", target.name);
    for (int k = 0; k < target.words; k++)
        printf(",p_%s", target.word[k]);
    putchar('\n');
}

static void print_row(const double *out, int best)
{
    print_head();
    if (target.words)
        printf("%s", target.word[best]);
    else
        printf("%.9g", out[0]);
    for (int k = 0; k < target.words; k++)
        printf(",%.6g", out[k]);
    putchar('\n');
}

/* Room that is as good as leaked: the program ends soon. */
static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        exit(1);
    return p;
}

static double *room_for_outputs(size_t rows)
{
    return room(rows * (target.words ? (size_t)target.words : 1),
                sizeof(double));
}

static void ask_text(void)
{
    int n = ls_table_columns(table), next, best = 0;
    const char **name = room((size_t)n, sizeof *name);
    const char **cell = room((size_t)n, sizeof *cell);
    double *out = room_for_outputs(1);

    for (int i = 0; i < n; i++)
        name[i] = ls_table_column(table, n - 1 - i);
    while ((next = ls_table_next(table)) > 0) {
        for (int i = 0; i < n; i++)
            cell[i] = ls_table_text(table, n - 1 - i);
        if (ls_table_predict_text(context, 1, n, name, cell, out, &best) < 0)
            fail();
        print_row(out, best);
    }
    if (next < 0)
        fail();
    free(name);
    free(cell);
    free(out);
}

/* A field as a number, NaN where it is missing. */
static double number_of(const char *name)
{
    int i = ls_table_find(table, name);
    double x = (double)NAN;

    if (i < 0 || (!ls_table_missing(table, i) &&
                  ls_table_number(table, i, &x) < 0))
        fail();
    return x;
}

static char *word_of(const char *name)
{
    int i = ls_table_find(table, name);

    if (i < 0)
        fail();
    return ls_table_missing(table, i) ? NULL : strdup(ls_table_text(table, i));
}

enum { MOST = 1000, COLUMNS = 64 };

static void ask_doubles(const ls_coding *coding)
{
    static double number[MOST * COLUMNS];
    static char *word[MOST * COLUMNS];
    static int best[MOST];
    int columns = 0, rows = 0, at = 0;
    ls_column c;
    double *out;

    while (ls_coding_column(coding, columns, &c))
        columns++;
    for (; rows < MOST && ls_table_next(table) > 0; rows++)
        for (int i = 0; ls_coding_column(coding, i, &c); i++, at++)
            if (c.words)
                word[at] = word_of(c.name);
            else
                number[at] = number_of(c.name);
    out = room_for_outputs((size_t)rows);
    if (ls_table_predict_doubles(context, rows, number,
                                 (const char *const *)word, out, best) < 0)
        fail();
    for (int i = 0; i < rows; i++)
        print_row(out + i * (target.words ? target.words : 1), best[i]);
    for (int i = 0; i < at; i++)
        free(word[i]);
    free(out);
}

int main(int argc, char **argv)
{
    ls_table_model *model;

    if (argc != 4)
        return 2;
    if (ls_table_model_open(&model, argv[2], NULL) < 0 ||
        ls_table_context_open(&context, model, NULL) < 0 ||
        ls_table_open(&table, argv[3]) < 0)
        return fail();
    ls_coding_target(ls_table_model_coding(model), &target);
    if (!strcmp(argv[1], "text"))
        ask_text();
    else
        ask_doubles(ls_table_model_coding(model));
    ls_table_close(table);
    ls_table_context_close(context);
    ls_table_model_close(model);
    return 0;
}

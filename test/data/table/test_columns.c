/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of tables: what is learned of a table's columns, a model that is saved
 * and opened again, and its predictions for rows of text, of numbers and of a
 * table, which are the same. */
#define _GNU_SOURCE
#include "fixture.h"
#include "folder.h"

#include <lockstep/columns.h>

#include <math.h>

/* ------ How often texts are compared ------ */

static int64_t compared;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

int __wrap_strcmp(const char *a, const char *b)
{
    compared++;
    return __real_strcmp(a, b);
}

/* ------ Tables ------ */

static const char *put_table(const char *name, const char *text)
{
    const char *path = in_folder(name);

    put_file(path, text, strlen(text));
    return path;
}

/* Shapes by colour and two lengths, of which some are missing. */
static const char shapes[] = "colour,long,wide,shape\n"
                             "red,1.5,2,round\n"
                             "red,2.5,NA,square\n"
                             "green,,3,square\n"
                             "blue,4,1,round\n"
                             "green,1,1.25,flat\n"
                             "blue,3,3,round\n";

static ls_table_data *open_data(const char *path, const char *target,
                                bool mean)
{
    ls_table_data_options o = ls_table_data_defaults();
    ls_table_data *d;

    o.target = target;
    o.missing_mean = mean;
    OK(ls_table_data_open(&d, path, &o));
    return d;
}

/* ------ Models ------ */

static ls_trainer *open_trainer(ls_pool *pool, int64_t width, int classes)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    ls_trainer *t;

    ls_node *x = ls_input(g, "x", LS_F32, 1, &width);
    ls_node *y = classes ? ls_input(g, "y", LS_I32, 0, NULL)
                         : ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *out = ls_dense(ls_relu(ls_dense(x, 8, "hidden")),
                            classes ? classes : 1, "out");
    OK(ls_output(g, out, "out"));
    OK(ls_loss(g, classes ? ls_cross_entropy(out, y)
                          : ls_mean_squared_error(out, y)));
    o.optimizer = ls_adam(0.05);
    OK(ls_trainer_open(&t, pool, g, &o));
    ls_graph_free(g);
    return t;
}

static void train(ls_trainer *t, const ls_array *x, const ls_array *y)
{
    ls_batch *b;
    ls_result r;

    OK(ls_batch_open(&b, t));
    OK(ls_batch_set(b, "x", LS_F32, x->data, x->shape[0]));
    OK(ls_batch_set(b, "y", y->dtype, y->data, y->shape[0]));
    for (int i = 0; i < 20; i++)
        OK(ls_step(t, b, &r));
    ls_batch_close(b);
}

/* Train on all of a table and save the model beside it. */
static const char *save_model(const char *table, const char *target, bool mean)
{
    ls_table_data *d = open_data(table, target, mean);
    const ls_coding *c = ls_table_data_coding(d);
    const char *path = in_folder("model.st");
    ls_pool *pool = open_pool(2, 1);
    ls_array x, y;
    ls_column goal;

    ck_assert_ptr_null(ls_coding_note(c));
    OK(ls_table_data_take(d, NULL, &x, &y));
    FAILS(ls_table_data_take(d, NULL, &x, &y), LS_EINVAL, "were taken");
    ck_assert(ls_coding_target(c, &goal));
    ck_assert_int_eq(x.shape[1], ls_coding_width(c));
    ls_trainer *t = open_trainer(pool, x.shape[1], goal.words);
    train(t, &x, &y);
    OK(save_noted(LS_SAVE_MODEL, t, path, 1,
                  &(ls_setting){LS_CODING_NOTE, ls_coding_note(c)}));
    ls_trainer_close(t);
    ls_pool_close(pool);
    ls_array_free(&x);
    ls_array_free(&y);
    ls_table_data_close(d);
    return path;
}

static struct {
    ls_table_model *model;
    ls_table_context *context;
} at;

static void open_model(const char *table, const char *target, bool mean)
{
    OK(ls_table_model_open(&at.model, save_model(table, target, mean), NULL));
    OK(ls_table_context_open(&at.context, at.model, NULL));
}

static void close_model(void)
{
    ls_table_context_close(at.context);
    ls_table_model_close(at.model);
}

/* All rows of a table; returns how many. */
static int64_t ask_table(const char *path, double *out, int *best)
{
    int64_t n = 0, all = 0;
    ls_table *t;

    OK(ls_table_open(&t, path));
    OK(ls_table_predict_from(at.context, t));
    do {
        OK(ls_table_predict_next(at.context, 2, &n, out + 3 * all, best + all));
        all += n;
    } while (n > 0);
    ls_table_close(t);
    return all;
}

/* ------ What was learned ------ */

/* Proves that columns of text and numbers are told apart, with their words in
 * order and their means. */
TEST(test_learned)
{
    ls_table_data *d;
    ls_column c;
    ls_array x, y;

    folder_open();
    d = open_data(put_table("t.csv", shapes), NULL, true);
    const ls_coding *coding = ls_table_data_coding(d);
    ck_assert_int_eq(ls_table_data_rows(d), 6);
    OK(ls_table_data_take(d, (bool[]){0, 0, 0, 0, 0, 1}, &x, &y));
    ck_assert_int_eq(ls_coding_width(coding), 5);
    ck_assert_int_eq(ls_coding_window(coding, NULL), 0);
    ck_assert(ls_coding_column(coding, 0, &c));
    ck_assert_str_eq(c.name, "colour");
    ck_assert_int_eq(c.words, 3);
    ck_assert_str_eq(c.word[0], "blue");
    ck_assert_str_eq(c.word[2], "red");
    ck_assert(ls_coding_column(coding, 1, &c));
    ck_assert_str_eq(c.name, "long");
    ck_assert_int_eq(c.words, 0);
    ck_assert_int_eq(c.at, 3);
    ck_assert(c.mean == 2.25); /* of 1.5, 2.5, 4 and 1 */
    ck_assert(!ls_coding_column(coding, 3, &c));
    ck_assert(ls_coding_target(coding, &c));
    ck_assert_str_eq(c.name, "shape");
    ck_assert_str_eq(c.word[1], "round");
    ck_assert_int_eq(((int32_t *)y.data)[1], 2);
    ck_assert(((float *)x.data)[2] == 1 && ((float *)x.data)[0] == 0);
    ck_assert(((float *)x.data)[2 * 5 + 3] == 0); /* missing: the mean */
    ls_array_free(&x);
    ls_array_free(&y);
    ls_table_data_close(d);
    folder_close();
}

static const struct {
    const char *text, *target;
    bool mean;
    int status;
    const char *words;
} no_tables[] = {
    {shapes, NULL, false, LS_EFORMAT, "line 4, column \"long\": the value is "
     "missing, as in 1 of 6 rows; option missing mean"},
    {shapes, "sort", true, LS_EINVAL, "option target: "},
    {shapes, "long", true, LS_EFORMAT, "this is the target"},
    {"a,b\n", NULL, false, LS_EFORMAT, "is empty"},
    {"a,b\n1,2\n", "a,b", false, LS_EINVAL, "has no column \"a,b\""},
    {"a,b,c\nNA,1,2\n,2,3\n?,3,4\n", NULL, true, LS_EFORMAT,
     "column \"a\": the value is missing in all of 3 rows; option ignore"},
    {"a,b\n1,2\n2,x\n3,4\n", NULL, false, LS_EFORMAT, "\"x\" is no number"},
    {"a,b\n2026-11-25,2\n3,x\n2026-11-26,4\n", NULL, false, LS_EFORMAT,
     "line 3: \"3\" is no date, as 2 of the 3 values of \"a\" are"},
    {shapes, "shap", true, LS_EINVAL, "the nearest is \"shape\""},
};

/* days, year, month, day, weekday, yearday, hour; year 0: no date */
static const struct {
    const char *text;
    ls_date is;
} dates[] = {
    {"2026-11-25", {20782, 2026, 11, 25, 3, 329, 0}},
    {"1969-12-31", {-1, 1969, 12, 31, 3, 365, 0}},
    {"2000-02-29T06:00", {11016.25, 2000, 2, 29, 2, 60, 6}},
    {"1900-03-01 23:59:30.5",
     {-25508 + 86370.5 / 86400, 1900, 3, 1, 4, 60, 86370.5 / 3600}},
    {"2026-01-01T00:30:00+02:00",
     {20454 - 1.5 / 24, 2026, 1, 1, 4, 1, 0.5}},
    {"2026-01-01T12:00Z", {20454.5, 2026, 1, 1, 4, 1, 12}},
    {"2026-01-01T12:00-0630", {20454 + 18.5 / 24, 2026, 1, 1, 4, 1, 12}},
    {"9999-12-31", {2932896, 9999, 12, 31, 5, 365, 0}},
    {"0001-01-01", {-719162, 1, 1, 1, 1, 1, 0}},
    {"1900-02-29", {0}}, {"2026-13-01", {0}}, {"2026-11-31", {0}},
    {"26-11-25", {0}}, {"2026-1-1", {0}}, {"2026-11-25x", {0}},
    {"2026-11-25T", {0}}, {"2026-11-25T24:00", {0}}, {"20261125", {0}},
    {"2026-11-25 1:00", {0}}, {"2026-11-25T01:00+02:", {0}},
    {"2026-11-25T01:00:61", {0}}, {"0000-01-01", {0}}, {"", {0}},
};

/* Proves what a date becomes, and what is none. */
LOOP_TEST(test_dates, 0, sizeof dates / sizeof *dates)
{
    const ls_date *want = &dates[_i].is;
    ls_date date;

    ck_assert_int_eq(ls_date_read(&date, dates[_i].text), want->year > 0);
    if (want->year == 0)
        return;
    ck_assert_double_eq_tol(date.days, want->days, 1e-9);
    ck_assert_double_eq(date.year, want->year);
    ck_assert_double_eq(date.month, want->month);
    ck_assert_double_eq(date.day, want->day);
    ck_assert_double_eq(date.weekday, want->weekday);
    ck_assert_double_eq(date.yearday, want->yearday);
    ck_assert_double_eq_tol(date.hour, want->hour, 1e-9);
}

/* Proves that a column of dates is several of numbers, of those in which its
 * rows differ, in the note, too; and that rows of text and numbers agree. */
TEST(test_date_columns)
{
    static const char *const part[] = {"days", "day", "weekday", "yearday"};
    ls_table_data *d = NULL;
    ls_coding *again;
    ls_column c;
    ls_array x, y;

    folder_open();
    d = open_data(put_table("t.csv", "when,n\n2026-11-25,1\n2026-11-27,2\n"
                                     "2026-11-30,4\n"), NULL, false);
    OK(ls_table_data_take(d, NULL, &x, &y));
    ck_assert_int_eq(x.shape[1], 4);
    OK(ls_coding_read(&again, ls_coding_note(ls_table_data_coding(d)), "note"));
    for (int i = 0; i < 4; i++) {
        ck_assert(ls_coding_column(again, i, &c));
        ck_assert_str_eq(c.name, "when");
        ck_assert_str_eq(c.date, part[i]);
        ck_assert_int_eq(c.at, i);
    }
    ck_assert_double_eq_tol(c.mean, (329 + 331 + 334) / 3.0, 1e-9);
    FAILS(ls_coding_read(&again, "{\"version\":1,\"missing\":\"mean\","
                         "\"inputs\":[{\"name\":\"a\",\"date\":\"week\","
                         "\"mean\":0,\"scale\":1}],\"target\":{\"name\":"
                         "\"b\",\"mean\":0,\"scale\":1}}", "note"),
          LS_EFORMAT, "at \"a\": its date is no part of one");
    ls_coding_free(again);
    ls_array_free(&x);
    ls_array_free(&y);
    ls_table_data_close(d);
    folder_close();
}

/* Proves that what cannot be learned is refused, with what there is to do. */
LOOP_TEST(test_refused_tables, 0, sizeof no_tables / sizeof *no_tables)
{
    ls_table_data_options o = ls_table_data_defaults();
    ls_table_data *d;

    folder_open();
    o.target = no_tables[_i].target;
    o.missing_mean = no_tables[_i].mean;
    FAILS(ls_table_data_open(&d, put_table("t.csv", no_tables[_i].text), &o),
          no_tables[_i].status, no_tables[_i].words);
    folder_close();
}

TEST(test_refused_options)
{
    ls_table_data_options o = ls_table_data_defaults();
    const char *path;
    ls_table_data *d;

    folder_open();
    path = put_table("t.csv", shapes);
    o.task = (ls_table_task)7;
    FAILS(ls_table_data_open(&d, path, &o), LS_EINVAL, "task 7");
    o = ls_table_data_defaults();
    o.horizon = 2;
    FAILS(ls_table_data_open(&d, path, &o), LS_EINVAL, "horizon of 2");
    o = ls_table_data_defaults();
    o.ignore = "long,shape";
    FAILS(ls_table_data_open(&d, path, &o), LS_EINVAL, "is the target");
    o.ignore = "long,,wide";
    FAILS(ls_table_data_open(&d, path, &o), LS_EINVAL, "no column \"\"");
    o.ignore = "wide";
    o.target = "shape";
    FAILS(ls_table_data_open(&d, path, &o), LS_EFORMAT, "column \"long\"");
    folder_close();
}

/* ------ Predictions ------ */

/* Proves that a row gets the same as text, in any order of the columns, as
 * numbers with words, and from a table. */
TEST(test_three_ways)
{
    static const char *const name[] = {"wide", "what else", "colour", "long"};
    static const char *const cell[] = {"2.0", "?", "red", "1.50"};
    static const char *const word[] = {"red", NULL, NULL};
    double table[3 * 6], text[3], numbers[3];
    int first[6], second, third;

    folder_open();
    open_model(put_table("t.csv", shapes), NULL, true);
    ck_assert_int_eq(ask_table(in_folder("t.csv"), table, first), 6);
    OK(ls_table_predict_text(at.context, 1, 4, name, cell, text, &second));
    OK(ls_table_predict_doubles(at.context, 1, (double[]){0, 1.5, 2}, word,
                                numbers, &third));
    ck_assert_mem_eq(text, table, sizeof text);
    ck_assert_mem_eq(numbers, table, sizeof numbers);
    ck_assert_int_eq(second, first[0]);
    ck_assert_int_eq(third, first[0]);
    ck_assert(fabs(text[0] + text[1] + text[2] - 1) < 1e-12);
    close_model();
    folder_close();
}

/* Proves that many rows are what each is by itself, missing values too. */
TEST(test_many_rows)
{
    enum { MANY = 600 };
    static const char *const name[] = {"colour", "long", "wide"};
    static const char *const colour[] = {"red", "green", "",
                                         "blue", NULL, "NA"};
    static const char *const number[] = {"1", "2.5", "nan", "4e0", "-3"};
    static const char *cell[MANY][3];
    static double all[MANY][3], one[3];

    folder_open();
    open_model(put_table("t.csv", shapes), NULL, true);
    for (int i = 0; i < MANY; i++) {
        cell[i][0] = colour[i % 6];
        cell[i][1] = number[i % 5];
        cell[i][2] = number[i % 4];
    }
    OK(ls_table_predict_text(at.context, MANY, 3, name, cell[0], all[0], NULL));
    for (int i = 0; i < MANY; i += 37) {
        OK(ls_table_predict_text(at.context, 1, 3, name, cell[i], one, NULL));
        ck_assert_mem_eq(one, all[i], sizeof one);
    }
    close_model();
    folder_close();
}

/* Proves that a regression's predictions are in the unit of its target, and
 * that a word that is a number is one however it is written. */
TEST(test_regression)
{
    static const char text[] = "size,floor,price\n"
                               "10,1,1000\n20,1,2000\n30,x,3000\n"
                               "40,y,4000\n50,x,5000\n60,y,6000\n70,x,7000\n";
    static const char *const name[] = {"floor", "size"};
    double a, b, table[3 * 7];
    int best[7];

    folder_open();
    open_model(put_table("t.csv", text), "price", false);
    ask_table(in_folder("t.csv"), table, best);
    OK(ls_table_predict_text(at.context, 1, 2, name,
                             (const char *const[]){"1.0", "20"}, &a, NULL));
    OK(ls_table_predict_doubles(at.context, 1, (double[]){20, 0},
                                (const char *const[]){NULL, "1"}, &b, NULL));
    ck_assert(a == b);
    ck_assert(a > 500 && a < 4000);
    FAILS(ls_table_predict_text(at.context, 1, 2, name,
                                (const char *const[]){"z", "20"}, &a, NULL),
          LS_EFORMAT,
          "row 0, column \"floor\": \"z\" is none of the 3 words trained on");
    FAILS(ls_table_predict_text(at.context, 1, 2, name,
                                (const char *const[]){"x", ""}, &a, NULL),
          LS_EFORMAT, "row 0, column \"size\": the value is missing");
    FAILS(ls_table_predict_text(at.context, 1, 2, name,
                                (const char *const[]){"x", "big"}, &a, NULL),
          LS_EFORMAT, "\"big\" is no number");
    FAILS(ls_table_predict_doubles(at.context, 2,
                                   (double[]){1, 0, (double)NAN, 0},
                                   (const char *const[]){"", "x", "", "x"}, &a,
                                   NULL),
          LS_EFORMAT, "row 1, column \"size\": the value is missing");
    FAILS(ls_table_predict_doubles(at.context, 1, (double[]){1e300, 0},
                                   (const char *const[]){NULL, "x"}, &a, NULL),
          LS_EFORMAT, "row 0: a value is too far");
    FAILS(ls_table_predict_doubles(at.context, 1, (double[]){1, 0}, NULL, &a,
                                   NULL),
          LS_EINVAL, "no words are given");
    close_model();
    folder_close();
}

/* Proves that columns are found by their names or refused by them. */
TEST(test_names)
{
    static const char *const name[] = {"colour", "long", "width"};
    static const char *const twice[] = {"long", "colour", "wide", "long"};
    static const char *const cell[] = {"red", "1", "1", "1"};
    double out[3];
    ls_table *t;
    int64_t n;

    folder_open();
    open_model(put_table("t.csv", shapes), NULL, true);
    FAILS(ls_table_predict_text(at.context, 1, 3, name, cell, out, NULL),
          LS_ENOTFOUND, "no column \"wide\"");
    FAILS(ls_table_predict_text(at.context, 1, 4, twice, cell, out, NULL),
          LS_EINVAL, "two columns are named \"long\"");
    FAILS(ls_table_predict_text(at.context, -1, 3, name, cell, out, NULL),
          LS_EINVAL, "-1 rows");
    FAILS(ls_table_predict_next(at.context, 1, &n, out, NULL), LS_EINVAL,
          "there is no table");
    OK(ls_table_open(&t, put_table("u.csv", "colour,long\nred,1\n")));
    FAILS(ls_table_predict_from(at.context, t), LS_ENOTFOUND,
          "u.csv: has no column \"wide\"");
    ck_assert_int_eq(ls_table_find(t, "long"), 1);
    FAILS(ls_table_find(t, "lon"), LS_ENOTFOUND, "no column \"lon\"");
    ls_table_close(t);
    close_model();
    folder_close();
}

/* Proves that a predictor and a coding go together or are refused, and that a
 * file without a note is. */
TEST(test_other_models)
{
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t = open_trainer(pool, 5, 2);
    const char *path;
    ls_predictor *p;
    ls_table_model *m;

    folder_open();
    path = in_folder("plain.st");
    open_model(put_table("t.csv", shapes), NULL, true);
    OK(ls_predictor_open(&p, t));
    FAILS(ls_table_model_of(&m, p, ls_table_model_coding(at.model)),
          LS_EFORMAT, "5 inputs and 3 outputs, not 5 and 2");
    OK(ls_table_model_of(&m, ls_table_model_predictor(at.model),
                         ls_table_model_coding(at.model)));
    ls_table_model_close(m);
    OK(ls_trainer_save_model(t, path));
    FAILS(ls_table_model_open(&m, path, NULL), LS_ENOTFOUND,
          "does not say what the columns");
    close_model();
    ls_predictor_close(p);
    ls_trainer_close(t);
    ls_pool_close(pool);
    folder_close();
}

/* ------ Many columns ------ */

/* "c0,c1,..,y" and a row of numbers. */
static void put_wide(const char *path, int columns)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < columns; i++)
        fprintf(f, "c%d,", i);
    fprintf(f, "y\n");
    for (int row = 0; row < 2; row++) {
        for (int i = 0; i < columns; i++)
            fprintf(f, "%d,", i % 7 + row);
        fprintf(f, "%d\n", row);
    }
    fclose(f);
}

/* Proves that columns are found in the order of n log n comparisons, also where
 * some are left out. */
TEST(test_many_columns)
{
    enum { MANY = 20000 };
    ls_table_data_options o = ls_table_data_defaults();
    ls_table_data *d;

    folder_open();
    put_wide(in_folder("wide.csv"), MANY);
    o.ignore = "c17,c19000,c3";
    compared = 0;
    OK(ls_table_data_open(&d, in_folder("wide.csv"), &o));
    ck_assert_int_eq(ls_coding_width(ls_table_data_coding(d)), MANY - 3);
    ck_assert_int_gt(compared, MANY);
    ck_assert_int_lt(compared, (int64_t)100 * MANY);
    ls_table_data_close(d);
    folder_close();
}

MAIN()

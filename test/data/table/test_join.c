/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that ls_table_model_join writes the mean of models of one table, each
 * with means and scales of its own, and refuses models of others. */
#define _GNU_SOURCE
#include "failing_memory.h"
#include "fixture.h"
#include "folder.h"

#include <lockstep/columns.h>
#include <lockstep/transcript.h>

#include <jansson.h>
#include <math.h>

/* Three folds of a table: the same words, other numbers. */
static const char *const table[] = {
    "colour,long,wide,shape\nred,1.5,2,round\ngreen,2,3,square\n"
    "blue,4,1,round\ngreen,1,1.25,flat\n",
    "colour,long,wide,shape\nblue,15,9,square\ngreen,7,-3,flat\n"
    "red,-4,2,round\nred,1,8,flat\n",
    "colour,long,wide,shape\nred,150,0.2,flat\ngreen,20,0.3,square\n"
    "blue,40,0.1,round\nblue,10,0.15,round\n"};
enum { MODELS = 3, ROWS = 4, CLASSES = 3 };

static ls_trainer *open_trainer(ls_pool *pool, int64_t width, int classes,
                                uint32_t seed)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    ls_trainer *t;

    ls_node *x = ls_input(g, "x", LS_F32, 1, &width);
    ls_node *y = classes ? ls_input(g, "y", LS_I32, 0, NULL)
                         : ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *out = ls_dropout(ls_relu(ls_dense(x, 8, "hidden")), 0.5, "drop");
    out = ls_dense(out, classes ? classes : 1, "out");
    OK(ls_output(g, out, "out"));
    OK(ls_output(g, x = ls_square(x), "unused"));
    OK(ls_loss(g, classes ? ls_cross_entropy(out, y)
                          : ls_mean_squared_error(out, y)));
    o.seed = seed;
    OK(ls_trainer_open(&t, pool, g, &o));
    ls_graph_free(g);
    return t;
}

/* Write a table, and a model of it; its path is to be freed. */
static char *put_model(ls_pool *pool, const char *name, const char *text,
                       const char *target, uint32_t seed)
{
    ls_table_data_options o = ls_table_data_defaults();
    char *path = strdup(in_folder(name));
    ls_table_data *d;
    ls_array x, y;
    ls_column goal;

    put_file(in_folder("t.csv"), text, strlen(text));
    o.target = target;
    o.missing_mean = true;
    OK(ls_table_data_open(&d, in_folder("t.csv"), &o));
    OK(ls_table_data_take(d, NULL, &x, &y));
    const ls_coding *c = ls_table_data_coding(d);
    ck_assert(ls_coding_target(c, &goal));
    ls_trainer *t = open_trainer(pool, x.shape[1], goal.words, seed);
    OK(save_noted(LS_SAVE_MODEL, t, path, 1,
                  &(ls_setting){LS_CODING_NOTE, ls_coding_note(c)}));
    ls_trainer_close(t);
    ls_array_free(&x);
    ls_array_free(&y);
    ls_table_data_close(d);
    return path;
}

static void ask(const char *path, double out[ROWS * CLASSES])
{
    static const char *const name[] = {"colour", "wide", "long", "shape"};
    static const char *const cell[ROWS * 4] = {
        "red", "2", "3", "flat", "", "-1.5", "7", "flat",
        "blue", "0", "1", "round", "green", "5", "5", "square"};
    ls_table_model *m;
    ls_table_context *c;

    OK(ls_table_model_open(&m, path, NULL));
    OK(ls_table_context_open(&c, m, NULL));
    OK(ls_table_predict_text(c, ROWS, 4, name, cell, out, NULL));
    ls_table_context_close(c);
    ls_table_model_close(m);
}

/* Proves that the mean of classes' probabilities, and of numbers in the
 * target's unit, is what the joined model says, and its bytes are those of any
 * workers. */
LOOP_TEST(test_mean, 0, 2)
{
    const char *target = _i ? "long" : "shape";
    char *path[MODELS];
    int outputs = _i ? 1 : CLASSES, n = ROWS * outputs;
    char sum[65], other[65];
    int64_t bytes;
    double one[ROWS * CLASSES], all[ROWS * CLASSES], mean[ROWS * CLASSES] = {0};

    folder_open();
    ls_pool *pool = open_pool(2, 1), *more = open_pool(2, 2);
    for (int i = 0; i < MODELS; i++) {
        path[i] = put_model(pool, (const char *[]){"a", "b", "c"}[i], table[i],
                            target, (uint32_t)i);
        ask(path[i], one);
        for (int k = 0; k < n; k++)
            mean[k] += one[k] / MODELS;
    }
    OK(ls_table_model_join(in_folder("all"), MODELS, (const char **)path,
                           pool));
    ask(in_folder("all"), all);
    for (int k = 0; k < n; k++)
        ck_assert_double_eq_tol(all[k], mean[k], 1e-5 * (1 + fabs(mean[k])));
    OK(ls_table_model_join(in_folder("more"), MODELS, (const char **)path,
                           more));
    OK(ls_file_digest(in_folder("all"), &bytes, sum));
    OK(ls_file_digest(in_folder("more"), &bytes, other));
    ck_assert_str_eq(sum, other);
    OK(ls_table_model_join(in_folder("again"), 2,
                           (const char *[]){in_folder("all"), path[0]}, pool));
    OK(ls_table_model_join(in_folder("one"), 1, (const char **)path + 2,
                           pool));
    ask(in_folder("one"), all);
    ck_assert_mem_eq(all, one, (size_t)n * sizeof *all);
    for (int i = 0; i < MODELS; i++)
        free(path[i]);
    ls_pool_close(pool);
    ls_pool_close(more);
    folder_close();
}

static void refuse(int n, const char *a, const char *b, ls_pool *pool,
                   int status, const char *words)
{
    FAILS(ls_table_model_join(in_folder("all"), n, (const char *[]){a, b},
                              pool), status, words);
}

/* Proves that models of other tables are refused, and so is what is none. */
TEST(test_refused)
{
    static const struct {
        const char *text, *target, *words;
    } no[] = {
        {"colour,long,wide,shape\nred,1,2,flat\ngrey,2,1,round\n"
         "blue,1,2,square\n", "shape", "\"colour\" is another column"},
        {"colour,long,broad,shape\nred,1,2,flat\ngreen,2,1,round\n"
         "blue,1,2,square\n", "shape", "\"wide\" is another column"},
        {"colour,long,wide,shape\nred,1,2,flat\ngreen,2,1,round\n"
         "blue,1,2,flat\n", "shape", "\"shape\" is another column"},
        {"colour,long,shape\nred,1,flat\ngreen,2,round\nblue,1,square\n",
         "shape", "\"shape\" is another column"},
    };
    char *first;

    folder_open();
    ls_pool *pool = open_pool(1, 1);
    first = put_model(pool, "a", table[0], "shape", 0);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        char *other = put_model(pool, "b", no[i].text, no[i].target, 1);

        refuse(2, first, other, pool, LS_EINVAL, no[i].words);
        free(other);
    }
    refuse(0, first, first, pool, LS_EINVAL, "0 models");
    refuse(2, first, in_folder("none"), pool, LS_EIO, "none");
    free(first);
    ls_pool_close(pool);
    folder_close();
}

/* Jansson ends a program that has no memory for it: it always has. */
static void spare_jansson(void)
{
#if defined(__GLIBC__) && !UNDER_SANITIZER
    json_set_alloc_funcs(__libc_malloc, __libc_free);
#endif
}

/* Proves that any allocation may fail, which is told, and nothing stays. */
TEST(test_shortage)
{
    int status = -1;

    spare_jansson();
    folder_open();
    ls_pool *pool = open_pool(1, 1);
    char *first = put_model(pool, "a", table[0], "shape", 0);
    char *second = put_model(pool, "b", table[1], "shape", 1);
    int was = live;
    for (int n = 0; status < 0; n++) {
        allocations_left = n;
        status = ls_table_model_join(in_folder("all"), 2,
                                     (const char *[]){first, second}, pool);
        allocations_left = -1;
        ck_assert_msg(status == 0 || status == LS_ENOMEM, "%d: %d %s", n,
                      status, ls_errmsg());
        ck_assert_int_eq(live, was);
        ck_assert_int_lt(n, 20000);
    }
    free(first);
    free(second);
    ls_pool_close(pool);
    folder_close();
}

/* Proves that a saved network stands behind a node of another graph alone where
 * it fits, under names of its scope. */
TEST(test_add_saved)
{
    ls_graph *g = empty_graph();

    folder_open();
    ls_pool *pool = open_pool(1, 1);
    char *path = put_model(pool, "a", table[0], "shape", 0);
    ls_graph_errors_pass(g, true);
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){5});
    ls_node *wide = ls_input(g, "wide", LS_F32, 1, (int64_t[]){6});
    int nodes = ls_graph_nodes(g);
    ck_assert_ptr_null(ls_graph_add_saved(wide, "in", path));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "another shape or type"));
    ck_assert_ptr_null(ls_graph_add_saved(x, "in", in_folder("none")));
    ck_assert_int_eq(ls_graph_nodes(g), nodes);
    ls_node *y = ls_graph_add_saved(x, "in", path);
    ck_assert_ptr_nonnull(y);
    ck_assert_str_eq(ls_node_name(y), "in.out");
    ck_assert_ptr_null(ls_graph_add_saved(NULL, "in", path));
    ls_graph_free(g);
    free(path);
    ls_pool_close(pool);
    folder_close();
}

MAIN()

/* SPDX-License-Identifier: BSD-3-Clause */
/* A model of a table: learn what its columns are, train, save; then open the
 * file and predict rows, given as text by the names of their columns and as
 * numbers with words.  `lockstep-train mlp --data flats.csv --target price
 * --save flats.st` writes such a file, too.
 *
 *     cc 15_table_model.c $(pkg-config --cflags --libs lockstep_data) -lm
 *
 * Exits 1 where a prediction is far off, or the two differ. */
#include <lockstep.h>
#include <lockstep/columns.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 96, STEPS = 600 };

static const char *const towns[] = {"Bergen", "Oslo", "Vik"};

/* What the made flats cost. */
static double price_of(double rooms, int town)
{
    return 100 + 40 * rooms + 75 * (town == 1) - 30 * (town == 2);
}

static int write_table(const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return ls_error(LS_EIO, path);
    fprintf(f, "rooms,town,price\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%g,%s,%g\n", 1 + i % 8 * 0.5, towns[i % 3],
                price_of(1 + i % 8 * 0.5, i % 3));
    return fclose(f) == 0 ? 0 : ls_error(LS_EIO, path);
}

/* ------ Train and save ------ */

static ls_graph *build(int64_t width)
{
    ls_graph *g;

    if (ls_graph_new(&g) < 0)
        return NULL;
    ls_node *x = ls_input(g, "x", LS_F32, 1, &width);
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *price = ls_dense(ls_gelu(ls_dense(x, 16, "hidden")), 1, "out");
    ls_output(g, price, "price");
    ls_loss(g, ls_mean_squared_error(price, y));
    return g;
}

static int train(ls_trainer *t, const ls_array *x, const ls_array *y)
{
    ls_batch *b = NULL;
    ls_result r = {0};
    int status = ls_batch_open(&b, t);

    if (status == 0)
        status = ls_batch_set(b, "x", x->dtype, x->data, x->shape[0]);
    if (status == 0)
        status = ls_batch_set(b, "y", y->dtype, y->data, y->shape[0]);
    for (int i = 0; i < STEPS && status == 0; i++)
        status = ls_step(t, b, &r);
    printf("trained on %d rows: loss %.5f\n", ROWS, (double)r.loss);
    ls_batch_close(b);
    return status;
}

/* The note tells whoever opens the file what the columns are. */
static int save(ls_trainer *t, const ls_coding *coding, const char *path)
{
    ls_setting note = {LS_CODING_NOTE, ls_coding_note(coding)};
    ls_save_options o = ls_save_defaults();

    o.n_notes = 1;
    o.notes = &note;
    return ls_trainer_save_with(t, path, &o);
}

static int train_and_save(ls_table_data *data, const char *path)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    ls_graph *g = NULL;
    ls_array x = {0}, y = {0};
    int status = ls_table_data_take(data, NULL, &x, &y);

    o.optimizer = ls_adam(0.01);
    if (status == 0)
        status = ls_mesh_open(&mesh, NULL);
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0 && (g = build(x.shape[1])))
        status = ls_trainer_open(&t, pool, g, &o);
    if (status == 0 && t)
        status = train(t, &x, &y);
    if (status == 0 && t)
        status = save(t, ls_table_data_coding(data), path);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    ls_array_free(&x);
    ls_array_free(&y);
    return status;
}

static int make_model(const char *table, const char *path)
{
    ls_table_data_options o = ls_table_data_defaults();
    ls_table_data *data = NULL;
    int status = write_table(table);

    o.target = "price";
    if (status == 0)
        status = ls_table_data_open(&data, table, &o);
    if (status == 0)
        status = train_and_save(data, path);
    ls_table_data_close(data);
    return status;
}

/* ------ Open and predict ------ */

static void tell_columns(const ls_coding *coding)
{
    ls_column c;

    for (int i = 0; ls_coding_column(coding, i, &c); i++) {
        printf("column %s: %s", c.name, c.words ? "one of" : "a number\n");
        for (int k = 0; k < c.words; k++)
            printf("%s %s%s", k ? "," : "", c.word[k],
                   k + 1 < c.words ? "" : "\n");
    }
    ls_coding_target(coding, &c);
    printf("predicts %s\n", c.name);
}

/* The same flat both ways; *wrong: the answer is. */
static int ask(ls_table_context *c, bool *wrong)
{
    static const char *const name[] = {"town", "rooms"};
    static const char *const cell[] = {"Oslo", "2.5"};
    static const double number[] = {2.5, 0}; /* rooms; town is a word */
    static const char *const word[] = {NULL, "Oslo"};
    double text = 0, numbers = 0, want = price_of(2.5, 1);
    int status = ls_table_predict_text(c, 1, 2, name, cell, &text, NULL);

    if (status == 0)
        status = ls_table_predict_doubles(c, 1, number, word, &numbers, NULL);
    printf("2.5 rooms in Oslo: %.1f, by numbers %.1f; made as %.1f\n", text,
           numbers, want);
    *wrong = text != numbers || fabs(text - want) > 0.1 * want;
    return status;
}

static int open_and_ask(const char *path, bool *wrong)
{
    ls_table_model *m = NULL;
    ls_table_context *c = NULL;
    int status = ls_table_model_open(&m, path, NULL);

    if (status == 0)
        status = ls_table_context_open(&c, m, NULL);
    if (status == 0) {
        tell_columns(ls_table_model_coding(m));
        status = ask(c, wrong);
    }
    ls_table_context_close(c);
    ls_table_model_close(m);
    return status;
}

int main(void)
{
    const char *table = "15_table_model.csv", *model = "15_table_model.st";
    bool wrong = true;
    int status = make_model(table, model);

    if (status == 0)
        status = open_and_ask(model, &wrong);
    if (status < 0)
        printf("%s\n", ls_errmsg());
    remove(table);
    remove(model);
    return status < 0 || wrong;
}

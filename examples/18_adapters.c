/* SPDX-License-Identifier: BSD-3-Clause */
/* A saved model is adapted to another task by a file a tenth of its size, and a
 * server takes the adapted weights as arrays.
 *
 *     base      y = x0 x1, trained and saved
 *     adapters  y = x0 x1 + x0, on the frozen base; saved alone
 *     server    base and adapters put together again, handed to a predictor
 *
 * Exits 1 when it has not learned, or the server predicts otherwise than the
 * trainer. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <lockstep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 256, HIDDEN = 64, STEPS = 300, ARRAYS = 16 };

typedef struct rows {
    float x[ROWS][2], y[ROWS];
} rows;

static void make_rows(rows *r, float more)
{
    ls_random_uniform(ls_key_new(3), 0, 2 * ROWS, -1, 1, r->x[0]);
    for (int i = 0; i < ROWS; i++)
        r->y[i] = r->x[i][0] * r->x[i][1] + more * r->x[i][0];
}

static int build(ls_graph **g)
{
    int status = ls_graph_new(g);
    ls_node *x, *y, *h;

    if (status < 0)
        return status;
    x = ls_input(*g, "x", LS_F32, 1, (int64_t[]){2});
    y = ls_input(*g, "y", LS_F32, 1, (int64_t[]){1});
    h = ls_gelu(ls_dense(x, HIDDEN, "first"));
    h = ls_gelu(ls_dense(h, HIDDEN, "second"));
    h = ls_dense(h, 1, "out");
    ls_output(*g, h, "y");
    return ls_loss(*g, ls_mean_squared_error(h, y));
}

/* Train all that is not frozen; *loss is that of the last step. */
static int train(ls_trainer *t, const rows *r, float *loss)
{
    ls_result result;
    ls_batch *b;
    int status = ls_batch_open(&b, t);

    if (status < 0)
        return status;
    if ((status = ls_batch_set(b, "x", LS_F32, r->x, ROWS)) == 0)
        status = ls_batch_set(b, "y", LS_F32, r->y, ROWS);
    for (int i = 0; i < STEPS && status == 0; i++)
        if ((status = ls_step(t, b, &result)) == 0)
            *loss = result.loss;
    ls_batch_close(b);
    return status;
}

static int make_base(ls_pool *pool, const char *path, float *loss)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    static rows r;
    int status;

    o.optimizer = ls_adam(1e-2);
    make_rows(&r, 0);
    if ((status = build(&g)) == 0 &&
        (status = ls_trainer_open(&t, pool, g, &o)) == 0 &&
        (status = train(t, &r, loss)) == 0)
        status = ls_trainer_save_model(t, path);
    ls_trainer_close(t);
    ls_graph_free(g);
    return status;
}

/* The parameters of each node that has some. */
static void list(const ls_graph *g)
{
    for (int i = 0; i < ls_graph_nodes(g); i++) {
        const ls_node *n = ls_graph_node(g, i);
        ls_array_spec p;

        for (int k = 0; ls_node_param(n, k, &p); k++)
            printf("  %s of %s\n", p.name, ls_node_op(n));
    }
}

/* Adapters of rank 2 in the second layer, of which A learns at half the
 * rate. */
static int adapt(ls_pool *pool, const char *base, const char *adapters,
                 ls_trainer **t, float *loss)
{
    ls_group groups[] = {ls_lora_rest(), ls_group_of("*.lora_A.kernel")};
    ls_trainer_options o = ls_trainer_defaults();
    ls_save_options save = ls_save_defaults();
    ls_graph *g;
    static rows r;
    int status = ls_graph_load(&g, base);

    if (status < 0)
        return status;
    groups[1].rate = 0.5;
    o.optimizer = ls_adam(1e-2);
    o.n_groups = 2;
    o.groups = groups;
    save.kind = LS_SAVE_ADAPTERS;
    make_rows(&r, 1);
    if ((status = ls_lora_add(g, "second.kernel", 2, 4)) == 0)
        list(g);
    if (status == 0 && (status = ls_trainer_open(t, pool, g, &o)) == 0 &&
        (status = ls_trainer_load(*t, base, LS_LORA_REST)) == 0 &&
        (status = train(*t, &r, loss)) == 0)
        status = ls_trainer_save_with(*t, adapters, &save);
    ls_graph_free(g);
    return status;
}

/* Give a predictor the arrays that another one has: they may have come from a
 * database, or over a network. */
static int hand_over(ls_predictor *from, ls_predictor *to)
{
    ls_array arrays[ARRAYS];
    ls_archive *archive;
    ls_entry e;
    int n = 0, status = ls_archive_of_predictor(&archive, from);

    if (status < 0)
        return status;
    for (; n < ARRAYS && ls_archive_entry(archive, n, &e); n++) {
        arrays[n] = (ls_array){.name = e.name, .dtype = LS_F32, .rank = e.rank,
                               .data = (void *)e.data};
        memcpy(arrays[n].shape, e.shape, sizeof e.shape);
    }
    status = ls_predictor_set(to, n, arrays);
    ls_archive_close(archive);
    return status;
}

/* A predictor of the base's graph with the adapters that the file describes. */
static int open_server(const char *base, const char *adapters,
                       ls_predictor **server)
{
    ls_predictor *loaded;
    ls_graph *g;
    int status = ls_graph_load(&g, base);

    if (status < 0)
        return status;
    if ((status = ls_lora_add_saved(g, adapters)) == 0)
        status = ls_predictor_open_graph(server, g, NULL);
    if (status == 0 &&
        (status = ls_predictor_load_lora(&loaded, base, adapters)) == 0) {
        status = hand_over(loaded, *server);
        ls_predictor_close(loaded);
    }
    ls_graph_free(g);
    return status;
}

static int predict(ls_predictor *p, const float x[2], float *y)
{
    ls_context *c;
    int status = ls_context_open(&c, p, NULL);

    if (status < 0)
        return status;
    if ((status = ls_context_set_view(c, "x", LS_F32, 2, x, 1)) == 0)
        status = ls_context_predict(c, "y", 1, y);
    ls_context_close(c);
    return status;
}

/* Does the server predict what the trainer does? */
static int compare(const ls_trainer *t, ls_predictor *server, bool *same)
{
    static const float x[2] = {0.5f, -0.5f};
    ls_predictor *own;
    float y[2] = {0};
    int status = ls_predictor_open(&own, t);

    if (status < 0)
        return status;
    if ((status = predict(own, x, &y[0])) == 0)
        status = predict(server, x, &y[1]);
    ls_predictor_close(own);
    *same = memcmp(&y[0], &y[1], sizeof y[0]) == 0;
    printf("y(0.5, -0.5) = %.3f here, %.3f there\n", (double)y[0],
           (double)y[1]);
    return status;
}

int main(void)
{
    char folder[] = "/tmp/adapters-XXXXXX", base[64], adapters[64];
    float loss[2] = {1, 1};
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    ls_predictor *server = NULL;
    bool good, same = false;

    if (!mkdtemp(folder))
        return 1;
    snprintf(base, sizeof base, "%s/base.safetensors", folder);
    snprintf(adapters, sizeof adapters, "%s/adapters.safetensors", folder);
    good = ls_mesh_open(&mesh, NULL) == 0 &&
           ls_pool_open(&pool, mesh, NULL) == 0 &&
           make_base(pool, base, &loss[0]) == 0 &&
           adapt(pool, base, adapters, &t, &loss[1]) == 0 &&
           open_server(base, adapters, &server) == 0 &&
           compare(t, server, &same) == 0;
    if (good)
        printf("loss of the base %.6f, of the adapted %.6f\n", (double)loss[0],
               (double)loss[1]);
    else
        puts(ls_errmsg());
    ls_predictor_close(server);
    ls_trainer_close(t);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    remove(base);
    remove(adapters);
    rmdir(folder);
    return good && same && loss[0] < 1e-3f && loss[1] < 1e-2f ? 0 : 1;
}

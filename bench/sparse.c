/* The shape that chess programs train: two sides of 41,024 inputs, of which 30
 * a row are 1, into 256 units that share their weights; clipped relu, 32, 1;
 * mean squared error, Adam, 16,384 rows.  Data and initial parameters are drawn
 * as in peers/sparse_torch.py; `--kings N` has N of 64 king squares occur, so
 * that N 64ths of the weights are read.  `--lazy 1`: lazy Adam.
 *
 * Uses the public header only.  Writes the metrics form of lockstep-train, a
 * line a step, with the processor time of the process too. */
#include "bench.h"

#include <string.h>

enum { INPUTS = 41024, ONES = 30, UNITS = 256, ROWS = 16384 };

/* Numbers in [-scale, scale) that any program draws alike. */
static void draw(int64_t seed, float scale, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 7919 + seed * 104729) % 20011 - 10005) *
               (scale / 10006);
}

/* The pieces of a row are by one king's square, in rising order. */
static void draw_side(int64_t seed, int kings, int32_t *index)
{
    for (int64_t r = 0; r < ROWS; r++) {
        int64_t king = (r * 7919 + seed * 104729) % 20011 % kings;

        for (int64_t j = 0; j < ONES; j++)
            index[r * ONES + j] =
                (int32_t)(king * 641 + j * 21 +
                          (r * 613 + j * 7919 + seed * 104729) % 20011 % 21);
    }
}

static ls_node *side(ls_graph *g, const char *input, const char *layer)
{
    ls_node *x = ls_input(g, input, LS_I32, 1, (int64_t[]){ONES});

    return ls_sparse_dense(x, NULL, INPUTS, UNITS, layer);
}

static ls_graph *build(void)
{
    ls_node *both[2], *x;
    ls_graph *g;

    must(ls_graph_new(&g));
    both[0] = side(g, "us", "acc");
    must(ls_tie(g, "other.kernel", "acc.kernel", false));
    must(ls_tie(g, "other.bias", "acc.bias", false));
    both[1] = side(g, "them", "other");
    x = ls_clipped_relu(ls_concat(both, 2, 0), 1);
    x = ls_clipped_relu(ls_dense(x, 32, "hidden"), 1);
    must(ls_loss(g, ls_mean_squared_error(
                        ls_dense(x, 1, "out"),
                        ls_input(g, "y", LS_F32, 1, (int64_t[]){1}))));
    return g;
}

static void start(ls_trainer *t)
{
    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK], n = 1;
        int rank = ls_trainer_param_shape(t, i, shape);
        float *w;

        for (int k = 0; k < rank; k++)
            n *= shape[k];
        if (!(w = malloc((size_t)n * sizeof *w)))
            exit(EXIT_FAILURE);
        draw(10 + i, 0.1f, n, w);
        must(ls_trainer_set(t, ls_trainer_param_name(t, i), n, w));
        free(w);
    }
}

static void set_rows(ls_batch *b, int kings)
{
    static int32_t us[ROWS * ONES], them[ROWS * ONES];
    static float y[ROWS];

    draw_side(1, kings, us);
    draw_side(2, kings, them);
    draw(3, 1, ROWS, y);
    must(ls_batch_set(b, "us", LS_I32, us, ROWS));
    must(ls_batch_set(b, "them", LS_I32, them, ROWS));
    must(ls_batch_set(b, "y", LS_F32, y, ROWS));
}

static void run(ls_trainer *t, ls_batch *b, int steps, FILE *out)
{
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < steps; i++) {
        double wall = now_ms();
        double used = processor_ms();
        ls_result r;

        must(ls_step(t, b, &r));
        fprintf(out,
                "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,\"cpu_ms\":%.9g,"
                "\"gradient_ms\":%.9g,\"reduce_ms\":%.9g,\"update_ms\":%.9g}\n",
                i, (double)r.loss, now_ms() - wall, processor_ms() - used,
                1e3 * r.gradient_seconds, 1e3 * r.reduce_seconds,
                1e3 * r.update_seconds);
    }
}

int main(int argc, char **argv)
{
    int workers = 1, steps = 10, kings = 64;
    FILE *out = stdout;
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *g;
    ls_trainer *t;
    ls_batch *b;

    o.optimizer = ls_adam(0.001);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--workers"))
            workers = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--steps"))
            steps = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--kings"))
            kings = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--lazy"))
            o.optimizer.lazy = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--metrics"))
            out = fopen(argv[i + 1], "w");
    }
    if (!out || kings < 1 || kings > 64)
        return EXIT_FAILURE;
    m.devices = m.workers = workers;
    o.state = LS_SHARD;
    g = build();
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(&pool, mesh, NULL));
    must(ls_trainer_open(&t, pool, g, &o));
    start(t);
    must(ls_batch_open(&b, t));
    set_rows(b, kings);
    run(t, b, steps, out);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Two layers of 128 units, LSTM (or GRU with --cell gru), over 64 rows of 100
 * steps of 32 features, a dense layer on every step, mean squared error,
 * Adam.  Data and initial parameters are drawn as in
 * peers/recurrent_torch.py.
 *
 * Uses the public header only.  Writes the metrics form of lockstep-train, a
 * line a step, with the processor time of the process too.
 */
#include "bench.h"

#include <string.h>

enum { ROWS = 64, STEPS = 100, IN = 32, UNITS = 128 };

/* Numbers in [-scale, scale) that any program draws alike. */
static void draw(int64_t seed, float scale, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 7919 + seed * 104729) % 20011 - 10005) *
               (scale / 10006);
}

static ls_graph *build(bool gru)
{
    ls_graph *g;
    ls_node *x, *y;

    must(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){STEPS, IN});
    y = ls_input(g, "y", LS_F32, 2, (int64_t[]){STEPS, 1});
    for (int i = 0; i < 2; i++)
        x = gru ? ls_gru(x, UNITS, i ? "two" : "one")
                : ls_lstm(x, UNITS, i ? "two" : "one");
    must(ls_loss(g, ls_mean_squared_error(ls_dense(x, 1, "zout"), y)));
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
        draw(10 + i, 0.0884f, n, w);
        must(ls_trainer_set(t, ls_trainer_param_name(t, i), n, w));
        free(w);
    }
}

int main(int argc, char **argv)
{
    static float x[ROWS * STEPS * IN], y[ROWS * STEPS];
    int workers = 1, steps = 20;
    bool gru = false;
    FILE *out = stdout;
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *g;
    ls_trainer *t;
    ls_batch *b;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--workers"))
            workers = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--steps"))
            steps = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--cell"))
            gru = !strcmp(argv[i + 1], "gru");
        else if (!strcmp(argv[i], "--metrics"))
            out = fopen(argv[i + 1], "w");
    }
    if (!out)
        return EXIT_FAILURE;
    m.devices = m.workers = workers;
    o.optimizer = ls_adam(0.001);
    g = build(gru);
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(&pool, mesh, NULL));
    must(ls_trainer_open(&t, pool, g, &o));
    start(t);
    must(ls_batch_open(&b, t));
    draw(1, 1, ROWS * STEPS * IN, x);
    draw(2, 1, ROWS * STEPS, y);
    must(ls_batch_set(b, "x", LS_F32, x, ROWS));
    must(ls_batch_set(b, "y", LS_F32, y, ROWS));
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < steps; i++) {
        double wall = now_ms();
        double used = processor_ms();
        ls_result r;

        must(ls_step(t, b, &r));
        fprintf(out,
                "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,\"cpu_ms\":%.9g}\n", i,
                (double)r.loss, now_ms() - wall, processor_ms() - used);
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

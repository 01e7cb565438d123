/* What it saves that a chain of elementwise operators is one pass over memory:
 * a table of positions, a chain of eight operators, and the mean of what comes
 * out.  With --apart 1 each node is an output besides, so that nothing is
 * chained; the losses have the same bytes.
 *
 * Uses the public header only.  Writes the metrics form of lockstep-train, a
 * line a step.
 */
#include "bench.h"

#include <string.h>

enum { ROWS = 4096, LENGTH = 8, WIDTH = 64, SIZE = LENGTH * WIDTH, LINKS = 8 };

static ls_graph *build(bool apart)
{
    ls_graph *g;
    ls_node *x, *link[LINKS];

    must(ls_graph_new(&g));
    x = ls_position(ls_input(g, "x", LS_F32, 2, (int64_t[]){LENGTH, WIDTH}),
                    "table");
    link[0] = ls_scale_shift(x, 0.5, 0.25);
    link[1] = ls_square(link[0]);
    link[2] = ls_clamp(link[1], 0.125, 4);
    link[3] = ls_mul(link[2], x);
    link[4] = ls_leaky_relu(link[3], 0.25);
    link[5] = ls_sub(link[4], link[2]);
    link[6] = ls_abs(link[5]);
    link[7] = ls_add(link[6], link[5]);
    for (int i = 0; apart && i < LINKS; i++)
        must(ls_output(g, link[i], (char[]){(char)('0' + i), 0}));
    must(ls_loss(g, ls_mean_loss(link[LINKS - 1], NULL)));
    return g;
}

int main(int argc, char **argv)
{
    static float x[ROWS * SIZE];
    int workers = 1, steps = 20;
    bool apart = false;
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
        else if (!strcmp(argv[i], "--apart"))
            apart = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--metrics"))
            out = fopen(argv[i + 1], "w");
    }
    if (!out)
        return EXIT_FAILURE;
    m.devices = 2;
    m.workers = workers;
    o.optimizer = ls_sgd(0.01);
    g = build(apart);
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(&pool, mesh, NULL));
    must(ls_trainer_open(&t, pool, g, &o));
    must(ls_batch_open(&b, t));
    ls_random_uniform(ls_key_new(1), 0, ROWS * SIZE, -1, 1, x);
    must(ls_batch_set(b, "x", LS_F32, x, ROWS));
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < steps; i++) {
        double start = now_ms();
        ls_result r;

        must(ls_step(t, b, &r));
        fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g}\n", i,
                (double)r.loss, now_ms() - start);
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

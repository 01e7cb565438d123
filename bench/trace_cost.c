/* SPDX-License-Identifier: BSD-3-Clause */
/* What a trace costs: the same trainer takes a step without one, with one of
 * level 1 and with one of level 2, in turn, many times over; printed are the
 * medians and what each adds to the step before it.
 *
 * The model is the tool's lm (two layers of it, so that a round is short), or
 * with --small two dense layers whose step is some microseconds.
 *
 *     bench-trace_cost [--small] [ROUNDS]
 */
#include "bench.h"

#include <string.h>

enum { DEVICES = 8, LENGTH = 64, WIDTH = 256, VOCAB = 512, LEVELS = 3 };

static void build(ls_graph *g, bool small)
{
    int64_t length = small ? 8 : LENGTH;
    ls_node *tokens = ls_input(g, "x", LS_I32, 1, &length);
    ls_node *x = ls_embed(tokens, VOCAB, small ? 8 : WIDTH, "embed");

    for (int i = 0; i < 2 && !small; i++)
        x = lm_block(x, i, WIDTH);
    must(ls_loss(g, ls_next_token_loss(ls_dense(x, VOCAB, "head"), tokens)));
}

/* Seconds of one step, traced at this level. */
static double time_step(ls_pool *pool, ls_trainer *t, const ls_batch *b,
                        int level)
{
    ls_trace_options o = {.size = sizeof o, .level = level, .events = 8192};
    ls_trace *trace = NULL;
    ls_result r;
    double start;

    if (level)
        must(ls_trace_open(&trace, pool, &o));
    must(ls_step(t, b, &r)); /* both start warm */
    start = seconds();
    must(ls_step(t, b, &r));
    start = seconds() - start;
    ls_trace_close(trace);
    return start;
}

static int rising(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, rising);
    return x[n / 2];
}

int main(int argc, char **argv)
{
    bool small = argc > 1 && !strcmp(argv[1], "--small");
    int rounds = argc > 1 + small ? atoi(argv[1 + small]) : 100;
    static int32_t tokens[32 * LENGTH];
    double *time[LEVELS], *ratio[LEVELS];
    ls_pool_options pin = {.size = sizeof pin, .pin_caller = true};
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *g;
    ls_trainer *t;
    ls_batch *b;

    must(ls_mesh_open(&mesh, NULL));
    must(ls_pool_open(&pool, mesh, &pin));
    must(ls_graph_new(&g));
    build(g, small);
    must(ls_trainer_open(&t, pool, g, NULL));
    must(ls_batch_open(&b, t));
    ls_random_randint(ls_key_new(1), 0, 32 * LENGTH, 0, VOCAB, tokens);
    must(ls_batch_set(b, "x", LS_I32, tokens, small ? DEVICES : 32));
    for (int i = 0; i < LEVELS; i++) {
        time[i] = calloc((size_t)rounds, sizeof **time);
        ratio[i] = calloc((size_t)rounds, sizeof **ratio);
        if (!time[i] || !ratio[i])
            return EXIT_FAILURE;
    }
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < LEVELS; i++) {
            time[i][k] = time_step(pool, t, b, i);
            ratio[i][k] = time[i][k] / time[0][k];
        }
    printf("%s, %d rounds\n", ls_mesh_text(mesh), rounds);
    for (int i = 0; i < LEVELS; i++) {
        double typical = median(ratio[i], rounds);
        double middle = median(time[i], rounds);

        printf("level %d  %9.3f ms  least %9.3f  %+.2f %% (median of pairs)\n",
               i, 1e3 * middle, 1e3 * time[i][0], 100 * (typical - 1));
        free(time[i]);
        free(ratio[i]);
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return 0;
}

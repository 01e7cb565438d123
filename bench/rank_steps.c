/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step of `lm` costs over ranks, with a network between them that is
 * emulated, when gradients leave at the end and when they leave early.
 *
 *     bench-rank_steps [--ranks R] [--steps TURNS] [--metrics F]
 *
 * Each rank is a thread with one device and one worker on a core of its own;
 * "alone" is one process with as many workers.  Runs take turns; each trains 8
 * steps from the start and counts the median of those behind the second.  All
 * must end in one state.  Writes the metrics form of lockstep-train, a line a
 * turn with the milliseconds of each run; "ms" is the first's.
 *
 * Uses the public headers only and links the shared library. */
#include "bench.h"

#include <pthread.h>
#include <string.h>

enum { MOST = 16, STEPS = 8, BATCH = 32, T = 64, VOCAB = 512 };

static const struct line {
    const char *name;
    double bandwidth; /* bytes a second */
    int64_t bucket;
    int alone;
} lines[] = {
    {"ms", 0, 0, 1},
    {"memory late", 0, -1, 0},
    {"memory early", 0, 0, 0},
    {"10 Gb/s late", 1.25e9, -1, 0},
    {"10 Gb/s early", 1.25e9, 0, 0},
    {"1 Gb/s late", 1.25e8, -1, 0},
    {"1 Gb/s early", 1.25e8, 0, 0},
};
enum { LINES = sizeof lines / sizeof *lines };

typedef struct bench {
    int ranks;
    int32_t tokens[BATCH * T];
    const struct line *line;
    double seconds; /* the median step, by the first rank */
    double loss;
    char state[65];
} bench;

typedef struct rank {
    bench *b;
    const ls_transport *transport;
} rank;

/* ------ lm, as lockstep-train has it ------ */

static ls_node *block(ls_node *x, int i)
{
    char name[6][64];
    static const char *const layer[] = {"LayerNorm_0", "SelfAttention_0",
                                        "LayerNorm_1", "Dense_0", "Dense_1"};
    ls_node *h;

    for (int k = 0; k < 5; k++)
        snprintf(name[k], sizeof name[k], "blocks_%d.%s", i, layer[k]);
    h = ls_self_attention(ls_layer_norm(x, name[0]), 8, false, name[1]);
    x = ls_add(x, h);
    h = ls_gelu(ls_dense(ls_layer_norm(x, name[2]), 1024, name[3]));
    return ls_add(x, ls_dense(h, 256, name[4]));
}

static ls_graph *lm(void)
{
    ls_dense_options bare = ls_dense_defaults();
    int64_t length = T;
    ls_graph *g;
    ls_node *tokens, *x;

    must(ls_graph_new(&g));
    tokens = ls_input(g, "tokens", LS_I32, 1, &length);
    x = ls_position(ls_embed(tokens, VOCAB, 256, "tok_emb"), "pos_emb");
    for (int i = 0; i < 4; i++)
        x = block(x, i);
    bare.no_bias = 1;
    x = ls_dense_with(ls_layer_norm(x, "ln_f"), VOCAB, &bare, "head");
    must(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

/* ------ a run ------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

static ls_pool *open_pool(const bench *b, const ls_transport *t)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options o = ls_pool_defaults();
    char cpus[4096] = "";
    ls_mesh *mesh;
    ls_pool *pool;

    if (t)
        must(ls_transport_cpus(t, NULL, cpus, sizeof cpus));
    m.devices = b->ranks;
    m.workers = t ? 1 : b->ranks;
    m.cpus = *cpus ? cpus : NULL;
    o.pin_caller = true;
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(&pool, mesh, &o));
    ls_mesh_close(mesh);
    return pool;
}

static void take_steps(bench *b, ls_trainer *t, ls_batch *batch, bool first)
{
    double took[STEPS];
    char state[65];
    ls_result r = {0};

    for (int i = 0; i < STEPS; i++) {
        must(ls_step(t, batch, &r));
        took[i] = r.gradient_seconds + r.reduce_seconds + r.update_seconds;
    }
    must(ls_trainer_hash(t, state));
    if (!first)
        return;
    b->seconds = median(took + 2, STEPS - 2);
    memcpy(b->state, state, sizeof state);
    b->loss = (double)r.loss;
}

static void *run_rank(void *arg)
{
    const rank *r = arg;
    bench *b = r->b;
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(b, r->transport);
    ls_graph *g = lm();
    ls_trainer *t;
    ls_batch *batch;

    o.optimizer = ls_adamw(3e-4);
    o.keys = LS_KEYS_LINEN;
    o.transport = r->transport;
    o.bucket = b->line->bucket;
    must(ls_trainer_open(&t, pool, g, &o));
    must(ls_batch_open(&batch, t));
    must(ls_batch_set(batch, "tokens", LS_I32, b->tokens, BATCH));
    take_steps(b, t, batch, !r->transport || r->transport->rank == 0);
    ls_batch_close(batch);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    return NULL;
}

static void run(bench *b)
{
    ls_ranks_options o = {.bandwidth = b->line->bandwidth};
    pthread_t thread[MOST];
    rank r[MOST];
    ls_ranks *all;

    if (b->line->alone) {
        r[0] = (rank){b, NULL};
        run_rank(&r[0]);
        return;
    }
    must(ls_ranks_open(&all, b->ranks, &o));
    for (int i = 0; i < b->ranks; i++) {
        r[i] = (rank){b, ls_ranks_transport(all, i)};
        if (pthread_create(&thread[i], NULL, run_rank, &r[i]) != 0) {
            fprintf(stderr, "bench-rank_steps: no thread\n");
            exit(EXIT_FAILURE);
        }
    }
    for (int i = 0; i < b->ranks; i++)
        pthread_join(thread[i], NULL);
    ls_ranks_close(all);
}

/* ------ all of them ------ */

int main(int argc, char **argv)
{
    static bench b;
    char state[65] = "";
    int turns = number(argc, argv, "--steps", 5);
    FILE *out = metrics(argc, argv);

    b.ranks = number(argc, argv, "--ranks", 2);
    if (b.ranks < 2 || b.ranks > MOST) {
        fprintf(stderr, "bench-rank_steps: --ranks must be 2 to %d\n", MOST);
        return 2;
    }
    ls_random_randint(ls_key_new(1), 0, BATCH * T, 0, VOCAB, b.tokens);
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int n = 0; n < turns * LINES; n++) {
        b.line = &lines[n % LINES];
        run(&b);
        if (n && strcmp(b.state, state) != 0) {
            fprintf(stderr, "bench-rank_steps: %s ends in another state\n",
                    b.line->name);
            return EXIT_FAILURE;
        }
        memcpy(state, b.state, sizeof state);
        if (n % LINES == 0)
            fprintf(out, "{\"step\":%d,\"loss\":%.9g", n / LINES, b.loss);
        fprintf(out, ",\"%s\":%.9g", b.line->name, 1e3 * b.seconds);
        if (n % LINES == LINES - 1)
            fprintf(out, "}\n");
    }
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

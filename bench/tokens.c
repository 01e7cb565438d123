/* SPDX-License-Identifier: BSD-3-Clause */
/* Text by one thread, or N workers, with keys and values kept: the likeliest
 * token after token, from token 10 until the window is full, and again.
 *
 *     bench-tokens --init MODEL [--steps WINDOWS] [--workers N] [--metrics F]
 *
 * A line a window in the metrics form of lockstep-train; "loss", by which sides
 * are compared, is a sum over its tokens' numbers. */
#include "bench.h"

static int64_t likeliest(int64_t n, const float *x)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* A window; the sum of i times token i. */
static int64_t window(ls_generator *g, int64_t vocab, float *logits)
{
    int64_t sum = 0, length = ls_generator_window(g);
    int32_t token = 10;

    must(ls_generator_cut(g, 0));
    for (int64_t i = 1; i <= length; i++) {
        must(ls_generator_append(g, 1, &token, vocab, logits));
        token = (int32_t)likeliest(vocab, logits);
        sum += i * token;
    }
    return sum;
}

static void time_windows(ls_generator *g, int64_t vocab, int windows, FILE *out)
{
    float *logits = malloc((size_t)vocab * sizeof *logits);

    if (!logits)
        exit(EXIT_FAILURE);
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"},\"tokens\":%lld}\n",
            ls_version(), (long long)ls_generator_window(g));
    for (int i = 0; i < windows; i++) {
        double wall = now_ms(), used = processor_ms();
        int64_t sum = window(g, vocab, logits);

        fprintf(out,
                "{\"step\":%d,\"loss\":%lld,\"ms\":%.9g,"
                "\"cpu_ms\":%.9g}\n",
                i, (long long)sum, now_ms() - wall, processor_ms() - used);
    }
    free(logits);
}

static ls_pool *open_workers(int n)
{
    ls_mesh_options o = {.size = sizeof o, .devices = n, .workers = n};
    ls_mesh *mesh;
    ls_pool *pool;

    must(ls_mesh_open(&mesh, &o));
    must(ls_pool_open(&pool, mesh, NULL));
    ls_mesh_close(mesh);
    return pool;
}

int main(int argc, char **argv)
{
    const char *model = option(argc, argv, "--init", NULL);
    FILE *out = metrics(argc, argv);
    ls_predictor *predictor;
    int workers = number(argc, argv, "--workers", 1);
    ls_generator *g;
    ls_pool *pool = NULL;
    ls_array_spec spec;

    if (!model) {
        fprintf(stderr, "bench-tokens: --init MODEL is missing\n");
        return 2;
    }
    must(ls_predictor_load(&predictor, model));
    must(ls_generator_open(&g, predictor, "logits"));
    if (workers > 1)
        must(ls_generator_share(g, pool = open_workers(workers)));
    ls_predictor_output(predictor, 0, &spec);
    time_windows(g, spec.shape[1], number(argc, argv, "--steps", 20), out);
    ls_generator_close(g);
    ls_predictor_close(predictor);
    ls_pool_close(pool);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transcript costs: one trainer takes N steps without one and N with
 * one, in turn, N being the number of batches from one state line to the next,
 * so that each turn with it has one root.
 *
 *     bench-transcript_cost --init MODEL.safetensors [--rows R] [--workers W]
 *                           [--steps TURNS] [--every N] [--metrics F]
 *
 * The model and its first parameters are lockstep-train's, adam its optimizer.
 * Writes the metrics form of lockstep-train, a line for two turns: "without"
 * and "with" are the processor time of a step, "ms" is the same as "with",
 * "every" is N.  The transcript is a file that is gone with the program. */
#include "bench.h"

#include <lockstep/model.h>
#include <lockstep/transcript.h>

/* An input that one of the models may have. */
static const struct {
    const char *name;
    ls_dtype dtype;
    int64_t size;
    int most; /* of whole numbers */
} inputs[] = {{"tokens", LS_I32, 64, 512},
              {"x", LS_F32, 3072, 0},
              {"x", LS_F32, 784, 0},
              {"y", LS_I32, 1, 10}};
enum { INPUTS = sizeof inputs / sizeof *inputs };

/* Set those inputs that the model has.  One that it has otherwise is refused,
 * and tried in the next way; the batch borrows all arrays. */
static void fill(ls_batch *b, int64_t rows)
{
    for (int i = 0; i < INPUTS; i++) {
        int64_t n = rows * inputs[i].size;
        float *x = calloc((size_t)n, sizeof *x);
        int32_t *k = calloc((size_t)n, sizeof *k);

        if (!x || !k)
            exit(EXIT_FAILURE);
        ls_random_normal(ls_key_new(1), 0, n, x);
        if (inputs[i].most)
            ls_random_randint(ls_key_new(2), 0, n, 0, inputs[i].most, k);
        (void)ls_batch_set_view(b, inputs[i].name, inputs[i].dtype, n,
                                inputs[i].most ? (void *)k : x, rows);
    }
}

/* The processor time of a step of so many, with a transcript or without. */
static double turn(ls_trainer *t, const ls_batch *b, ls_transcript *r,
                   int64_t *batch, int64_t every, float *loss)
{
    double before = processor_ms();
    ls_result result;

    for (int64_t i = 0; i < every; i++) {
        must(ls_step(t, b, &result));
        if (r)
            must(ls_transcript_step(r, (*batch)++, &result));
        if (r && ls_transcript_is_due(r))
            must(ls_transcript_state(r, 0, NULL));
    }
    *loss = result.loss;
    return (processor_ms() - before) / (double)every;
}

/* *every: N, or 0, which becomes the default. */
static ls_transcript *open_transcript(ls_trainer *t, int64_t rows,
                                      int64_t *every)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_transcript *r;
    ls_work work;

    ls_trainer_work(t, &work);
    o.path = "transcript_cost.lst";
    o.program = "bench-transcript_cost";
    o.step_flops = work.row_flops * (double)rows;
    o.rows = false;
    if (!*every)
        *every = ls_transcript_every(t, o.step_flops);
    o.every = *every;
    must(ls_transcript_open(&r, t, &o, 0, NULL));
    remove(o.path); /* it stays open */
    return r;
}

int main(int argc, char **argv)
{
    int64_t rows = number(argc, argv, "--rows", 32), batch = 0;
    int64_t every = number(argc, argv, "--every", 0);
    int turns = number(argc, argv, "--steps", 10);
    const char *path = option(argc, argv, "--metrics", NULL);
    FILE *out = path ? fopen(path, "w") : stdout;
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh_options m = ls_mesh_defaults();
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *t;
    ls_batch *b;
    ls_transcript *r;

    m.devices = 2;
    m.workers = number(argc, argv, "--workers", 1);
    o.optimizer = ls_adam(1e-3);
    must(ls_mesh_open(&mesh, &m));
    must(ls_pool_open(&pool, mesh, NULL));
    must(ls_graph_load(&graph, option(argc, argv, "--init", "")));
    must(ls_trainer_open(&t, pool, graph, &o));
    must(ls_batch_open(&b, t));
    fill(b, rows);
    r = open_transcript(t, rows, &every);
    if (!out)
        return EXIT_FAILURE;
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < turns; i++) {
        int64_t none = 0;
        float loss;
        double without = turn(t, b, NULL, &none, every, &loss);
        double with = turn(t, b, r, &batch, every, &loss);

        fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"every\":%lld,\"ms\":%.9g,"
                "\"with\":%.9g,\"without\":%.9g}\n", i, (double)loss,
                (long long)every, with, with, without);
        fflush(out);
    }
    if (path)
        fclose(out);
    ls_transcript_close(r);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(graph);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return 0;
}

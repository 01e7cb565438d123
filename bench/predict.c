/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of one prediction by one thread: a model file's first output for a
 * few rows, warm, and beside it in the same run a loop that sums as many floats
 * as the model has parameters: what reading them costs.
 *
 *     bench-predict MODEL [--rows N] [--steps BLOCKS] [--sum 1] [--metrics F]
 *
 * Writes the metrics form of lockstep-train: a line a block, whose "ms" is the
 * mean of the block's calls (with --sum 1 of its sums). */
#include "bench.h"

#include <string.h>

enum { WARM = 3, SECONDS_A_BLOCK = 20 /* ths of one */ };

typedef struct options {
    const char *model;
    FILE *out;
    int64_t rows;
    int blocks;
    int sum;
} options;

typedef struct run {
    ls_predictor *predictor;
    ls_context *context;
    ls_array_spec in, out;
    void *x;
    float *y;
    int64_t n;       /* elements of y */
    float *weights;  /* to sum */
    int64_t floats;
    volatile float total;
} run;

static void *room(int64_t n)
{
    void *p = aligned_alloc(64, ((size_t)n * 4 + 63) / 64 * 64);

    if (!p)
        exit(EXIT_FAILURE);
    memset(p, 0, (size_t)n * 4);
    return p;
}

static options parse(int argc, char **argv)
{
    options o = {0};

    if (argc < 2) {
        fprintf(stderr, "usage: bench-predict MODEL [--rows N]\n");
        exit(2);
    }
    o.model = argv[1];
    o.rows = number(argc - 1, argv + 1, "--rows", 1);
    o.blocks = number(argc - 1, argv + 1, "--steps", 20);
    o.sum = number(argc - 1, argv + 1, "--sum", 0);
    o.out = metrics(argc - 1, argv + 1);
    return o;
}

static int64_t elements(const ls_array_spec *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank; i++)
        n *= s->shape[i];
    return n;
}

static void open_run(run *r, const options *o)
{
    ls_archive *a;
    ls_entry e;

    must(ls_predictor_load(&r->predictor, o->model));
    must(ls_context_open(&r->context, r->predictor, NULL));
    ls_predictor_input(r->predictor, 0, &r->in);
    ls_predictor_output(r->predictor, 0, &r->out);
    r->x = room(o->rows * elements(&r->in));
    r->n = o->rows * elements(&r->out);
    r->y = room(r->n);
    if (r->in.dtype == LS_F32) /* tokens may stay 0 */
        ls_random_uniform(ls_key_new(1), 0, o->rows * elements(&r->in), -1, 1,
                          r->x);
    must(ls_archive_open(&a, o->model));
    for (int i = 0; i < ls_archive_entries(a); i++) {
        (void)ls_archive_entry(a, i, &e);
        r->floats += e.elements;
    }
    ls_archive_close(a);
    r->weights = room(r->floats + 64);
}

static void predict(run *r, const options *o)
{
    must(ls_context_set(r->context, r->in.name, r->in.dtype, r->x, o->rows));
    must(ls_context_predict(r->context, r->out.name, r->n, r->y));
}

/* Sixty-four sums side by side: what memory gives, not what an addition
 * takes. */
static void sum(run *r, const options *o)
{
    float lane[64] = {0}, total = 0;

    (void)o;
    for (int64_t i = 0; i < r->floats; i += 64)
        for (int k = 0; k < 64; k++)
            lane[k] += r->weights[i + k];
    for (int k = 0; k < 64; k++)
        total += lane[k];
    r->total = total;
}

/* The mean of as many calls as fill a twentieth of a second. */
static double block(run *r, const options *o,
                    void (*call)(run *r, const options *o))
{
    double start = now_ms(), end = start;
    int calls = 0;

    while (end - start < 1e3 / SECONDS_A_BLOCK) {
        for (int i = 0; i < 8; i++, calls++)
            call(r, o);
        end = now_ms();
    }
    return (end - start) / calls;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    run r = {0};

    open_run(&r, &o);
    fprintf(o.out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < o.blocks; i++) {
        double ms = block(&r, &o, predict), sums = block(&r, &o, sum);

        fprintf(o.out,
                "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,\"other\":%.9g}\n", i,
                (double)r.y[0], o.sum ? sums : ms, o.sum ? ms : sums);
    }
    ls_context_close(r.context);
    ls_predictor_close(r.predictor);
    return fclose(o.out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

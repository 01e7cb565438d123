/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of one prediction by one thread: a model file's first output for
 * one row, warm.
 *
 *     bench-predict --init MODEL [--steps BLOCKS] [--metrics F]
 *
 * Writes the metrics form of lockstep-train: a line a block, whose "ms" is the
 * mean of the block's calls. */
#include "training.h"

static int64_t elements(const ls_array_spec *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank; i++)
        n *= s->shape[i];
    return n;
}

static float *room(int64_t n)
{
    float *x = calloc((size_t)n, sizeof *x);

    if (!x)
        exit(EXIT_FAILURE);
    return x;
}

/* Time as many calls as fill a twentieth of a second. */
static void time_block(ls_context *c, const ls_array_spec *in, const float *x,
                       const ls_array_spec *out, float *y, int block, FILE *f)
{
    double start = now_ms(), spent;
    int calls = 0;

    do {
        must(ls_context_set(c, in->name, in->dtype, x, 1));
        must(ls_context_predict(c, out->name, elements(out), y));
        calls++;
        spent = now_ms() - start;
    } while (spent < 50);
    fprintf(f, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g}\n", block,
            (double)y[0], spent / calls);
}

int main(int argc, char **argv)
{
    int blocks = number(argc, argv, "--steps", 20);
    FILE *f = metrics(argc, argv);
    ls_predictor *p;
    ls_context *c;
    ls_array_spec in, out;
    float *x, *y;

    must(ls_predictor_load(&p, option(argc, argv, "--init", "")));
    must(ls_context_open(&c, p, NULL));
    ls_predictor_input(p, 0, &in);
    ls_predictor_output(p, 0, &out);
    x = room(elements(&in));
    y = room(elements(&out));
    if (in.dtype == LS_F32) /* tokens may stay 0 */
        draw(1, 1, elements(&in), x);
    fprintf(f, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int i = 0; i < blocks; i++)
        time_block(c, &in, x, &out, y, i, f);
    free(x);
    free(y);
    ls_context_close(c);
    ls_predictor_close(p);
    return fclose(f) ? EXIT_FAILURE : EXIT_SUCCESS;
}

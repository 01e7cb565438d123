/* SPDX-License-Identifier: BSD-3-Clause */
/* What a trace costs: the same trainer takes a step without one, with one of
 * level 1 and with one of level 2, in turn, many times over.
 *
 *     bench-trace_cost [--small 1] [--workers W] [--steps TURNS] [--metrics F]
 *
 * The model is the tool's lm (two layers of it, so that a turn is short), or
 * with --small two dense layers whose step is some microseconds; a time is then
 * the mean of many steps.  Writes the metrics form of lockstep-train, a line a
 * turn: "ms", "level1" and "level2" are the processor time of a step. */
#include "training.h"

enum { DEVICES = 8, LENGTH = 64, WIDTH = 256, VOCAB = 512, ROWS = 32 };
enum { MANY = 64 }; /* of small steps */

static ls_graph *build(bool small)
{
    int64_t length = small ? 8 : LENGTH;
    ls_graph *g;
    ls_node *tokens, *x;

    must(ls_graph_new(&g));
    tokens = ls_input(g, "x", LS_I32, 1, &length);
    x = ls_embed(tokens, VOCAB, small ? 8 : WIDTH, "embed");
    for (int i = 0; i < 2 && !small; i++)
        x = lm_block(x, i, WIDTH);
    must(ls_loss(g, ls_next_token_loss(ls_dense(x, VOCAB, "head"), tokens)));
    return g;
}

/* Milliseconds of the processor of a step, traced at this level. */
static double time_steps_at(training *r, int level, int steps, ls_result *last)
{
    ls_trace_options o = {.size = sizeof o, .level = level, .events = 8192};
    ls_trace *trace = NULL;
    double before;

    if (level)
        must(ls_trace_open(&trace, r->pool, &o));
    must(ls_step(r->trainer, r->batch, last)); /* all start warm */
    before = processor_ms();
    for (int i = 0; i < steps; i++)
        must(ls_step(r->trainer, r->batch, last));
    before = processor_ms() - before;
    ls_trace_close(trace);
    return before / steps;
}

int main(int argc, char **argv)
{
    bool small = number(argc, argv, "--small", 0);
    int turns = number(argc, argv, "--steps", 100);
    static int32_t tokens[ROWS * LENGTH];
    ls_trainer_options o = ls_trainer_defaults();
    FILE *out = metrics(argc, argv);
    training r = training_open(build(small), DEVICES,
                               number(argc, argv, "--workers", 1), &o);

    ls_random_randint(ls_key_new(1), 0, ROWS * LENGTH, 0, VOCAB, tokens);
    must(ls_batch_set(r.batch, "x", LS_I32, tokens, small ? DEVICES : ROWS));
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int k = 0; k < turns; k++) {
        double ms[3];
        ls_result last;

        for (int i = 0; i < 3; i++)
            ms[i] = time_steps_at(&r, i, small ? MANY : 1, &last);
        fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,\"level1\":%.9g,"
                "\"level2\":%.9g}\n", k, (double)last.loss, ms[0], ms[1],
                ms[2]);
    }
    training_close(&r);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

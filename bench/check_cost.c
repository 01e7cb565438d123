/* SPDX-License-Identifier: BSD-3-Clause */
/* What --check costs, by processor time: trainers of one model, each with
 * another rate, take a round of steps in turn, many times over.  One worker, so
 * that nobody waits, or --workers N, whose waiting for each other counts; and
 * two layers of the tool's lm, or with --small one narrow layer whose step is a
 * fraction of a millisecond.
 *
 *     bench-check_cost [--small 1] [--workers N] [--rounds 50] [--steps 20]
 *
 * A line a round and rate, as CSV, then a line a rate: the sums, what that is
 * more than without a check, and what share of the steps was drawn.
 */
#include "training.h"

#include <string.h>

enum { DEVICES = 8, LENGTH = 64, WIDTH = 256, VOCAB = 512, RATES = 4 };

static const double rate[RATES] = {0, 0.01, 0.1, 1};

typedef struct side {
    training of;
    double ms;     /* of all rounds */
    int64_t drawn; /* before this round */
} side;

static ls_graph *build(bool small)
{
    int64_t length = small ? 8 : LENGTH;
    ls_graph *g;
    ls_node *tokens, *x;

    must(ls_graph_new(&g));
    tokens = ls_input(g, "x", LS_I32, 1, &length);
    x = ls_embed(tokens, VOCAB, small ? 32 : WIDTH, "embed");
    for (int i = 0; i < 2 && !small; i++)
        x = lm_block(x, i, WIDTH);
    must(ls_loss(g, ls_next_token_loss(ls_dense(x, VOCAB, "head"), tokens)));
    return g;
}

static void open_side(side *s, double check, bool small, int workers)
{
    static int32_t tokens[32 * LENGTH];
    ls_trainer_options o = ls_trainer_defaults();

    o.check = check;
    s->of = training_open(build(small), DEVICES, workers, &o);
    ls_random_randint(ls_key_new(1), 0, 32 * LENGTH, 0, VOCAB, tokens);
    must(ls_batch_set(s->of.batch, "x", LS_I32, tokens, small ? 64 : 32));
}

/* The round's line; round 0 warms up and is not counted. */
static void time_round(side *s, int round, int steps, double check)
{
    double start = processor_ms();
    ls_result r;
    ls_checks c;

    for (int i = 0; i < steps; i++)
        must(ls_step(s->of.trainer, s->of.batch, &r));
    start = processor_ms() - start;
    c = ls_trainer_checks(s->of.trainer);
    if (round > 0) {
        printf("%d,%g,%d,%lld,%.4f\n", round, check, steps,
               (long long)(c.drawn - s->drawn), start);
        s->ms += start;
    }
    s->drawn = c.drawn;
}

int main(int argc, char **argv)
{
    bool small = number(argc, argv, "--small", 0);
    int workers = number(argc, argv, "--workers", 1);
    int rounds = number(argc, argv, "--rounds", 50);
    int steps = number(argc, argv, "--steps", 20);
    side s[RATES] = {0};
    int64_t warm[RATES];

    for (int i = 0; i < RATES; i++)
        open_side(&s[i], rate[i], small, workers);
    puts("round,rate,steps,drawn,cpu_ms");
    for (int k = 0; k <= rounds; k++)
        for (int j = 0; j < RATES; j++) {
            int i = (j + k) % RATES;

            time_round(&s[i], k, steps, rate[i]);
            warm[i] = k ? warm[i] : s[i].drawn;
        }
    for (int i = 0; i < RATES; i++) {
        printf("# rate %g: %.3f ms a step, %+.2f %%; drawn %.2f %%\n", rate[i],
               s[i].ms / rounds / steps, 100 * (s[i].ms / s[0].ms - 1),
               100.0 * (double)(s[i].drawn - warm[i]) / rounds / steps);
        training_close(&s[i].of);
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What --check costs, by processor time: trainers of one model, each with
 * another rate, take a turn of steps one after the other, round after round.
 * Where a trainer checks, some of its steps are drawn and the others are not,
 * so that it compares with itself, too.
 *
 *     bench-check_cost --init MODEL.safetensors [--rows R] [--workers W]
 *                      [--turn N] [--steps ROUNDS] [--metrics F] [--csv F]
 *
 * The model and its first parameters are lockstep-train's, its optimizer adam,
 * and there are 8 devices.  Writes the metrics form of lockstep-train, a line a
 * round: "off", "at 0.01" and "at 0.1" are the processor time of a step, of all
 * of the turn; "ms" is the same as "off".  With --csv a row a round and rate,
 * with what the drawn steps took of it; the first round warms up and is not in
 * it.
 */
#include "training.h"

enum { DEVICES = 8, RATES = 3 };

static const double rate[RATES] = {0, 0.01, 0.1};
static const char *const name[RATES] = {"off", "at 0.01", "at 0.1"};

typedef struct side {
    training of;
    int64_t before;      /* steps that were drawn until now */
    int drawn;           /* in this turn */
    double ms, drawn_ms; /* of it, and of those */
    ls_result last;
} side;

static void take_turn(side *s, int steps)
{
    s->ms = s->drawn_ms = s->drawn = 0;
    for (int i = 0; i < steps; i++) {
        double start = processor_ms();
        int64_t drawn;

        must(ls_step(s->of.trainer, s->of.batch, &s->last));
        start = processor_ms() - start;
        drawn = ls_trainer_health(s->of.trainer).drawn;
        s->ms += start;
        s->drawn_ms += drawn > s->before ? start : 0;
        s->drawn += (int)(drawn - s->before);
        s->before = drawn;
    }
}

static void tell(const side s[RATES], int round, int steps, FILE *out)
{
    fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g", round,
            (double)s[0].last.loss, s[0].ms / steps);
    for (int i = 0; i < RATES; i++)
        fprintf(out, ",\"%s\":%.9g", name[i], s[i].ms / steps);
    fputs("}\n", out);
}

static void write_rows(const side s[RATES], int round, int steps, FILE *csv)
{
    if (!csv)
        return;
    if (round == 0)
        fputs("round,rate,steps,drawn,cpu_ms,drawn_ms\n", csv);
    for (int i = 0; i < RATES && round > 0; i++)
        fprintf(csv, "%d,%g,%d,%d,%.4f,%.4f\n", round, rate[i], steps,
                s[i].drawn, s[i].ms, s[i].drawn_ms);
}

int main(int argc, char **argv)
{
    const char *path = option(argc, argv, "--init", "");
    int rows = number(argc, argv, "--rows", 32);
    int workers = number(argc, argv, "--workers", 1);
    int rounds = number(argc, argv, "--steps", 10);
    int steps = number(argc, argv, "--turn", 20);
    FILE *csv = open_file(option(argc, argv, "--csv", NULL));
    ls_trainer_options o = ls_trainer_defaults();
    FILE *out = metrics(argc, argv);
    side s[RATES] = {0};

    o.optimizer = ls_adam(1e-3);
    for (int i = 0; i < RATES; i++) {
        o.check = rate[i];
        s[i].of = training_load(path, DEVICES, workers, rows, &o);
    }
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    for (int k = 0; k < rounds; k++) {
        for (int j = 0; j < RATES; j++)
            take_turn(&s[(j + k) % RATES], steps);
        tell(s, k, steps, out);
        write_rows(s, k, steps, csv);
        fflush(NULL);
    }
    for (int i = 0; i < RATES; i++)
        training_close(&s[i].of);
    return 0;
}

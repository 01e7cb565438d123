/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transcript costs: one trainer takes N steps without one and N with
 * one, in turn, N being the number of batches from one state line to the next,
 * so that each turn with it has one root; then the lines and the root of N
 * steps are made once more with no step between them, which tells what is too
 * little to be seen in the steps.
 *
 *     bench-transcript_cost --init MODEL.safetensors [--rows R] [--workers W]
 *                           [--steps TURNS] [--every N] [--metrics F] [--csv F]
 *
 * The model and its first parameters are lockstep-train's, adam its optimizer.
 * Writes the metrics form of lockstep-train, a line for a turn of each kind:
 * "without", "with" and "apart" are the processor time of a step, or of what
 * the transcript does for one; "ms" is the same as "with", "every" is N.  With
 * --csv the same as rows of a table.  The transcript is gone with the
 * program. */
#include "training.h"

#include <lockstep/transcript.h>

typedef struct run {
    training of;
    ls_transcript *transcript;
    int64_t every, done; /* steps on the transcript */
    ls_result last;
} run;

/* The processor time of one of N steps, or of what each of them has. */
static double turn(run *r, bool steps, bool transcript)
{
    double before = processor_ms();

    for (int64_t i = 0; i < r->every; i++) {
        if (steps)
            must(ls_step(r->of.trainer, r->of.batch, &r->last));
        if (transcript)
            must(ls_transcript_step(r->transcript, r->done++, &r->last));
        if (transcript && ls_transcript_is_due(r->transcript))
            must(ls_transcript_state(r->transcript, 0, NULL));
    }
    return (processor_ms() - before) / (double)r->every;
}

static void measure(run *r, int turns, FILE *out, FILE *csv)
{
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"}}\n", ls_version());
    if (csv)
        fprintf(csv, "turn,every,without_ms,with_ms,apart_ms\n");
    for (int i = 0; i < turns; i++) {
        double without = turn(r, true, false), with = turn(r, true, true);
        double apart = turn(r, false, true);

        fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"every\":%lld,\"ms\":%.9g,"
                "\"with\":%.9g,\"without\":%.9g,\"apart\":%.9g}\n", i,
                (double)r->last.loss, (long long)r->every, with, with, without,
                apart);
        if (csv)
            fprintf(csv, "%d,%lld,%.6g,%.6g,%.6g\n", i, (long long)r->every,
                    without, with, apart);
        fflush(NULL);
    }
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
    int64_t rows = number(argc, argv, "--rows", 32);
    FILE *csv = open_file(option(argc, argv, "--csv", NULL));
    FILE *out = metrics(argc, argv);
    ls_trainer_options o = ls_trainer_defaults();
    run r = {.every = number(argc, argv, "--every", 0)};

    o.optimizer = ls_adam(1e-3);
    r.of = training_load(option(argc, argv, "--init", ""), 2,
                         number(argc, argv, "--workers", 1), rows, &o);
    r.transcript = open_transcript(r.of.trainer, rows, &r.every);
    measure(&r, number(argc, argv, "--steps", 10), out, csv);
    ls_transcript_close(r.transcript);
    training_close(&r.of);
    return 0;
}

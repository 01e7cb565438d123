/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a run, one after the other, and what is said of each. */
#include "train/session.h"
#include "train/stop.h"

#include <math.h>
#include <stdio.h>

/* Sums with the weight of each step; true, and a line, when the epoch is over.
 */
static bool count_epoch(session *s, const ls_result *result)
{
    int64_t done = result->step + 1, batches = s->run.data.batches;
    position *at = &s->at;

    if (result->weight > 0) {
        at->loss += result->weight * (double)result->loss;
        at->right += result->weight * (double)result->accuracy;
        at->weight += result->weight;
    }
    if (done % batches)
        return false;
    if (lines_has_epoch(&s->lines, done)) {
        progress_clear(&s->bar);
        lines_epoch(&s->lines, done / batches, at->loss / at->weight,
                    s->run.set.model.regression ? (double)NAN
                                                : at->right / at->weight);
    }
    at->loss = at->right = at->weight = 0;
    return true;
}

static int fill(session *s, int64_t step, int64_t *rows)
{
    ls_mark mark = ls_mark_begin(s->run.pool, "data");
    int status = data_fill(&s->run.data, step, s->run.batch, rows);

    ls_mark_end(s->run.pool, mark);
    return status;
}

static int write_metrics(session *s, const ls_result *result, int64_t rows,
                         double ms)
{
    ls_mark mark = ls_mark_begin(s->run.pool, "metrics");
    int status = metrics_step(&s->metrics, result, rows, ms);

    ls_mark_end(s->run.pool, mark);
    return status;
}

/* The metrics are flushed first, so that they reach as far as what is saved. */
static int keep(session *s)
{
    char note[LS_TRANSCRIPT_NOTE];
    int status = metrics_flush(&s->metrics);
    ls_mark mark;

    if (status == OPT_GO)
        status = session_save_held(s);
    if (status != OPT_GO || !s->set.checkpoint)
        return status;
    mark = ls_mark_begin(s->run.pool, "checkpoint");
    s->at.epoch = run_epoch(&s->run, s->at.done);
    s->at.metrics = metrics_size(&s->metrics);
    keeper_save(&s->keeper, &s->run, &s->at,
                transcriber_note(&s->transcriber, note));
    ls_mark_end(s->run.pool, mark);
    return OPT_GO;
}

/* The batch's loss is no number; say why, once. */
static void tell_empty(session *s, int64_t step)
{
    progress_clear(&s->bar);
    if (!s->told_empty && launch_first(&s->launch))
        fprintf(stderr, "note: step %lld: all rows have weight 0, or a label "
                "below 0, so nothing is updated\n", (long long)step);
    s->told_empty = true;
}

/* Record an evaluation, and what followed from it; `before` is the share of the
 * rate's peak that there was. */
static int record_evaluation(session *s, double before)
{
    transcriber *r = &s->transcriber;
    double now = s->at.score.plateau.scale;
    int status = transcriber_evaluation(r, &s->at, s->eval.accuracy);

    if (status == OPT_GO && now != before)
        status = transcriber_plateau(r, now);
    if (status == OPT_GO && s->eval.enough)
        status = transcriber_stop_event(r, &s->at);
    return status;
}

/* May weights that are as good as those of the file be held, to be written
 * later?  The trainer's are set for that, which a transcript would tell. */
static bool may_hold(const session *s)
{
    return s->set.save && !s->run.transport && !s->run.how.ema &&
           !s->set.transcript && !s->set.against && !s->set.heal;
}

/* Take the best weights.  The file is that of the best from the moment that
 * they are better: whatever ends the run, it is there. */
static int take_best(session *s, bool as_good)
{
    int status = as_good && may_hold(s) ? held_take(&s->held, s->run.trainer)
                                        : session_save(s);

    if (!as_good)
        s->held.waits = false;
    s->at.score.is_saved = s->saves;
    s->held_at = s->at.done;
    return status;
}

static int evaluate_now(session *s, int64_t done)
{
    const score *so_far = &s->at.score;
    double before = so_far->plateau.scale, best = so_far->stop.best;
    bool saved = so_far->is_saved;
    int status = evaluate(&s->eval, done);

    s->at.waits = s->eval.figures.stopped != 0;
    if (s->at.waits)
        return status;
    if (status == OPT_GO)
        curve_add(&s->curve.evaluation, done, s->at.score.loss);
    if (status == OPT_GO)
        status = record_evaluation(s, before);
    if (status != OPT_GO || !s->eval.keeps || !evaluation_better(&s->eval))
        return status;
    status = transcriber_saved(&s->transcriber);
    return status == OPT_GO
               ? take_best(s, saved && so_far->stop.best == best) : status;
}

int session_record(session *s)
{
    return transcriber_open(&s->transcriber, &s->run, &s->set, &s->at,
                            keeper_transcript(&s->keeper), &s->search,
                            s->eval.keeps && !s->of_old);
}

/* Reopens the files that are the run's, and not a step's: they are cut back to
 * the checkpoint, as on a resume. */
static int reopen(session *s)
{
    int status = metrics_close(&s->metrics);

    transcriber_close(&s->transcriber);
    curve_back(&s->curve, s->at.done);
    s->eval.enough = s->eval.best.kept = false;
    if (status == OPT_GO)
        status = metrics_open(&s->metrics, &s->run, s->set.metrics,
                              s->at.metrics, s->at.done);
    return status == OPT_GO ? session_record(s) : status;
}

/* Go back, with --check :heal, once a fault was found, on whichever rank. */
static int go_back(session *s, int64_t done)
{
    char note[LS_TRANSCRIPT_NOTE];
    bool went = false;
    int status = metrics_flush(&s->metrics);

    (void)transcriber_note(&s->transcriber, note); /* it is on disk then */
    if (status == OPT_GO)
        status = healing_back(&s->healing, &s->run, &s->keeper,
                              s->set.transcript, &s->at, done, &went);
    if (status == OPT_GO && !went)
        return opt_fail(OPT_FAILED, "--check:heal: %s holds no checkpoint to "
                        "go back to", s->set.checkpoint);
    if (s->held_at > s->at.done) /* those of a faulty step are in the file */
        s->at.score.is_saved = 0;
    return status == OPT_GO ? reopen(s) : status;
}

/* Compute a step, and tell what its check found on this rank. */
static int compute(session *s, int64_t step, ls_result *result)
{
    int status = step_recorder_step(&s->look, &s->run, &s->at, result);

    if (status != OPT_GO)
        return status;
    result->step = step; /* batches count here, those of weight 0 too */
    status = healing_step(&s->healing, &s->launch, &s->run);
    if (status == OPT_GO && s->healing.mine.wrong) {
        progress_clear(&s->bar);
        healing_tell(&s->healing, &s->run, &s->set);
    }
    return status;
}

/* Print and write the result of a step, with its rows and milliseconds. */
static int show(session *s, const ls_result *result, int64_t rows, double ms)
{
    int64_t step = result->step;
    bool has_line = lines_has_step(&s->lines, step);
    int status;

    if (!result->updated)
        tell_empty(s, step);
    curve_add(&s->curve.training, step + 1, (double)result->loss);
    status = write_metrics(s, result, rows, ms);
    healing_note(&s->healing, &s->metrics);
    if (status != OPT_GO)
        return status;
    if (has_line) {
        progress_clear(&s->bar);
        lines_step(&s->lines, step, (double)result->loss);
    }
    if (s->run.model->epochs && s->run.data.batches)
        has_line |= count_epoch(s, result);
    return has_line ? opt_end(metrics_flush(&s->metrics)) : OPT_GO;
}

/* Does what follows a step.  Where a signal cuts the evaluation short, the run
 * that goes on does all of it. */
static int follow(session *s)
{
    int64_t done = s->at.done;
    int status = OPT_GO;

    if (evaluation_due(&s->eval, done)) {
        if (lines_has_evaluation(&s->lines, done) || s->set.plateau)
            progress_clear(&s->bar);
        status = evaluate_now(s, done);
    }
    if (status == OPT_GO && s->at.waits)
        return OPT_GO;
    if (status == OPT_GO)
        status = step_recorder_follow(&s->look, &s->run, &s->at);
    if (status == OPT_GO)
        status = transcriber_rest(&s->transcriber, &s->at);
    if (status == OPT_GO)
        status = healing_compare(&s->healing, &s->run, &s->at);
    if (status == OPT_GO && keeper_due(&s->keeper, done))
        status = keep(s);
    return status;
}

static int one_step(session *s, int64_t step)
{
    ls_result result;
    int64_t rows;
    double start;
    int status = fill(s, step, &rows);

    if (status != OPT_GO)
        return status;
    start = opt_seconds();
    if ((status = compute(s, step, &result)) != OPT_GO)
        return status;
    if (s->set.heal && healing_is_late(&s->healing, &s->run))
        return go_back(s, step + 1);
    status = healing_arrive(&s->healing, &s->run, step + 1);
    if (status == OPT_GO)
        status = transcriber_step(&s->transcriber, &result);
    if (status != OPT_GO)
        return status;
    status = show(s, &result, rows, 1e3 * (opt_seconds() - start));
    s->at.done = step + 1;
    if (status == OPT_GO)
        status = follow(s);
    progress_step(&s->bar, step + 1, result.loss, rows);
    return status;
}

/* Nothing is read while a step is computed that it could wait for; say so with
 * a number where files are read. */
static void tell_waiting(const session *s, double seconds)
{
    const ls_loader *loader = s->run.data.loader;
    double waited = loader ? ls_loader_seconds(loader) : 0;
    double unit = seconds < 1 ? 1e3 : 1;

    if ((s->run.set.data.x || s->run.set.data.path) && loader &&
        s->run.set.data.steps)
        fprintf(stderr, "waited for data: %.3f of %.3f %s (%.2f %%)\n",
                unit * waited, unit * seconds, unit > 1 ? "ms" : "s",
                100 * waited / seconds);
}

static void tell_end(session *s)
{
    if (!s->eval.enough)
        return;
    progress_clear(&s->bar);
    printf("[lockstep] eval none better in %lld: the end, after step %04lld\n",
           (long long)s->at.score.stop.since, (long long)s->at.done);
}

/* The last step; a run with --stop-at ends before its schedule does. */
static int64_t last_step(const session *s)
{
    int64_t at = s->set.stop_at, steps = s->run.set.data.steps;

    return at && at < steps ? at : steps;
}

int session_train(session *s)
{
    int status = OPT_GO;

    stop_open();
    progress_start(&s->bar, s->at.done, s->run.set.data.steps);
    if (s->at.waits)
        status = follow(s);
    else if (s->run.set.data.steps == 0 && evaluation_due(&s->eval, 0))
        status = evaluate_now(s, 0);
    s->stopped = s->eval.figures.stopped;
    if (status == OPT_GO && s->at.done == 0 &&
        (s->set.keep_first || s->set.heal))
        status = keep(s);
    while (s->at.done < last_step(s) && status == OPT_GO && !s->stopped &&
           !s->eval.enough) {
        status = one_step(s, s->at.done);
        stall_step(&s->watchdog, s->at.done);
        if (status == OPT_GO)
            status = stop_asked(&s->run, &s->stopped);
    } /* where a signal came, the run ends as if the step were the last */
    if (status == OPT_GO)
        tell_end(s);
    stall_close(&s->watchdog);
    progress_clear(&s->bar);
    if (status == OPT_GO && s->run.set.data.steps)
        status = evaluation_sum(&s->eval);
    if (!s->stopped)
        s->stopped = s->eval.figures.stopped;
    if (status == OPT_GO && launch_first(&s->launch))
        tell_waiting(s, opt_seconds() - s->bar.started);
    return status == OPT_GO ? keep(s) : session_leave(s, status);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-train: train a model from the command line.
 *
 * The run is a list of stages; each goes on, or has said what is wrong and
 * gives the exit status.  Results go to stdout, remarks to stderr. */
#include "data/normal.h"
#include "model/adapt.h"
#include "run/launch.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/sample.h"
#include "run/writable.h"
#include "train/close_look.h"
#include "train/curve.h"
#include "train/evaluate.h"
#include "train/explain.h"
#include "train/healing.h"
#include "train/keeper.h"
#include "train/metrics.h"
#include "train/recorder.h"
#include "train/stall.h"
#include "train/stop.h"

#include <lockstep/torch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-train";

typedef struct session {
    launch launch;
    run run;
    train_settings set;
    metrics metrics;
    progress bar;
    ls_trace *trace;
    stall watchdog;
    keeper keeper;
    recorder recorder;
    healing healing;
    position at;
    evaluation eval;
    explain explain;
    close_look look;
    curve curve;
    bool saves;      /* --save: the first rank writes, all prepare it */
    bool told_empty; /* of a batch whose weights are all 0 */
    int stopped;     /* the signal that ends the run, on whichever rank */
} session;

/* What only the first rank writes, the others do not know of. */
static int check_ranks(session *s)
{
    train_settings *set = &s->set;

    s->run.transport = s->launch.transport;
    s->saves = set->save != NULL;
    if (!s->launch.transport)
        return OPT_GO;
    if (set->explain)
        return opt_fail(OPT_WRONG, "--explain is for a single process, not for "
                        "%d ranks", s->launch.transport->ranks);
    if (!launch_first(&s->launch))
        set->save = set->trace = set->metrics = set->curve = NULL;
    return OPT_GO;
}

/* ------ Options that do not go together ------ */

static int check_usage(session *s)
{
    const train_settings *set = &s->set;
    run *r = &s->run;
    int status = run_check(r);

    r->sums = set->checkpoint || set->transcript || set->against;
    r->sums_held = set->plateau > 0;
    if (status == OPT_GO)
        status = change_check(r, set->change);
    if (status == OPT_GO)
        status = close_look_open(&s->look, r, set);
    return status == OPT_GO && set->explain ? explain_check(r) : status;
}

static int check_writable(session *s)
{
    const train_settings *set = &s->set;
    const apart_file file[] = {{"--save", set->save, APART_REPLACED},
                               {"--record", s->look.path, APART_REPLACED},
                               {"--trace", set->trace, APART_ASIDE},
                               {"--plot", set->curve, APART_WRITTEN},
                               {"--metrics", set->metrics, APART_WRITTEN},
                               {"--transcript", set->transcript,
                                APART_WRITTEN},
                               {"--augment-show",
                                s->run.set.data.augment_show, APART_ASIDE}};
    int n = sizeof file / sizeof *file;
    int status = writable_check_folder(set->checkpoint);

    if (status == OPT_GO)
        status = writable_check(n, file);
    if (status == OPT_GO)
        status = writable_check_plot(set->curve);
    return status == OPT_GO ? run_check_apart(&s->run, n, file) : status;
}

/* ------ Stages before the first step ------ */

static void tell_batch(const data *d)
{
    if (d->usual)
        fprintf(stderr, "note: %lld rows a batch, not %lld: there are %lld\n",
                (long long)d->batch, (long long)d->usual, (long long)d->rows);
}

static int open_run(session *s)
{
    const train_settings *set = &s->set;
    run *r = &s->run;
    int status = run_open_mesh(r);

    if (status == OPT_GO)
        status = run_open_data(r);
    if (status == OPT_GO)
        status = figures_check(r, set->top_k);
    if (status == OPT_GO && (set->eval_every || r->set.data.eval_path ||
                             set->early_stop || set->plateau))
        status = evaluation_check(r, set);
    if (status != OPT_GO)
        return status;
    if (launch_first(&s->launch)) {
        run_talk(r);
        tell_batch(&r->data);
    }
    status = run_open_pool(r);
    return status == OPT_GO ? run_open_trainer(r) : status;
}

static int open_keeper(session *s)
{
    int status = keeper_compare(&s->run, &s->set);

    if (status != OPT_GO)
        return status;
    return keeper_open(&s->keeper, &s->run, &s->set, &s->at);
}

/* A run that goes on has its parameters. */
static int init(session *s)
{
    const start_settings *set = &s->run.set.start;
    const char *names = adapt_init_names(set);
    int status;

    if (!set->init || s->keeper.went_on)
        return OPT_GO;
    if (set->init_names && set->init_layout != INIT_TORCH)
        return opt_fail(OPT_WRONG, "--init-names is for --init-layout torch");
    if (set->init_layout == INIT_TORCH)
        status = ls_trainer_load_torch(s->run.trainer, set->init, names,
                                       set->init_names);
    else
        status = ls_trainer_load(s->run.trainer, set->init, names);
    status = opt_check(status);
    return status == OPT_GO ? adapt_load(s->run.trainer, set) : status;
}

static int open_metrics(session *s)
{
    if (!run_is_portable(&s->run))
        puts("bits: not portable");
    return metrics_open(&s->metrics, &s->run, s->set.metrics, s->at.metrics,
                        s->at.done);
}

/* Comes after the metrics, whose first lines are the run's. */
static int open_recorder(session *s)
{
    return recorder_open(&s->recorder, &s->run, &s->set, &s->at,
                         keeper_transcript(&s->keeper));
}

static int open_trace(session *s)
{
    ls_trace_options o = ls_trace_defaults();

    o.level = (int)s->set.trace_level;
    if (!s->set.trace)
        return OPT_GO;
    return opt_check(ls_trace_open(&s->trace, s->run.pool, &o));
}

static int open_watchdog(session *s)
{
    int error = stall_open(&s->watchdog, s->run.pool, s->run.mesh,
                           s->set.stall_seconds, stderr);

    if (error)
        return opt_fail(OPT_FAILED, "--stall-seconds: no thread: %s",
                        strerror(error));
    return OPT_GO;
}

/* ------ Saving ------ */

/* The model, and of a table what its columns are, of images what becomes of
 * them. */
static int write_model(session *s)
{
    const data *d = &s->run.data;
    ls_setting note = {NORMAL_KEY, d->images};

    if (!s->set.save)
        return OPT_GO;
    if (d->table)
        note = (ls_setting){LS_CODING_NOTE, ls_coding_note(data_coding(d))};
    return adapt_save(s->run.trainer, &s->run.set.start, s->set.save,
                      note.value != NULL, &note);
}

/* Saves the weights, with --ema the average. */
static int save(session *s)
{
    int status = s->saves ? run_average(&s->run, true) : OPT_GO, back;

    if (!s->saves || status != OPT_GO)
        return status;
    status = write_model(s);
    back = run_average(&s->run, false);
    return status == OPT_GO ? back : status;
}

/* Saves at the end, unless the best weights are there already. */
static int save_last(session *s)
{
    bool best = s->set.early_stop && s->at.score.is_saved;

    return best ? OPT_GO : save(s);
}

/* ------ The steps ------ */

static int log_line(session *s, const ls_result *result)
{
    progress_clear(&s->bar);
    printf("[lockstep] step %04lld  loss %.4f\n", (long long)result->step,
           opt_shown((double)result->loss));
    return opt_end(metrics_flush(&s->metrics));
}

/* Sums with the weight of each step; a line when the epoch is over. */
static int count_epoch(session *s, const ls_result *result)
{
    int64_t done = result->step + 1, batches = s->run.data.batches;

    if (result->weight > 0) {
        s->at.loss += result->weight * (double)result->loss;
        s->at.right += result->weight * (double)result->accuracy;
        s->at.weight += result->weight;
    }
    if (done % batches)
        return OPT_GO;
    progress_clear(&s->bar);
    printf("Epoch %lld: Loss=%.4f", (long long)(done / batches),
           opt_shown(s->at.loss / s->at.weight));
    if (!s->run.set.model.regression)
        printf(", Acc=%.4f", opt_shown(s->at.right / s->at.weight));
    putchar('\n');
    s->at.loss = s->at.right = s->at.weight = 0;
    return opt_end(metrics_flush(&s->metrics));
}

static bool wants_log(const session *s, int64_t step)
{
    int64_t every = s->set.log_every;

    return every && (step % every == 0 || step == s->run.set.data.steps - 1);
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

    if (status != OPT_GO)
        return status;
    mark = ls_mark_begin(s->run.pool, "checkpoint");
    s->at.epoch = run_epoch(&s->run, s->at.done);
    s->at.metrics = metrics_size(&s->metrics);
    keeper_save(&s->keeper, &s->run, &s->at,
                recorder_note(&s->recorder, note));
    ls_mark_end(s->run.pool, mark);
    return OPT_GO;
}

/* Its loss is no number; say why, once. */
static void tell_empty(session *s, int64_t step)
{
    progress_clear(&s->bar);
    if (!s->told_empty && launch_first(&s->launch))
        fprintf(stderr, "note: step %lld: all rows have weight 0, or a label "
                "below 0, so nothing is updated\n", (long long)step);
    s->told_empty = true;
}

/* Evaluate.  With --early-stop the file is that of the best weights, from the
 * moment that they are the best: whatever ends the run, it is there. */
static int evaluate_now(session *s, int64_t done)
{
    int status = evaluate(&s->eval, done);

    if (status == OPT_GO)
        curve_add(&s->curve.evaluation, done, s->at.score.loss);
    if (status == OPT_GO)
        status = recorder_evaluation(&s->recorder, &s->at, s->eval.accuracy);
    if (status == OPT_GO && s->set.early_stop && evaluation_better(&s->eval)) {
        status = save(s);
        s->at.score.is_saved = s->saves;
    }
    return status;
}

static int one_step(session *s, int64_t step)
{
    ls_result result;
    int64_t rows;
    double start;
    int status = fill(s, step, &rows);

    if (status == OPT_GO && s->set.explain)
        status = explain_begin(&s->explain, &s->run, step);
    if (status != OPT_GO)
        return status;
    start = progress_clock();
    status = close_look_step(&s->look, &s->run, step, &result);
    if (status == OPT_GO)
        status = explain_end(&s->explain, &result);
    if (status != OPT_GO)
        return status;
    result.step = step; /* batches count here, those of weight 0 too */
    if ((status = recorder_step(&s->recorder, &result)) != OPT_GO)
        return status;
    if (!result.updated)
        tell_empty(s, step);
    curve_add(&s->curve.training, step + 1, (double)result.loss);
    status = write_metrics(s, &result, rows, 1e3 * (progress_clock() - start));
    if (healing_step(&s->healing, s->run.trainer)) {
        progress_clear(&s->bar);
        healing_tell(&s->healing, &s->metrics);
    }
    if (status == OPT_GO && wants_log(s, step))
        status = log_line(s, &result);
    if (status == OPT_GO && s->run.model->epochs && s->run.data.batches)
        status = count_epoch(s, &result);
    if (status == OPT_GO && evaluation_due(&s->eval, step + 1)) {
        progress_clear(&s->bar);
        status = evaluate_now(s, step + 1);
    }
    s->at.done = step + 1;
    progress_step(&s->bar, step + 1, result.loss, rows);
    if (status == OPT_GO)
        status = recorder_rest(&s->recorder, &s->at);
    if (status == OPT_GO && keeper_due(&s->keeper, s->at.done))
        status = keep(s);
    return status;
}

static int write_curve(session *s)
{
    if (!s->set.curve)
        return OPT_GO;
    curve_show(&s->curve, stderr);
    return curve_write(&s->curve, s->set.curve, run_model_name(&s->run));
}

static int write_trace(session *s)
{
    if (!s->trace)
        return OPT_GO;
    return opt_check(ls_trace_write(s->trace, s->set.trace));
}

/* Leave after a failure, which gives the status: the trainer is as the last
 * good step left it, and hours of training are not thrown away; but neither
 * what no update has changed nor what is no number replaces what was saved
 * before. */
static int leave(session *s, int status)
{
    write_trace(s);
    if (s->set.save && !s->set.early_stop &&
        ls_trainer_step(s->run.trainer) > 0 &&
        ls_trainer_check(s->run.trainer) == 0 && save(s) == OPT_GO)
        fprintf(stderr, "%s: %s: the parameters after %lld updates\n",
                opt_program_name, s->set.save,
                (long long)ls_trainer_step(s->run.trainer));
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
    if (!evaluation_enough(&s->eval))
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

static int train(session *s)
{
    int status = OPT_GO;

    if ((status = evaluation_open(&s->eval, &s->run, &s->set, &s->at.score)) !=
        OPT_GO)
        return status;
    stop_open();
    progress_start(&s->bar, s->at.done, s->run.set.data.steps);
    if (s->run.set.data.steps == 0 && evaluation_due(&s->eval, 0))
        status = evaluate_now(s, 0);
    for (int64_t i = s->at.done; i < last_step(s) && status == OPT_GO &&
                                 !evaluation_enough(&s->eval);
         i++) {
        status = one_step(s, i);
        stall_step(&s->watchdog, i + 1);
        if (status == OPT_GO)
            s->stopped = launch_most(&s->launch, stop_signal());
        if (s->stopped)
            break; /* a step is done: the run ends as if it were the last */
    }
    if (status == OPT_GO)
        tell_end(s);
    stall_close(&s->watchdog);
    progress_clear(&s->bar);
    if (status == OPT_GO && s->run.set.data.steps)
        status = evaluation_sum(&s->eval);
    if (status == OPT_GO && launch_first(&s->launch))
        tell_waiting(s, progress_clock() - s->bar.started);
    return status == OPT_GO ? keep(s) : leave(s, status);
}

static int sample_text(session *s)
{
    sample want = {.model = run_model_name(&s->run),
                   .key = sample_key(s->run.set.data.seed),
                   .temperature = s->set.temperature,
                   .count = s->set.sample};
    int status = run_average(&s->run, true), back;
    sampler *writer = NULL;

    if (status != OPT_GO)
        return status;
    status = opt_check(ls_predictor_open(&want.predictor, s->run.trainer));
    if (status == OPT_GO)
        status = sample_open(&writer, &want);
    if (status == OPT_GO)
        status = sample_print(writer, stdout);
    sample_close(writer);
    ls_predictor_close(want.predictor);
    back = run_average(&s->run, false);
    return opt_end(status == OPT_GO ? back : status);
}

/* A run that was stopped has no end: it is gone on with, or compared as far as
 * it came. */
static int end_recorder(session *s)
{
    bool whole = !s->stopped && !s->set.stop_at;

    if (whole)
        return recorder_end(&s->recorder, &s->at, s->saves);
    recorder_stop(&s->recorder, &s->at);
    return OPT_GO;
}

/* Print the root of runs that keep something which has it too. */
static int print_root(session *s)
{
    const train_settings *set = &s->set;
    char root[65];
    int status;

    if (!set->transcript && !set->against && !set->checkpoint)
        return OPT_GO;
    status = opt_check(keeper_root(&s->run, &s->at, root));
    if (status == OPT_GO)
        printf("root %s\n", root);
    return status;
}

static int finish(session *s)
{
    char hex[65];
    int status = metrics_close(&s->metrics);
    int kept = keeper_finish(&s->keeper);

    if (status == OPT_GO)
        status = opt_check(ls_trainer_check(s->run.trainer));
    if (status == OPT_GO && s->set.sample && !s->stopped)
        status = sample_text(s);
    if (status != OPT_GO)
        return leave(s, status);
    status = write_trace(s);
    if (write_curve(s) != OPT_GO)
        status = OPT_FAILED;
    if (save_last(s) != OPT_GO)
        status = OPT_FAILED;
    if (status == OPT_GO)
        status = end_recorder(s);
    if (status == OPT_GO)
        status = close_look_close(&s->look);
    if (print_root(s) != OPT_GO)
        return OPT_FAILED;
    if (ls_trainer_hash(s->run.trainer, hex) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    printf("state %s\n", hex);
    if (launch_first(&s->launch))
        healing_end(&s->healing, &s->run);
    return opt_end(status == OPT_GO ? kept : status);
}

/* ------ */

/* clang-format off */
static int (*const stages[])(session *s) = {
    check_ranks, check_usage, check_writable, open_run, open_keeper, init,
    open_metrics, open_recorder, open_trace, open_watchdog, train, finish,
};
/* clang-format on */

static void close_all(session *s)
{
    if (s->metrics.file)
        fclose(s->metrics.file); /* after a failure, which is the message */
    stall_close(&s->watchdog);
    ls_trace_close(s->trace);
    explain_free(&s->explain);
    evaluation_close(&s->eval);
    recorder_close(&s->recorder);
    keeper_close(&s->keeper);
    run_close(&s->run);
}

int main(int argc, char **argv)
{
    static session s; /* 30 kB that a small stack need not have (ulimit -s) */
    int status;

    ls_blis_tune();
    run_program(&s.run,
                "Train a model data-parallel on the cores of this machine.",
                &(run_own){train_report_options, train_keep_options, &s.set});
    s.run.program.paths = 1; /* of --record */
    status = launch_open(&s.launch);
    if (status == OPT_GO)
        status = run_parse(&s.run, argc, argv);
    status = launch_agree(&s.launch, status, false);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && status == OPT_GO;
         i++)
        status = stages[i](&s);
    close_all(&s);
    status = launch_close(&s.launch, status);
    return status == OPT_DONE ? 0 : stop_status(status);
}

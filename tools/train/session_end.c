/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a run: saving, writing, the last messages. */
#define _GNU_SOURCE
#include "data/normal.h"
#include "model/adapt.h"
#include "opt/characters.h"
#include "run/sample.h"
#include "train/publish.h"
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>

/* ------ Saving ------ */

/* The model, and of a table what its columns are, of images what becomes of
 * them. */
static int write_model(session *s)
{
    const data *d = &s->run.data;
    ls_setting note[2];
    char head[65];
    int n = 0;

    if (!s->set.save)
        return OPT_GO;
    if (onnx_file_is(s->set.save))
        return opt_check(ls_onnx_save(s->run.set.model.network.onnx,
                                      s->run.trainer, s->set.save));
    if (d->table)
        note[n++] = (ls_setting){LS_CODING_NOTE,
                                 ls_coding_note(data_coding(d))};
    else if (d->images)
        note[n++] = (ls_setting){NORMAL_KEY, d->images};
    if (transcriber_head(&s->transcriber, head))
        note[n++] = (ls_setting){"lockstep.transcript", head};
    return adapt_save(s->run.trainer, &s->run.set, s->set.save, n, note,
                      s->run.set.model.calibrate ? s->eval.temperature : 0);
}

int session_save(session *s)
{
    int status = s->saves ? run_average(&s->run, true) : OPT_GO, back;

    if (!s->saves || status != OPT_GO)
        return status;
    status = write_model(s);
    s->saved = status == OPT_GO;
    back = run_average(&s->run, false);
    return status == OPT_GO ? back : status;
}

int session_save_held(session *s)
{
    int status, back;

    if (!s->held.waits)
        return OPT_GO;
    s->held.waits = false;
    if ((status = held_swap(&s->held, s->run.trainer)) != OPT_GO)
        return status;
    status = session_save(s);
    back = held_swap(&s->held, s->run.trainer);
    return status == OPT_GO ? back : status;
}

/* Has the file of --save the best weights already? */
static bool has_saved_best(const session *s)
{
    return evaluation_has_best(&s->eval) && s->at.score.is_saved;
}

/* ------ The end ------ */

static int write_curve(session *s)
{
    if (!s->set.curve)
        return OPT_GO;
    if (evaluation_has_best(&s->eval))
        s->curve.best = s->at.score.best_step;
    curve_show(&s->curve, stderr);
    return curve_write(&s->curve, s->set.curve, run_model_name(&s->run));
}

static int write_trace(session *s)
{
    int64_t lost;

    if (!s->trace)
        return OPT_GO;
    if ((lost = ls_trace_dropped(s->trace)) > 0)
        fprintf(stderr, "note: the trace lacks its first %lld event%s\n",
                (long long)lost, opt_s(lost));
    return opt_check(ls_trace_write(s->trace, s->set.trace));
}

/* Save for a run that failed.  One of several ranks leaves out the average: all
 * would have to take it together, and others may not know of the failure. */
static int save_now(session *s)
{
    return s->run.transport ? write_model(s) : session_save(s);
}

int session_leave(session *s, int status)
{
    write_trace(s);
    session_save_held(s);
    if (s->set.save && !has_saved_best(s) &&
        ls_trainer_step(s->run.trainer) > 0 &&
        ls_trainer_check(s->run.trainer) == 0 && save_now(s) == OPT_GO)
        fprintf(stderr, "%s: %s: the parameters after %lld update%s\n",
                opt_program_name, characters_shown(s->set.save),
                (long long)ls_trainer_step(s->run.trainer),
                opt_s(ls_trainer_step(s->run.trainer)));
    return status;
}

static int sample_text(session *s)
{
    sample want = {.pool = s->run.pool,
                   .model = run_model_name(&s->run),
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
static int end_transcriber(session *s)
{
    bool whole = !s->stopped && !s->set.stop_at;
    bool best = evaluation_has_best(&s->eval);
    bool named = s->set.save && !onnx_file_is(s->set.save);
    bool saved = named && (s->set.against ? s->saved : s->saves &&
                           (!best || has_saved_best(s)));
    int status = whole && !best ? transcriber_saved(&s->transcriber) : OPT_GO;

    if (status != OPT_GO)
        return status;
    if (!whole)
        return transcriber_stop(&s->transcriber, &s->at);
    status = transcriber_end(&s->transcriber, &s->at, saved);
    return status == OPT_GO && s->set.publish && launch_first(&s->launch)
               ? publish_write(&s->set) : status;
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

/* What was learned: "price from 3 columns"; nothing of rows that were made. */
static void tell_learned(const session *s)
{
    const data *d = &s->run.data;
    const data_settings *set = &s->run.set.data;
    char from[64] = "", in[32];
    ls_column column;
    int columns = 0;
    double seconds = opt_seconds() - s->bar.started;

    snprintf(in, sizeof in, seconds < 100 ? "%.1f s" : "%.0f s", seconds);
    while (d->table && ls_coding_column(data_coding(d), columns, &column))
        columns++;
    if (d->table && s->run.set.model.window)
        snprintf(from, sizeof from, " from windows of %lld rows",
                 (long long)s->run.set.model.window);
    else if (d->table)
        snprintf(from, sizeof from, " from %d column%s", columns,
                 opt_s(columns));
    else if (d->images)
        snprintf(from, sizeof from, ", images of %lld classes",
                 (long long)s->run.set.model.classes);
    opt_note("learned %s%s in %s", d->table ? data_target(d).name
             : set->path ? set->path : set->x, from, in);
}

/* The figures of the run's weights, or what would tell them. */
static void tell_worth(const session *s)
{
    const run *r = &s->run;
    const score *of = &s->at.score;
    lines_held best = evaluation_held(&s->eval);
    int64_t steps = r->set.data.steps, batches = r->data.batches;
    bool epochs = r->model->epochs && batches && steps % batches == 0 &&
                  best.step % batches == 0;
    char *said = NULL;
    size_t size;
    FILE *text;

    if (!of->stop.values)
        opt_note("%s", r->model->tokens && !r->data.table
                           ? "--eval-every N tells the loss of text that is "
                             "held back"
                           : "--valid 0.2 holds rows back, which tell how good "
                             "it is");
    else if (evaluation_has_best(&s->eval) && !s->eval.best.kept)
        return; /* they were of a run that this one went on from */
    else if ((text = open_memstream(&said, &size))) {
        lines_figures(&best, text);
        if (fclose(text) == 0)
            opt_note("%s %lld of %lld%s: %s", epochs ? "epoch" : "step",
                     (long long)(best.step / (epochs ? batches : 1)),
                     (long long)(steps / (epochs ? batches : 1)),
                     s->eval.keeps ? " was best" : "", said);
        free(said);
    }
}

/* Say what was learned, where it is, or that it is not kept, and what to type
 * next, where nobody else will ask this run. */
static void tell_end(const session *s)
{
    const train_settings *set = &s->set;
    const start_settings *start = &s->run.set.start;
    const data *d = &s->run.data;
    const char *rows = s->run.model->tokens && s->run.set.data.path && !d->table
                           ? "--generate 500"
                       : d->table  ? "ROWS.csv"
                       : d->images ? "PICTURE.."
                                   : "ROWS.npy";

    if (!launch_first(&s->launch) || set->against || set->record ||
        s->run.set.data.steps == 0)
        return;
    if (s->run.set.data.path || s->run.set.data.x) {
        tell_learned(s);
        tell_worth(s);
    }
    if (set->save && evaluation_has_best(&s->eval) && !s->at.score.is_saved)
        opt_note("step %lld was better than the end, which is saved: the run "
                 "had no --save then", (long long)s->at.score.best_step);
    if (set->save && start->lora && start->lora_save == ADAPT_ALONE)
        opt_note("the adapters are saved: lockstep-predict %s --lora %s %s",
                 start->init ? start->init : "MODEL", set->save, rows);
    else if (set->save)
        opt_note("the model is saved: lockstep-predict %s %s", set->save, rows);
    else if (!set->checkpoint && !set->publish)
        opt_note("the model is not kept: --save F.safetensors writes it");
}

int session_finish(session *s)
{
    char hex[65];
    int status = metrics_close(&s->metrics);
    int kept = keeper_finish(&s->keeper);

    if (status == OPT_GO)
        status = opt_check(ls_trainer_check(s->run.trainer));
    if (status == OPT_GO && s->set.sample && !s->stopped)
        status = sample_text(s);
    if (status != OPT_GO)
        return session_leave(s, status);
    status = write_trace(s);
    if (write_curve(s) != OPT_GO)
        status = OPT_FAILED;
    if (!has_saved_best(s) && session_save(s) != OPT_GO)
        status = OPT_FAILED;
    if (status == OPT_GO)
        status = end_transcriber(s);
    if (status == OPT_GO)
        status = step_recorder_close(&s->look);
    if (print_root(s) != OPT_GO)
        return OPT_FAILED;
    if (ls_trainer_hash(s->run.trainer, hex) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    printf("state %s\n", hex);
    if (launch_first(&s->launch) && healing_end(&s->healing, &s->run) != OPT_GO)
        status = OPT_FAILED;
    status = opt_end(status == OPT_GO ? kept : status);
    if (status == OPT_GO)
        tell_end(s);
    return status;
}

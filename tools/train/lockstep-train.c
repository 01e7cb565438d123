/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-train: train a model from the command line.
 *
 * The run is a list of stages; each goes on, or has said what is wrong and
 * gives the exit status.  Results go to stdout, remarks to stderr. */
#include "model/adapt.h"
#include "opt/characters.h"
#include "run/apart.h"
#include "train/publish.h"
#include "train/session.h"
#include "train/stop.h"
#include "train/trials.h"

#include <lockstep/record.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char opt_program_name[] = "lockstep-train";

/* Checks the ranks, and leaves all writing of files to the first one. */
static int check_ranks(session *s)
{
    const ls_transport *t = s->launch.transport;
    int64_t devices = s->run.how.devices; /* 0: as many as there are cores */
    train_settings *set = &s->set;

    s->run.transport = s->launch.transport;
    s->saves = set->save != NULL;
    if (!t)
        return run_check_alone(&s->run);
    s->run.launch = &s->launch;
    if (devices && t->ranks > devices)
        return opt_fail(OPT_WRONG, "%d ranks are more than %lld devices; each "
                        "rank needs one", t->ranks, (long long)devices);
    if (!launch_first(&s->launch))
        set->save = set->trace = set->metrics = set->curve = NULL;
    return OPT_GO;
}

/* ------ Options that do not go together ------ */

static int check_usage(session *s)
{
    const train_settings *set = &s->set;
    run *r = &s->run;
    int status;

    /* Options may be another run's, as lockstep-verify passes them on. */
    r->data.no_thread = set->record; /* which reads all rows */
    r->line.repeats = set->against || set->record ||
                      set->stop_at || set->resume;
    status = run_check(r);
    r->sums = set->checkpoint || set->transcript || set->against ||
              r->transport;
    r->sums_held = set->plateau > 0 || r->transport;
    if (status == OPT_GO && set->heal && !run_given(r, "check"))
        return opt_fail(OPT_WRONG, "--check:heal needs a rate: --check "
                          "0.01:heal");
    if (status == OPT_GO)
        status = change_check(r, set->change);
    if (status == OPT_GO)
        status = step_recorder_open(&s->look, r, set);
    return status;
}

static int print_config(session *s)
{
    if (!s->set.print_config)
        return OPT_GO;
    return launch_first(&s->launch) ? opt_print_config(&s->run.line)
                                    : OPT_DONE;
}

/* A file in ONNX is the one that came in, with other weights. */
static int check_save(session *s)
{
    const char *save = s->set.save;

    if (!save || !onnx_file_is(save))
        return OPT_GO;
    if (!s->run.model->graph)
        return opt_fail(OPT_WRONG, "--save %s: a model of ours is saved as "
                        "F.safetensors; lockstep-predict F.safetensors --onnx "
                        "%s writes that", save, save);
    if (s->run.set.start.lora)
        return opt_fail(OPT_WRONG, "--save %s: adapters are saved as "
                        "F.safetensors", save);
    return OPT_GO;
}

/* A training may end in the file that it began with, but what needs its base is
 * not put in its place. */
static int check_writable(session *s)
{
    const start_settings *start = &s->run.set.start;
    bool adapters = start->lora && start->lora_save == ADAPT_ALONE;
    const apart_file word[] = {
        {"--record", s->look.path, OPT_ASIDE},
        {"--publish", s->set.published[0], OPT_WRITTEN},
        {"--publish", s->set.published[1], OPT_WRITTEN}};

    return apart_check(&s->run.line, 3, word,
                       adapters ? "lora:init" : "init");
}

/* ------ Stages before the first step ------ */

static void tell_batch(const data *d)
{
    if (d->usual)
        fprintf(stderr, "note: %lld row%s a batch, not %lld: there %s %lld\n",
                (long long)d->batch, opt_s(d->batch), (long long)d->usual,
                d->rows == 1 ? "is" : "are", (long long)d->rows);
}

static void tell_evaluation(const data_settings *s)
{
    if ((s->eval_path && apart_same(s->eval_path, s->path)) ||
        (s->eval_x && apart_same(s->eval_x, s->x)))
        opt_note("the rows of --eval-%s are those trained on, so figures say "
                 "little; --valid 0.2 holds others back",
                 s->eval_path ? "data" : "x");
}

/* A model's own default of --early-stop is in epochs, which are a few updates
 * where rows are few: it waits for so many, too. */
enum { LEAST_PATIENCE = 100 };

static void settle_patience(session *s)
{
    int64_t *epochs = &s->set.early_stop, batches = s->run.data.batches;

    if (run_given(&s->run, "early-stop"))
        return;
    if (!data_holds_rows(&s->run.data))
        *epochs = 0;
    else if (*epochs && batches && *epochs * batches < LEAST_PATIENCE)
        *epochs = (LEAST_PATIENCE + batches - 1) / batches;
}

/* Who trains again what a program did that kept the last weights has its
 * tables' defaults, too: one network, and all epochs. */
enum { NO_END = 1000000 };

static void settle_old(session *s)
{
    if (!s->set.against || !transcriber_keeps_last(&s->set, false))
        return;
    s->run.set.model.of_old = true;
    if (s->set.early_stop && !run_given(&s->run, "early-stop"))
        s->set.early_stop = NO_END;
}

static int open_run(session *s)
{
    const train_settings *set = &s->set;
    run *r = &s->run;
    int status = run_open_mesh(r);

    settle_old(s);

    if (status == OPT_GO)
        status = run_open_data(r);
    if (status == OPT_GO)
        status = figures_check(r, set->top_k);
    settle_patience(s);
    if (status == OPT_GO && (set->eval_every || r->set.data.eval_path ||
                             set->early_stop || set->plateau || set->top_k ||
                             r->set.model.select || r->set.model.calibrate))
        status = evaluation_check(r, set);
    if (status == OPT_GO && set->sample &&
        (r->data.text.file.width == 2 || r->set.model.vocab > UINT8_MAX + 1))
        status = opt_fail(OPT_WRONG, "--sample writes bytes, and the tokens of "
                          "--data are none");
    if (status != OPT_GO)
        return status;
    if (launch_first(&s->launch)) {
        run_talk(r);
        tell_batch(&r->data);
        tell_evaluation(&r->set.data);
    }
    status = run_open_pool(r);
    return status == OPT_GO ? run_open_trainer(r) : status;
}

/* Weights in a file beside the network would be no part of a transcript. */
static int check_beside(session *s)
{
    const ls_onnx *onnx = s->run.set.model.network.onnx;
    const char *name = onnx ? ls_onnx_beside(onnx, 0) : NULL;

    if (!name || (!s->set.transcript && !s->set.against))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "%s: its weights are in \"%s\", and a "
                    "transcript is of files that say all: export with "
                    "external_data=False", s->run.set.model.file, name);
}

static int open_keeper(session *s)
{
    int status = keeper_open(&s->keeper, &s->run, &s->set, &s->at);

    if (status == OPT_GO)
        status = healing_resume(&s->healing, &s->launch, &s->run, &s->keeper,
                                &s->at);
    if (status == OPT_GO && s->set.resume && !s->keeper.went_on) {
        s->run.line.repeats = false; /* it begins */
        status = opt_check_values(&s->run.line);
    }
    return status;
}

/* A run that goes on has its parameters. */
static int init(session *s)
{
    return s->keeper.went_on
               ? OPT_GO : adapt_start(s->run.trainer, &s->run.set.start);
}

/* The best weights are kept, unless --early-stop 0 was given, or the run is to
 * be one that kept the last. */
static void settle_keeping(session *s)
{
    bool best = s->set.early_stop || (!run_given(&s->run, "early-stop") &&
                                      evaluation_is_in(&s->run, &s->set));

    s->of_old = best && transcriber_keeps_last(&s->set, s->keeper.went_on);
    s->eval.keeps = best && (s->set.early_stop || !s->of_old);
}

/* Comes before the transcript, which has the rules' state. */
static int open_evaluation(session *s)
{
    int status = evaluation_open(&s->eval, &s->run, &s->set, &s->at.score);
    const char *file = s->set.save;

    if (file && !s->run.transport && access(file, F_OK) != 0)
        s->at.score.is_saved = 0; /* a run that goes on had it */
    lines_open(&s->lines, &s->run, &s->set);
    s->eval.lines = &s->lines;
    settle_keeping(s);
    return status;
}

/* The parameters as they are; a hash that the caller compares. */
static int hash_weights(const ls_trainer *t, char hex[65])
{
    size_t bytes = (size_t)weights_count(t) * sizeof(float);
    float *all = malloc(bytes);
    int status;

    if (!all)
        return opt_fail(OPT_FAILED, "no memory to compare parameters");
    if ((status = weights_get(t, all)) == 0)
        ls_digest(all, bytes, hex);
    free(all);
    return opt_check(status);
}

/* Files that are others on one rank make a training of none of them. */
static int compare_files(session *s)
{
    const data *d = &s->run.data;
    char sum[20], tested[20], hex[65];
    const ls_setting all[] = {{"the checksum of the data", sum},
                              {"the checksum of the data evaluated on", tested},
                              {"the hash of the parameters", hex}};
    int status;

    if (!s->launch.transport)
        return OPT_GO;
    if ((status = hash_weights(s->run.trainer, hex)) != OPT_GO)
        return status;
    snprintf(sum, sizeof sum, "%016" PRIx64, d->sum);
    snprintf(tested, sizeof tested, "%016" PRIx64, d->held_sum);
    return launch_compare(&s->launch, 3, all);
}

static int open_metrics(session *s)
{
    return metrics_open(&s->metrics, &s->run, s->set.metrics, s->at.metrics,
                        s->at.done);
}

/* Tell what the referee could not judge: operators, updates, schedules, first
 * values, and last rows. */
static void tell_unjudged(const run *r)
{
    const char *why = data_unjudged(&r->data);
    char text[LS_RECORD_TEXT];

    for (int i = 0; ls_record_unjudged(r->trainer, i, text) > 0; i++)
        printf("referee does not know %s\n", characters_shown(text));
    if (why)
        printf("referee does not know rows of a batch (%s)\n",
               characters_shown(why));
}

/* Comes after the metrics, which begin with the run's lines. */
static int open_transcriber(session *s)
{
    int status = session_record(s);

    if (status == OPT_GO && (s->set.against || s->set.record) &&
        run_is_first(&s->run))
        tell_unjudged(&s->run);
    return status;
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
        return opt_fail(OPT_FAILED, "--log-every :stall: no thread: %s",
                        strerror(error));
    return OPT_GO;
}

/* ------ */

/* clang-format off */
static int (*const checks[])(session *s) = {
    publish_open, check_ranks, check_usage, print_config, check_save,
    check_writable, NULL
};

static int (*const stages[])(session *s) = {
    open_run, check_beside, open_keeper, init, compare_files, open_evaluation,
    open_metrics, open_transcriber, open_trace, open_watchdog, session_train,
    session_finish, NULL
};
/* clang-format on */

static int whole(session *s)
{
    int status = OPT_GO;

    for (int i = 0; stages[i] && status == OPT_GO; i++)
        status = stages[i](s);
    return status;
}

static void close_all(session *s)
{
    if (s->metrics.file)
        fclose(s->metrics.file); /* after a failure, which is the message */
    stall_close(&s->watchdog);
    ls_trace_close(s->trace);
    figures_close(&s->eval.figures);
    held_close(&s->held);
    transcriber_close(&s->transcriber);
    (void)step_recorder_follow(&s->look, NULL, NULL); /* it differs, say */
    healing_free(&s->healing);
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
    for (int i = 0; checks[i] && status == OPT_GO; i++)
        status = checks[i](&s);
    status = launch_agree(&s.launch, status, false);
    if (status == OPT_GO)
        status = run_compare(&s.run, &s.launch);
    if (status == OPT_GO && trials_wanted(&s))
        status = trials_run(&s, whole);
    if (status == OPT_GO)
        status = whole(&s);
    close_all(&s);
    status = launch_close(&s.launch, status);
    status = status == OPT_DONE ? OPT_GO : stop_status(status);
    return opt_end(status); /* folds and trials may be all that was printed */
}

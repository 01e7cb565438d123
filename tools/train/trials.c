/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of --cv and --tune.  A job is one training: a trial, or one
 * fold of it.  Its process is forked before anything is opened, trains as the
 * program does, with what it prints and writes left out, and hands over a
 * number or what was wrong. */
#include "data/standard_input.h"
#include "model/selection.h"
#include "opt/characters.h"
#include "run/progress.h"
#include "run/scratch.h"
#include "train/stop.h"
#include "train/trials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 256, SAID = 512 };
enum { MOST_FOLDS = 1000, MOST_TRIALS = 100000, OF_TRIAL = 512 };

typedef struct answer {
    int status;
    worth worth;
    char said[SAID];
} answer;

/* worth's texts are of the process that filled it, which has this memory at the
 * same places. */
typedef struct job {
    int64_t trial, fold;
    pid_t process;
    int from; /* its answer */
    bool over;
    answer answer;
} job;

typedef struct trials {
    session *s;
    int (*whole)(session *s);
    int64_t count, folds; /* trials; folds of each, or 0 */
    int64_t jobs, at_once;
    int64_t failed; /* trials */
    int file;       /* --tune :file, or -1 */
    job *job;
    bool *known;  /* [count]: from the file */
    double *good; /* [count] */
    scratch models; /* of the folds */
    bool joins;     /* them: --cv --save */
} trials;

bool trials_wanted(const session *s)
{
    return s->set.cv || s->set.tune;
}

/* ------ One process ------ */

/* Leave out what is written of a run that is no trial. */
static void be_quiet(session *s)
{
    const opt_program *p = &s->run.program;

    s->look.step = -1;
    for (int i = 0; i < p->count; i++)
        if (p->option[i].marks & NO_TRIAL)
            opt_switch_off(&p->option[i]);
}

static int train(const trials *t, const job *j, worth *w)
{
    session *s = t->s;
    char path[TRIAL_PATH];
    int status = trial_store(s, j->trial);

    be_quiet(s);
    s->saves = t->folds > 0;
    s->run.unpinned = true;
    if (!run_given(&s->run, "workers"))
        s->run.how.workers = 1;
    if (t->folds) {
        s->run.set.data.fold = j->fold;
        s->run.set.data.folds = t->folds;
        s->set.save = trial_path(&t->models, j - t->job, path);
    }
    if (status == OPT_GO)
        status = t->whole(s);
    if (status == OPT_GO && s->stopped)
        status = opt_fail(OPT_FAILED, "stopped");
    if (status == OPT_GO)
        status = trial_worth(s, w);
    if (t->folds && !t->joins)
        unlink(path);
    return status;
}

static void be_the_process(const trials *t, const job *j, int to)
{
    int nowhere = open("/dev/null", O_WRONLY);
    answer a = {.status = OPT_FAILED};

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it has nobody to answer then */
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    a.status = train(t, j, &a.worth);
    snprintf(a.said, sizeof a.said, "%s", opt_said());
    _exit(write(to, &a, sizeof a) != (ssize_t)sizeof a);
}

static int start(const trials *t, job *j)
{
    int end[2];

    fflush(NULL);
    if (pipe(end) < 0 || (j->process = fork()) < 0)
        return opt_fail(OPT_FAILED, "no process for a trial: %s",
                        strerror(errno));
    if (j->process == 0) {
        close(end[0]);
        be_the_process(t, j, end[1]);
    }
    close(end[1]);
    j->from = end[0];
    return OPT_GO;
}

static int64_t count_running(const trials *t)
{
    int64_t n = 0;

    for (int64_t i = 0; i < t->jobs; i++)
        n += t->job[i].process > 0;
    return n;
}

/* End the others once one is wrong. */
static void stop_all(trials *t)
{
    for (int64_t i = 0; i < t->jobs; i++)
        if (t->job[i].process > 0) {
            kill(t->job[i].process, SIGKILL);
            waitpid(t->job[i].process, NULL, 0);
            close(t->job[i].from);
        }
}

/* Wait for one of them; NULL after a message. */
static job *wait_for_one(trials *t)
{
    pid_t process;
    int how;

    while ((process = waitpid(-1, &how, WNOHANG)) == 0 && !stop_signal())
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    if (stop_signal()) {
        opt_fail(OPT_FAILED, "the trials were stopped");
        return NULL;
    }
    for (int64_t i = 0; i < t->jobs; i++) {
        job *j = &t->job[i];

        if (process <= 0 || j->process != process)
            continue;
        j->process = 0;
        j->over = true;
        if (read(j->from, &j->answer, sizeof j->answer) !=
            (ssize_t)sizeof j->answer)
            j->answer = (answer){OPT_FAILED, {0}, "the process died"};
        close(j->from);
        return j;
    }
    opt_fail(OPT_FAILED, "a trial was lost: %s", strerror(errno));
    return NULL;
}

/* ------ What came of a trial ------ */

static bool is_over(const trials *t, int64_t trial)
{
    for (int64_t i = 0; i < t->jobs; i++)
        if (t->job[i].trial == trial && !t->job[i].over)
            return false;
    return true;
}

static double value_of(const job *j, bool rest)
{
    return rest ? j->answer.worth.rest : j->answer.worth.good;
}

/* Has a fold the number?  The AUC of rows of one class is none. */
static bool counts(const trials *t, int64_t i, int64_t trial, bool rest)
{
    const job *j = &t->job[i];

    return j->trial == trial &&
           !(j->answer.worth.is_one && isnan(value_of(j, rest)));
}

/* The mean of a trial's folds, *n of them, and their deviation. */
static double mean_of(const trials *t, int64_t trial, double *deviation,
                      bool rest, int64_t *n)
{
    double sum = 0, squares = 0;

    *n = 0;
    for (int64_t i = 0; i < t->jobs; i++)
        if (counts(t, i, trial, rest)) {
            sum += value_of(&t->job[i], rest);
            ++*n;
        }
    for (int64_t i = 0; i < t->jobs; i++)
        if (counts(t, i, trial, rest)) {
            double d = value_of(&t->job[i], rest) - sum / (double)*n;

            squares += d * d;
        }
    *deviation = sqrt(squares / (double)*n);
    return sum / (double)*n;
}

/* A fold of the trial that failed, the first of them; NULL: none did. */
static const job *failure_of(const trials *t, int64_t trial)
{
    for (int64_t i = 0; i < t->jobs; i++)
        if (t->job[i].trial == trial && t->job[i].answer.status != OPT_GO)
            return &t->job[i];
    return NULL;
}

static void tell_trial(const trials *t, int64_t trial, const job *failure)
{
    char text[TRIAL_TEXT];

    trial_text(t->s, trial, text);
    if (failure)
        fprintf(stderr, "trial %" PRId64 ": failed: %s\n", trial,
                characters_shown(failure->answer.said));
    else
        fprintf(stderr, "trial %" PRId64 ": %.4f  %s\n", trial,
                opt_shown(t->good[trial]), characters_shown(text));
}

/* A job is over: what does that make of its trial?  The first is the command
 * line's own, so that what is wrong with it is wrong with all; another's
 * failure is told, and is no result that a file should hold. */
static int take(trials *t, const job *j)
{
    const job *failure;
    double deviation;
    int64_t n;

    if (j->answer.status != OPT_GO && (!t->s->set.tune || j->trial == 0))
        return opt_fail(j->answer.status, "%s", j->answer.said);
    if (!t->s->set.tune || !is_over(t, j->trial))
        return OPT_GO;
    failure = failure_of(t, j->trial);
    t->failed += failure != NULL;
    t->good[j->trial] = failure ? (double)NAN
                                : mean_of(t, j->trial, &deviation, false, &n);
    tell_trial(t, j->trial, failure);
    return failure ? OPT_GO
                   : trial_file_add(t->s, t->file, j->trial,
                                    t->good[j->trial]);
}

static int run_all(trials *t)
{
    int64_t next = 0, over = 0;
    progress bar;
    int status = OPT_GO;

    progress_start(&bar, 0, t->jobs);
    bar.on &= !t->s->set.tune; /* a search tells of each trial */
    bar.what = " folds";
    while (status == OPT_GO && (next < t->jobs || count_running(t))) {
        job *j = NULL;

        if (next < t->jobs && count_running(t) < t->at_once) {
            status = start(t, &t->job[next++]);
            continue;
        }
        progress_step(&bar, over++, 0, 0);
        j = wait_for_one(t);
        status = j ? take(t, j)
                   : stop_signal() ? stop_status(OPT_GO) : OPT_FAILED;
    }
    progress_clear(&bar);
    stop_all(t);
    return status;
}

/* ------ The end ------ */

/* The mean of the folds that have the number, and its deviation. */
static double print_mean(const trials *t, bool rest)
{
    const worth *w = &t->job[0].answer.worth;
    double deviation;
    int64_t n;
    double mean = mean_of(t, 0, &deviation, rest, &n);

    (rest ? worth_print_rest : worth_print_good)(w, mean, stdout);
    if (n)
        printf(!rest ? " (%.4f)" : deviation < 1000 ? " (%.3g)" : " (%.1f)",
               opt_shown(deviation));
    if (n && n < t->folds)
        printf(" of %" PRId64 " fold%s", n, opt_s(n));
    return mean;
}

/* Each fold, then means and deviations. */
static void print_folds(const trials *t)
{
    for (int64_t i = 0; i < t->folds; i++) {
        printf("[lockstep] fold %" PRId64 " of %" PRId64 "  rows %" PRId64,
               i + 1, t->folds, t->job[i].answer.worth.rows);
        worth_print(&t->job[i].answer.worth, stdout);
        putchar('\n');
    }
    printf("[lockstep] cv %" PRId64 " folds", t->folds);
    t->good[0] = print_mean(t, false);
    if (t->job[0].answer.worth.other)
        print_mean(t, true);
    putchar('\n');
}

/* A transcript says how the options were found. */
static int note_search(const trials *t)
{
    search *s = &t->s->search;
    const int64_t number[] = {[SEARCH_FOLDS] = t->folds,
                              [SEARCH_SEED] = t->s->run.how.seed,
                              [SEARCH_TRIED] = t->count};

    s->is = true;
    for (int i = 0; i < SEARCH_VALUES; i++)
        snprintf(s->value[i], SEARCH_TEXT, "%" PRId64, number[i]);
    return trial_file_digest(t->s, t->count, t->good, s->value[SEARCH_TABLE]);
}

/* Go on with the options of the best trial, of several the first. */
static int take_best(trials *t)
{
    char text[TRIAL_TEXT];
    bool falls = select_falls(t->s->run.set.model.select);
    int64_t best = 0;
    int status = trial_file_sort(t->s);

    if (status == OPT_GO)
        status = note_search(t);
    if (status != OPT_GO)
        return status;
    for (int64_t i = 1; i < t->count; i++)
        if (isnan(t->good[best]) || (falls ? t->good[i] < t->good[best]
                                           : t->good[i] > t->good[best]))
            best = i;
    if (isnan(t->good[best]))
        return opt_fail(OPT_FAILED, "--tune: none of %" PRId64 " trial%s has a "
                        "score", t->count, opt_s(t->count));
    if (t->failed)
        fprintf(stderr, "note: %" PRId64 " of %" PRId64 " trial%s failed; "
                "--tune :file, where there is one, does not have them\n",
                t->failed, t->count, opt_s(t->count));
    trial_text(t->s, best, text);
    printf("[lockstep] tune best of %" PRId64 ": trial %" PRId64 "  %.4f  %s\n",
           t->count, best, opt_shown(t->good[best]), characters_shown(text));
    return trial_store(t->s, best);
}

static int end_folds(trials *t)
{
    int status;

    print_folds(t);
    status = t->joins ? trial_join(t->s, &t->models, t->folds) : OPT_GO;
    return status == OPT_GO ? OPT_DONE : status;
}

/* ------ The beginning ------ */

/* Is there room for what the command line says, and a trial's options? */
static bool is_short(const session *s)
{
    char text[TRIAL_TEXT];

    trial_text(s, 0, text);
    return strlen(text) + OF_TRIAL < sizeof text;
}

static int check(const session *s)
{
    const train_settings *set = &s->set;

    if (s->launch.transport)
        return opt_fail(OPT_WRONG, "--cv and --tune are for a single process, "
                        "not for %d ranks", s->launch.transport->ranks);
    if (set->cv == 1 || set->cv > MOST_FOLDS)
        return opt_fail(OPT_WRONG, "--cv: %lld folds; there are 2 to %d",
                        (long long)set->cv, MOST_FOLDS);
    if (set->tune > MOST_TRIALS)
        return opt_fail(OPT_WRONG, "--tune: %lld trials; %d are the most",
                        (long long)set->tune, MOST_TRIALS);
    if (set->cv && s->run.set.data.eval_path)
        return opt_fail(OPT_WRONG, "--cv and --eval-data exclude each other");
    if (set->tune && !is_short(s))
        return opt_fail(OPT_WRONG, "--tune: the options have more than %d "
                        "bytes", TRIAL_TEXT - OF_TRIAL);
    return set->tune ? OPT_GO
                     : opt_refuse(&s->run.line, OF_ALL, ": --cv trains the "
                                  "folds alone; it goes without --cv");
}

/* A process for each core that no other has. */
static int count_at_once(trials *t)
{
    const run *r = &t->s->run;
    int64_t workers = run_given(r, "workers") ? r->how.workers : 1;
    int status = run_cores(r->how.cpus, &t->at_once);

    t->at_once /= workers;
    if (t->at_once < 1)
        t->at_once = 1;
    if (t->at_once > MOST_AT_ONCE)
        t->at_once = MOST_AT_ONCE;
    return status;
}

static int make_jobs(trials *t)
{
    int64_t folds = t->folds ? t->folds : 1;
    int status;

    t->known = calloc((size_t)t->count, sizeof *t->known);
    t->good = calloc((size_t)t->count, sizeof *t->good);
    t->job = calloc((size_t)(t->count * folds), sizeof *t->job);
    if (!t->known || !t->good || !t->job)
        return opt_no_memory("the trials");
    status = trial_file_open(t->s, &t->file);
    if (status == OPT_GO)
        status = trial_file_read(t->s, t->file, t->count, t->known, t->good);
    for (int64_t i = 0; i < t->count * folds && status == OPT_GO; i++)
        if (!t->known[i / folds])
            t->job[t->jobs++] = (job){.trial = i / folds, .fold = i % folds};
    return status == OPT_GO ? count_at_once(t) : status;
}

/* All processes read the standard input from where the first call puts it. */
static int read_input(const session *s)
{
    const char *const path[] = {s->run.set.data.path,
                                s->run.set.data.eval_path};

    for (int i = 0; i < 2; i++)
        if (path[i] && !standard_input(path[i]))
            return OPT_FAILED;
    return OPT_GO;
}

int trials_run(session *s, int (*whole)(session *s))
{
    trials t = {.s = s, .whole = whole, .folds = s->set.cv, .file = -1,
                .count = s->set.tune ? s->set.tune : 1,
                .joins = s->set.cv && s->set.save && !s->set.tune};
    int status = check(s);

    if (status == OPT_GO)
        status = read_input(s);
    if (status == OPT_GO)
        status = trial_target(s);
    if (status == OPT_GO)
        status = make_jobs(&t);
    if (status == OPT_GO && t.folds)
        status = scratch_open(&t.models, "folds");
    stop_open();
    status = status == OPT_GO ? run_all(&t) : status;
    if (status == OPT_GO)
        status = s->set.tune ? take_best(&t) : end_folds(&t);
    scratch_close(&t.models);
    trial_file_close(s, t.file);
    free(t.known);
    free(t.good);
    free(t.job);
    return status;
}

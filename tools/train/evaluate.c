/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluation during the training. */
#include "train/evaluate.h"
#include "model/selection.h"
#include "opt/characters.h"
#include "opt/opt.h"
#include "run/rate.h"
#include "train/stop.h"

#include <limits.h>
#include <lockstep/realmlp.h>
#include <math.h>
#include <stdio.h>

/* The interval of evaluations; 0: at the end, if at all. */
static int64_t interval(const run *r, const train_settings *s)
{
    bool epochs = data_holds_rows(&r->data) && r->set.data.epochs;

    return s->eval_every || !epochs ? s->eval_every : r->data.batches;
}

/* Two of the options that evaluate need more evaluations than that of the end:
 * a longer run would not have that one. */
static int check_interval(const run *r, const train_settings *s)
{
    bool stops = run_given(r, "early-stop") && s->early_stop;

    if (interval(r, s) || (!s->plateau && (!stops || r->line.repeats)))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--%s: nothing is evaluated before the end; "
                    "--eval-every says how often",
                    s->plateau ? "plateau" : "early-stop");
}

int evaluation_check(const run *r, const train_settings *s)
{
    const data *d = &r->data;
    const char *path = r->set.data.eval_path;

    if (data_holds_rows(d))
        return check_interval(r, s);
    if (!text_is(&d->text))
        return opt_refuse(&r->line, OF_HELD, ": nothing is held out; "
                          "--eval-data or --eval-x names rows to evaluate on, "
                          "--valid holds some back");
    if (text_eval_batches(&d->text))
        return check_interval(r, s);
    return opt_fail(OPT_WRONG,
                    "%s: %lld %s%s held out, fewer than --seq-len %lld",
                    path ? path : r->set.data.path,
                    (long long)d->text.held.size, text_unit(d->text.held.in),
                    d->text.held.size == 1 ? " is" : "s are",
                    (long long)r->set.model.seq_len);
}

/* Rows, and a text of --eval-data, are evaluated without being told to: after
 * each epoch, or at the end. */
bool evaluation_is_in(const run *r, const train_settings *set)
{
    return interval(r, set) || data_holds_rows(&r->data) ||
           r->data.text.other.file;
}

bool evaluation_due(const evaluation *e, int64_t done)
{
    int64_t every = interval(e->run, e->set);

    if (!evaluation_is_in(e->run, e->set))
        return false;
    return done == e->run->set.data.steps || (every && done % every == 0);
}

/* Sums over all batches, each mean by its weight; NaN where all weights are 0.
 */
static int sum_batches(evaluation *e, double *loss, double *accuracy)
{
    run *r = e->run;
    int64_t batches = data_eval_batches(&r->data);
    double weight = 0, right = 0;
    int status = OPT_GO;

    *loss = 0;
    for (int64_t i = 0; i < batches && status == OPT_GO; i++) {
        ls_result part;

        status = stop_asked(r, &e->figures.stopped);
        if (status != OPT_GO || e->figures.stopped)
            return status;
        status = data_eval_fill(&r->data, i, r->batch);
        if (status == OPT_GO)
            status = opt_check(ls_evaluate(r->trainer, r->batch, &part));
        if (status != OPT_GO || !(part.weight > 0))
            continue;
        *loss += part.weight * (double)part.loss;
        right += part.weight * (double)part.accuracy;
        weight += part.weight;
    }
    *loss /= weight;
    *accuracy = right / weight;
    return status;
}

/* The figure of --select; with --calibrate of logits by the temperature that
 * suits these rows, which is *temperature. */
static double selected(const evaluation *e, double *temperature)
{
    const model_settings *m = &e->run->set.model;
    const figures *f = &e->figures;

    *temperature = m->calibrate
                       ? ls_temperature(f->rows, f->width, f->out, f->y) : 1;
    return m->select == SELECT_LOGLOSS
               ? ls_log_loss(f->rows, f->width, f->out, f->y, *temperature)
               : figures_selected(f, m->select);
}

/* A model that tells no accuracy is judged by its loss. */
static void count(evaluation *e, double loss, double accuracy, int64_t done)
{
    score *s = e->score;
    int64_t select = e->run->set.model.select;
    double temperature, figure = selected(e, &temperature);

    s->by_loss = select ? select_falls(select) : isnan(accuracy);
    s->last = select ? figure : s->by_loss ? loss : accuracy;
    s->loss = loss;
    s->stop.rising = s->plateau.rising = !s->by_loss;
    e->enough = ls_early_stop_take(&s->stop, s->last);
    if (e->run->model->last_best && s->last == s->stop.best)
        s->stop.since = 0;
    if (evaluation_better(e)) {
        s->best_step = done;
        s->is_saved = 0;
    }
    if (evaluation_better(e) || !e->keeps)
        e->temperature = temperature;
    e->done = done;
    e->accuracy = accuracy;
}

/* Keep the final figures, or the weights to compute them from: those of the
 * best evaluation, where its weights are the run's, otherwise of the last. */
static int keep_figures(evaluation *e)
{
    bool best = e->keeps && evaluation_better(e);
    figures *f = &e->figures;

    if (!best && (e->best.kept || f->of_images))
        return OPT_GO;
    if (best) {
        e->best.kept = true;
        e->best.loss = e->score->loss;
        e->best.accuracy = e->accuracy;
    }
    if (!f->computed)
        return figures_take(f);
    return best ? figures_keep(f) : OPT_GO;
}

/* The evaluation of the end alone does not count: a run that goes on from there
 * is the same as one that never ended. */
static int lower_rate(const evaluation *e, int64_t done)
{
    ls_plateau *p = &e->score->plateau;
    double before = p->scale;

    if (!p->patience || done % interval(e->run, e->set))
        return OPT_GO;
    if (ls_plateau_take(p, e->score->last) != before)
        printf("[lockstep] eval none better in %lld: the learning rate is "
               "times %g after step %04lld\n", (long long)p->patience, p->scale,
               (long long)done);
    return opt_check(ls_trainer_set_lr(
        e->run->trainer,
        rate_peak(&e->run->how, &e->run->set.data) * p->scale));
}

/* The rules have the options and, in a run that goes on, what it has seen. */
static void set_rules(evaluation *e)
{
    const train_settings *set = e->set;
    score *s = e->score;

    s->stop.patience = set->early_stop;
    e->enough = set->early_stop && s->stop.since >= set->early_stop;
    if (!s->plateau.values)
        s->plateau = ls_plateau_defaults();
    s->plateau.rtol = ls_plateau_defaults().rtol;
    s->plateau.patience = set->plateau;
    s->plateau.factor = set->plateau_factor;
    s->plateau.cooldown = set->plateau_cooldown;
    s->plateau.min_scale = set->plateau_least;
}

int evaluation_open(evaluation *e, run *r, const train_settings *set, score *s)
{
    *e = (evaluation){.run = r, .set = set, .score = s, .temperature = 1};
    set_rules(e);
    return figures_open(&e->figures, r, set->top_k);
}

bool evaluation_better(const evaluation *e)
{
    return e->score->stop.values && !e->score->stop.since;
}

bool evaluation_has_best(const evaluation *e)
{
    return e->keeps && e->score->stop.values;
}

static lines_held held_of(const evaluation *e, int64_t step, double loss,
                          double accuracy, double selected)
{
    bool rows = data_holds_rows(&e->run->data);
    int64_t by = e->run->set.model.select;
    bool is_new = by == SELECT_LOGLOSS || by == SELECT_F1 || by == SELECT_AP ||
                  by == SELECT_MAE;

    return (lines_held){.what = "", .rest = "", .step = step, .loss = loss,
                        .accuracy = rows ? accuracy : (double)NAN,
                        .figures = &e->figures,
                        .by = is_new ? select_name(by) : NULL,
                        .selected = selected};
}

lines_held evaluation_held(const evaluation *e)
{
    return e->best.kept
               ? held_of(e, e->score->best_step, e->best.loss,
                         e->best.accuracy, e->score->stop.best)
               : held_of(e, e->done, e->score->loss, e->accuracy,
                         e->score->last);
}

static int figures_now(figures *f)
{
    int status = figures_take(f);

    return status == OPT_GO ? figures_compute(f) : status;
}

static int evaluate_line(evaluation *e, int64_t done)
{
    double loss = 0, accuracy = 0;
    lines_held line;
    int status = sum_batches(e, &loss, &accuracy);

    if (status == OPT_GO && !e->figures.stopped &&
        (figures_each(&e->figures) || isnan(accuracy)))
        status = figures_now(&e->figures);
    if (status != OPT_GO || e->figures.stopped)
        return status;
    if (isnan(accuracy))
        accuracy = figures_accuracy(&e->figures);
    count(e, loss, accuracy, done);
    line = held_of(e, done, loss, accuracy, e->score->last);
    if (lines_has_evaluation(e->lines, done))
        lines_evaluation(e->lines, &line);
    return opt_end(keep_figures(e));
}

int evaluate(evaluation *e, int64_t done)
{
    int status = run_average(e->run, true), back;

    if (status != OPT_GO)
        return status;
    status = evaluate_line(e, done);
    back = run_average(e->run, false);
    if (status == OPT_GO)
        status = back;
    return status == OPT_GO && !e->figures.stopped ? lower_rate(e, done)
                                                      : status;
}

/* The figures of the best weights, and where these are, if anywhere. */
static int print_best(evaluation *e)
{
    const char *file = e->score->is_saved ? e->set->save : NULL;
    char rest[PATH_MAX + 8] = "";
    int status = figures_take_back(&e->figures);
    lines_held line = evaluation_held(e);

    e->done = e->score->best_step;
    line.what = "best ";
    line.rest = rest;
    if (file)
        snprintf(rest, sizeof rest, "  in %s", characters_shown(file));
    if (file || e->set->early_stop)
        lines_evaluation(e->lines, &line);
    return status;
}

/* Figures that were not made on the way, of weights that were taken then, or of
 * those of the end. */
static int compute_last(evaluation *e)
{
    figures *f = &e->figures;
    int status, back;

    if (e->done == 0) /* all steps were made before this run went on */
        e->done = ls_trainer_step(e->run->trainer);
    if (f->computed)
        return OPT_GO;
    if (f->taken)
        return figures_compute(f);
    if (!f->rows || (f->of_images && !e->run->data.normal.classes))
        return OPT_GO;
    status = run_average(e->run, true);
    if (status == OPT_GO)
        status = figures_now(f);
    back = run_average(e->run, false);
    return status == OPT_GO ? back : status;
}

int evaluation_sum(evaluation *e)
{
    int64_t select = e->run->set.model.select;
    const score *s = e->score;
    int status = OPT_GO;

    if (!s->stop.values)
        return OPT_GO;
    if (data_holds_rows(&e->run->data))
        printf("[lockstep] eval best %s %.4f at step %04lld, last %.4f\n",
               select ? select_name(select) : s->by_loss ? "loss" : "acc",
               opt_shown(s->stop.best),
               (long long)s->best_step, opt_shown(s->last));
    if (e->best.kept)
        status = print_best(e);
    else if (s->is_saved && e->keeps && e->set->save)
        printf("[lockstep] eval best weights are in %s, from before this run "
               "went on; what follows is of the last\n",
               characters_shown(e->set->save));
    if (status == OPT_GO)
        status = compute_last(e);
    if (status == OPT_GO && !e->figures.stopped)
        figures_confusion(&e->figures, e->done);
    return opt_end(status);
}

/* lockstep-train: train a model from the command line.
 *
 * The run is a list of stages; each goes on, or has said what is wrong and
 * gives the exit status.  Results go to stdout, talk to stderr. */
#define _GNU_SOURCE
#include "run.h"
#include "sample.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char opt_program_name[] = "lockstep-train";

/* ------ Stages before the first step ------ */

/* A place that cannot be written is better found before the training. */
static int check_save(run *r)
{
    const char *path = r->set.save;
    struct stat info;
    char *copy;
    int status = OPT_GO;

    if (!path)
        return OPT_GO;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return opt_fail(OPT_FAILED, "%s: is not a regular file", path);
    copy = strdup(path);
    if (!copy || access(dirname(copy), W_OK) < 0)
        status =
            opt_fail(OPT_FAILED, "%s: its folder: %s", path, strerror(errno));
    free(copy);
    return status;
}

static int open_metrics(run *r)
{
    const char *backend = r->set.backend;
    metrics_run info = {
        .program = &model_program,
        .line = &r->line,
        .settings = &r->set,
        .devices = ls_mesh_devices(r->mesh),
        .workers = ls_mesh_workers(r->mesh),
        .bits = backend && strcmp(backend, "onednn") == 0 ? "not portable"
                                                          : "portable",
    };

    return metrics_open(&r->metrics, r->set.metrics, &info);
}

/* ------ The steps ------ */

/* The sign of a NaN says nothing, so none is shown. */
static double shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

static int log_line(run *r, const ls_result *result)
{
    progress_clear(&r->bar);
    printf("[lockstep] step %04lld  loss %.4f\n", (long long)result->step,
           shown((double)result->loss));
    return opt_end(metrics_flush(&r->metrics));
}

/* Sums with the weight of each step; a line when the epoch is over. */
static int count_epoch(run *r, const ls_result *result)
{
    int64_t done = result->step + 1, batches = r->data.batches;

    if (result->weight > 0) {
        r->loss += result->weight * (double)result->loss;
        r->right += result->weight * (double)result->accuracy;
        r->weight += result->weight;
    }
    if (done % batches)
        return OPT_GO;
    progress_clear(&r->bar);
    printf("Epoch %lld: Loss=%.4f, Acc=%.4f\n", (long long)(done / batches),
           shown(r->loss / r->weight), shown(r->right / r->weight));
    r->loss = r->right = r->weight = 0;
    return opt_end(metrics_flush(&r->metrics));
}

static bool wants_log(const run *r, int64_t step)
{
    int64_t every = r->set.log_every;

    return every && (step % every == 0 || step == r->set.steps - 1);
}

/* The mean over all windows held out, exact for any number of devices. */
static int evaluate(run *r, int64_t done)
{
    int64_t batches = text_eval_batches(&r->data.text);
    double loss = 0, weight = 0;
    ls_result part;
    int status = OPT_GO;

    for (int64_t i = 0; i < batches && status == OPT_GO; i++) {
        status = text_eval_fill(&r->data.text, i, r->batch);
        if (status == OPT_GO)
            status = opt_check(ls_evaluate(r->trainer, r->batch, &part));
        if (status == OPT_GO) {
            loss += part.weight * (double)part.loss;
            weight += part.weight;
        }
    }
    if (status != OPT_GO)
        return status;
    progress_clear(&r->bar);
    printf("[lockstep] eval step %04lld  loss %.4f\n", (long long)done,
           shown(loss / weight));
    return opt_end(OPT_GO);
}

static bool wants_eval(const run *r, int64_t done)
{
    int64_t every = r->set.eval_every;

    return every && (done % every == 0 || done == r->set.steps);
}

static int one_step(run *r, int64_t step)
{
    ls_result result;
    int64_t rows;
    double start;
    int status = data_fill(&r->data, step, r->batch, &rows);

    if (status != OPT_GO)
        return status;
    start = progress_clock();
    status = opt_check(ls_step(r->trainer, r->batch, &result));
    if (status != OPT_GO)
        return status;
    status = metrics_step(&r->metrics, &result, rows,
                          1e3 * (progress_clock() - start));
    if (status == OPT_GO && wants_log(r, step))
        status = log_line(r, &result);
    if (status == OPT_GO && r->model->epochs)
        status = count_epoch(r, &result);
    if (status == OPT_GO && wants_eval(r, step + 1))
        status = evaluate(r, step + 1);
    progress_step(&r->bar, step + 1, result.loss, rows);
    return status;
}

static int train(run *r)
{
    int status = OPT_GO;

    progress_start(&r->bar, r->set.steps);
    if (wants_eval(r, 0) && r->set.steps == 0)
        status = evaluate(r, 0);
    for (int64_t s = 0; s < r->set.steps && status == OPT_GO; s++)
        status = one_step(r, s);
    progress_clear(&r->bar);
    return status;
}

/* The keys of steps are those below 2^32 - 1. */
static int sample_text(run *r)
{
    sample s = {.trainer = r->trainer,
                .devices = (int)r->set.devices,
                .window = r->set.seq_len,
                .vocab = r->set.vocab,
                .key = ls_key_fold_in(ls_key_new(r->set.data_seed), UINT32_MAX),
                .temperature = r->set.temperature,
                .count = r->set.sample};
    int status = sample_print(&s);

    putchar('\n');
    return opt_end(status);
}

static int finish(run *r)
{
    char hex[65];
    int status = metrics_close(&r->metrics);

    if (status == OPT_GO && r->set.sample)
        status = sample_text(r);
    if (status != OPT_GO)
        return status;
    if (r->set.save)
        status = opt_check(ls_trainer_save(r->trainer, r->set.save));
    ls_trainer_hash(r->trainer, hex);
    printf("state %s\n", hex);
    return opt_end(status);
}

/* ------ */

/* clang-format off */
static int (*const stages[])(run *r) = {
    run_check, check_save, run_open_mesh, run_open_data, run_talk,
    run_open_pool, run_open_trainer, open_metrics, train, finish,
};
/* clang-format on */

int main(int argc, char **argv)
{
    run r = {0};
    int status;

    ls_blis_tune();
    status = run_parse(&r, &model_program, argc, argv);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && status == OPT_GO;
         i++)
        status = stages[i](&r);
    if (r.metrics.file)
        fclose(r.metrics.file); /* after a failure, which is the message */
    run_close(&r);
    return status == OPT_DONE ? 0 : status;
}

/* lockstep-train: train a model from the command line.
 *
 * The run is a list of stages; each goes on, or has said what is wrong and
 * gives the exit status.  Results go to stdout, talk to stderr. */
#define _GNU_SOURCE
#include "checkpoint.h"
#include "data.h"
#include "evaluate.h"
#include "metrics.h"
#include "model.h"
#include "opt.h"
#include "progress.h"
#include "sample.h"
#include "schedule.h"
#include "stall.h"
#include "stop.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char opt_program_name[] = "lockstep-train";

typedef struct run {
    settings set;
    opt_line line;
    const model *model;
    data data;
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    metrics metrics;
    progress bar;
    ls_trace *trace;
    stall watchdog;
    keeper keeper;
    position at;
    evaluation eval;
} run;

/* ------ Options that do not go together ------ */

static const char *const not_both[][2] = {
    {"steps", "epochs"},
    {"batch", "batch-per-device"},
    {"shuffle", "no-shuffle"},
};

static const char *const of_checkpoint[] = {"checkpoint-every", "keep",
                                            "resume"};

/* Silently ignored, "--optimizer sgd --momentum 0.9" would be another
 * experiment than its author thinks. */
/* clang-format off */
static const struct {
    const char *name;
    unsigned optimizers; /* bits of ls_optimizer_kind */
    const char *text;
} of_optimizer[] = {
    { "momentum", 1u << LS_MOMENTUM | 1u << LS_NESTEROV,
      "momentum and nesterov" },
    { "b1", 1u << LS_ADAM | 1u << LS_ADAMW, "adam and adamw" },
    { "b2", 1u << LS_ADAM | 1u << LS_ADAMW, "adam and adamw" },
    { "eps", 1u << LS_ADAM | 1u << LS_ADAMW, "adam and adamw" },
    { "weight-decay", 1u << LS_ADAMW, "adamw" },
};

static const struct {
    const char *name;
    unsigned schedules; /* bits of ls_schedule_kind */
    bool needed;        /* by each of them */
    const char *text;
} of_schedule[] = {
    { "decay-steps",
      1u << LS_LINEAR | 1u << LS_COSINE | 1u << LS_EXPONENTIAL, false,
      "linear, cosine and exponential" },
    { "decay-rate", 1u << LS_EXPONENTIAL, true, "exponential" },
    { "end-lr", 1u << LS_LINEAR | 1u << LS_COSINE | 1u << LS_EXPONENTIAL,
      false, "linear, cosine and exponential" },
    { "boundaries", 1u << LS_PIECEWISE, true, "piecewise" },
};
/* clang-format on */

static bool given(const run *r, const char *name)
{
    return opt_given(&model_program, &r->line, name);
}

static int check_schedule(const run *r)
{
    for (size_t i = 0; i < sizeof of_schedule / sizeof *of_schedule; i++) {
        const char *name = of_schedule[i].name, *text = of_schedule[i].text;
        bool fits = of_schedule[i].schedules >> r->set.schedule & 1;

        if (given(r, name) && !fits)
            return opt_fail(OPT_WRONG, "--%s is for --schedule %s", name, text);
        if (fits && of_schedule[i].needed && !given(r, name))
            return opt_fail(OPT_WRONG, "--schedule %s needs --%s", text, name);
    }
    return OPT_GO;
}

static int check_state(const char *state)
{
    if (strchr(state, '=') || !strcmp(state, "replicate") ||
        !strcmp(state, "shard"))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--state: \"%s\" is none of replicate, shard "
                    "and PATTERN=AXIS", state);
}

static int check_usage(run *r)
{
    for (size_t i = 0; i < sizeof not_both / sizeof *not_both; i++)
        if (given(r, not_both[i][0]) && given(r, not_both[i][1]))
            return opt_fail(OPT_WRONG, "--%s and --%s exclude each other",
                            not_both[i][0], not_both[i][1]);
    for (size_t i = 0; i < sizeof of_optimizer / sizeof *of_optimizer; i++)
        if (given(r, of_optimizer[i].name) &&
            !(of_optimizer[i].optimizers >> r->set.optimizer & 1))
            return opt_fail(OPT_WRONG, "--%s is for --optimizer %s",
                            of_optimizer[i].name, of_optimizer[i].text);
    for (size_t i = 0; i < sizeof of_checkpoint / sizeof *of_checkpoint; i++)
        if (given(r, of_checkpoint[i]) && !r->set.checkpoint)
            return opt_fail(OPT_WRONG, "--%s needs --checkpoint",
                            of_checkpoint[i]);
    if (r->set.init_only && !r->set.init)
        return opt_fail(OPT_WRONG, "--init-only is for --init");
    if (check_state(r->set.state) != OPT_GO)
        return OPT_WRONG;
    if (given(r, "trace-level") && !r->set.trace)
        return opt_fail(OPT_WRONG, "--trace-level is for --trace");
    if (r->set.precision == PRECISION_BF16_INPUT && r->model->tokens)
        return opt_fail(OPT_WRONG, "--precision bf16-input rounds inputs that "
                        "are floats; %s takes tokens",
                        model_program.models[r->line.model].name);
    return check_schedule(r);
}

/* A place that cannot be written is better found before the training. */
static int check_place(const char *path)
{
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

static int check_places(run *r)
{
    int status = check_place(r->set.save);

    return status == OPT_GO ? check_place(r->set.trace) : status;
}

/* ------ Stages before the first step ------ */

/* --devices auto: the number is known once a mesh has looked. */
static int count_cores(int64_t *cores)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh;
    int status;

    o.devices = 1;
    status = ls_mesh_open(&mesh, &o);
    if (status < 0)
        return opt_check(status);
    *cores = ls_mesh_usable_cores(mesh);
    ls_mesh_close(mesh);
    return OPT_GO;
}

static int open_mesh(run *r)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status = OPT_GO;

    if (r->set.devices == 0)
        status = count_cores(&r->set.devices);
    if (status != OPT_GO)
        return status;
    if (r->set.devices == 1 && r->model->parallel_only && !r->set.allow_single)
        return opt_fail(OPT_FAILED,
                        "Need at least 2 devices for data parallelism. "
                        "(--allow-single trains on one.)");
    o.devices = (int)r->set.devices;
    o.workers = (int)r->set.workers;
    return opt_check(ls_mesh_open(&r->mesh, &o));
}

/* Afterwards the settings hold what is done, whichever way it was said. */
static int open_data(run *r)
{
    settings *s = &r->set;
    int64_t batch =
        s->batch_per_device ? s->batch_per_device * s->devices : s->batch;
    int status = r->model->load(&r->data, s, &r->line);

    if (status == OPT_GO)
        status = data_plan(&r->data, batch, (int)s->devices, (int)s->accumulate,
                           s->uneven == UNEVEN_PAD);
    if (status == OPT_GO && s->eval_every)
        status = evaluation_check(&r->data, s);
    s->batch = r->data.batch;
    if (given(r, "steps"))
        s->epochs = 0;
    if (s->epochs)
        s->steps = s->epochs * r->data.batches;
    return status;
}

static int talk(run *r)
{
    int devices = ls_mesh_devices(r->mesh);
    int cores = ls_mesh_usable_cores(r->mesh);

    fprintf(stderr, "%s\n", ls_mesh_text(r->mesh));
    if (r->set.precision == PRECISION_BF16)
        fprintf(stderr, "bf16 layers: %s\n", ls_bf16_text());
    for (int i = 0; ls_mesh_note(r->mesh, i); i++)
        fprintf(stderr, "note: %s\n", ls_mesh_note(r->mesh, i));
    if (cores > devices)
        fprintf(stderr,
                "hint: %d cores are usable; --devices %d would use "
                "them all (another number of devices is another experiment)\n",
                cores, cores);
    return OPT_GO;
}

static int open_pool(run *r)
{
    ls_pool_options o = ls_pool_defaults();

    o.pin_caller = true;
    return opt_check(ls_pool_open(&r->pool, r->mesh, &o));
}

static ls_optimizer optimizer(const settings *s)
{
    ls_optimizer o = ls_adamw(schedule_peak(s));

    o.kind = (ls_optimizer_kind)s->optimizer;
    o.momentum = s->momentum;
    o.b1 = s->b1;
    o.b2 = s->b2;
    o.eps = s->eps;
    o.weight_decay = o.kind == LS_ADAMW ? s->weight_decay : 0;
    return o;
}

static int open_trainer(run *r)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_boundary room[SCHEDULE_BOUNDARIES];
    int status = schedule_read(&r->set, room, &o.schedule);

    if (status != OPT_GO)
        return status;
    o.seed = r->set.seed;
    o.keys = r->model->keys;
    o.optimizer = optimizer(&r->set);
    o.clip_norm = r->set.clip_norm;
    o.accumulate = (int)r->set.accumulate;
    o.mean = (ls_mean)r->set.mean;
    o.backend = r->set.backend;
    o.precision = r->set.precision == PRECISION_BF16 ? LS_BF16_LAYERS
                                                     : LS_F32_LAYERS;
    status = ls_graph_new(&r->graph);
    if (status == 0) {
        r->model->build(r->graph, &r->set);
        status = ls_trainer_open(&r->trainer, r->pool, r->graph, &o);
    }
    if (status == 0)
        status = ls_state_place(r->trainer, LS_STATE_ALL, r->set.state);
    if (status == 0)
        status = ls_batch_open(&r->batch, r->trainer);
    return opt_check(status);
}

static int open_batches(run *r)
{
    ls_key order = ls_key_new(r->set.data_seed);

    return data_open(&r->data, r->trainer, r->set.shuffle ? &order : NULL);
}

/* Do other machines make the same bits? */
static bool is_portable(const settings *s)
{
    ls_isa isa;

    if ((s->backend && strcmp(s->backend, "onednn") == 0) ||
        s->precision == PRECISION_BF16)
        return false;
    for (int i = 0; ls_isa_level(i, &isa); i++)
        if (isa.used)
            return isa.portable;
    return true;
}

static int open_keeper(run *r)
{
    keeper_run k = {&model_program, &r->line, &r->set, &r->data, r->trainer};

    return keeper_open(&r->keeper, &k, &r->at);
}

/* A run that goes on has its parameters. */
static int init(run *r)
{
    if (!r->set.init || ls_trainer_step(r->trainer) > 0)
        return OPT_GO;
    return opt_check(
        ls_trainer_load(r->trainer, r->set.init, r->set.init_only));
}

static int open_metrics(run *r)
{
    bool portable = is_portable(&r->set);
    metrics_run info = {
        .program = &model_program,
        .line = &r->line,
        .settings = &r->set,
        .devices = ls_mesh_devices(r->mesh),
        .workers = ls_mesh_workers(r->mesh),
        .bits = portable ? "portable" : "not portable",
        .bf16 = r->set.precision == PRECISION_BF16 ? ls_bf16_text() : NULL,
        .keep = r->at.metrics,
    };

    if (!portable)
        puts("bits: not portable");
    return metrics_open(&r->metrics, r->set.metrics, &info);
}

static int open_trace(run *r)
{
    ls_trace_options o = ls_trace_defaults();

    o.level = 1 + (int)r->set.trace_level;
    if (!r->set.trace)
        return OPT_GO;
    return opt_check(ls_trace_open(&r->trace, r->pool, &o));
}

static int open_watchdog(run *r)
{
    int error = stall_open(&r->watchdog, r->pool, r->mesh,
                           r->set.stall_seconds, stderr);

    if (error)
        return opt_fail(OPT_FAILED, "--stall-seconds: no thread: %s",
                        strerror(error));
    return OPT_GO;
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
        r->at.loss += result->weight * (double)result->loss;
        r->at.right += result->weight * (double)result->accuracy;
        r->at.weight += result->weight;
    }
    if (done % batches)
        return OPT_GO;
    progress_clear(&r->bar);
    printf("Epoch %lld: Loss=%.4f, Acc=%.4f\n", (long long)(done / batches),
           shown(r->at.loss / r->at.weight), shown(r->at.right / r->at.weight));
    r->at.loss = r->at.right = r->at.weight = 0;
    return opt_end(metrics_flush(&r->metrics));
}

static bool wants_log(const run *r, int64_t step)
{
    int64_t every = r->set.log_every;

    return every && (step % every == 0 || step == r->set.steps - 1);
}

static int fill(run *r, int64_t step, int64_t *rows)
{
    ls_mark mark = ls_mark_begin(r->pool, "data");
    int status = data_fill(&r->data, step, r->batch, rows);

    ls_mark_end(r->pool, mark);
    return status;
}

static int measure(run *r, const ls_result *result, int64_t rows, double ms)
{
    ls_mark mark = ls_mark_begin(r->pool, "metrics");
    int status = metrics_step(&r->metrics, result, rows, ms);

    ls_mark_end(r->pool, mark);
    return status;
}

/* The metrics are flushed first, so that they reach as far as what is saved. */
static int keep(run *r)
{
    int status = metrics_flush(&r->metrics);
    ls_mark mark;

    if (status != OPT_GO)
        return status;
    mark = ls_mark_begin(r->pool, "checkpoint");
    if (r->model->epochs && r->data.batches)
        r->at.epoch = r->at.done / r->data.batches;
    r->at.metrics = metrics_size(&r->metrics);
    keeper_save(&r->keeper, &r->at);
    ls_mark_end(r->pool, mark);
    return OPT_GO;
}

static int one_step(run *r, int64_t step)
{
    ls_result result;
    int64_t rows;
    double start;
    int status = fill(r, step, &rows);

    if (status != OPT_GO)
        return status;
    start = progress_clock();
    status = opt_check(ls_step(r->trainer, r->batch, &result));
    if (status != OPT_GO)
        return status;
    status = measure(r, &result, rows, 1e3 * (progress_clock() - start));
    if (status == OPT_GO && wants_log(r, step))
        status = log_line(r, &result);
    if (status == OPT_GO && r->model->epochs && r->data.batches)
        status = count_epoch(r, &result);
    if (status == OPT_GO && evaluation_due(&r->eval, step + 1)) {
        progress_clear(&r->bar);
        status = evaluate(&r->eval, step + 1);
    }
    r->at.done = step + 1;
    progress_step(&r->bar, step + 1, result.loss, rows);
    if (status == OPT_GO && keeper_due(&r->keeper, r->at.done))
        status = keep(r);
    return status;
}

static int write_trace(run *r)
{
    if (!r->trace)
        return OPT_GO;
    return opt_check(ls_trace_write(r->trace, r->set.trace));
}

static int save(run *r)
{
    if (!r->set.save)
        return OPT_GO;
    return opt_check(ls_trainer_save(r->trainer, r->set.save));
}

/* After a failure, which gives the status: the trainer is as the last good step
 * left it, and hours of training are not thrown away. */
static int leave(run *r, int status)
{
    write_trace(r);
    if (r->set.save && save(r) == OPT_GO)
        fprintf(stderr, "%s: %s: the parameters after %lld updates\n",
                opt_program_name, r->set.save,
                (long long)ls_trainer_step(r->trainer));
    return status;
}

/* Nothing is read while a step is computed that it could wait for; say so with
 * a number where files are read. */
static void tell_waiting(const run *r, double seconds)
{
    double waited = r->data.loader ? ls_loader_seconds(r->data.loader) : 0;

    if ((r->set.x || r->set.data) && r->data.loader && r->set.steps)
        fprintf(stderr, "waited for data: %.3f of %.3f s (%.2f %%)\n", waited,
                seconds, 100 * waited / seconds);
}

static int train(run *r)
{
    int status = OPT_GO;

    stop_open();
    r->eval = (evaluation){.set = &r->set, .data = &r->data,
                           .trainer = r->trainer, .batch = r->batch};
    progress_start(&r->bar, r->at.done, r->set.steps);
    if (r->set.steps == 0 && evaluation_due(&r->eval, 0))
        status = evaluate(&r->eval, 0);
    for (int64_t s = r->at.done; s < r->set.steps && status == OPT_GO; s++) {
        status = one_step(r, s);
        stall_step(&r->watchdog, s + 1);
        if (stop_signal())
            break; /* a step is done: the run ends as if it were the last */
    }
    stall_close(&r->watchdog);
    progress_clear(&r->bar);
    if (status == OPT_GO && r->set.steps)
        status = evaluation_sum(&r->eval);
    if (status == OPT_GO)
        tell_waiting(r, progress_clock() - r->bar.started);
    return status == OPT_GO ? keep(r) : leave(r, status);
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
    int kept = keeper_finish(&r->keeper);

    if (status == OPT_GO && r->set.sample && !stop_signal())
        status = sample_text(r);
    if (status != OPT_GO)
        return leave(r, status);
    status = write_trace(r);
    if (save(r) != OPT_GO)
        status = OPT_FAILED;
    ls_trainer_hash(r->trainer, hex);
    printf("state %s\n", hex);
    return opt_end(status == OPT_GO ? kept : status);
}

/* ------ */

/* clang-format off */
static int (*const stages[])(run *r) = {
    check_usage, check_places, open_mesh, open_data, talk, open_pool,
    open_trainer, open_batches, open_keeper, init, open_metrics,
    open_trace, open_watchdog, train, finish,
};
/* clang-format on */

static void close_all(run *r)
{
    if (r->metrics.file)
        fclose(r->metrics.file); /* after a failure, which is the message */
    stall_close(&r->watchdog);
    ls_trace_close(r->trace);
    keeper_close(&r->keeper);
    data_free(&r->data);
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_graph_free(r->graph);
    ls_pool_close(r->pool);
    ls_mesh_close(r->mesh);
}

int main(int argc, char **argv)
{
    run r = {0};
    int status;

    ls_blis_tune();
    status = opt_parse(&model_program, argc, argv, &r.set, &r.line);
    r.model = model_program.models[r.line.model < 0 ? 0 : r.line.model].impl;
    for (size_t i = 0; i < sizeof stages / sizeof *stages && status == OPT_GO;
         i++)
        status = stages[i](&r);
    close_all(&r);
    return status == OPT_DONE ? 0 : stop_status(status);
}

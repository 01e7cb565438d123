/* lockstep-scale: how a model's training scales with the workers.
 *
 * The measurement is the library's (ls_scaling_run); this gives it the trainer
 * that lockstep-train would train, and shows what it found.  A count whose
 * state is not that of one worker has no speed-up, and the exit status is 1. */
#define _GNU_SOURCE
#include "others.h"
#include "writable.h"
#include "scale_findings.h"
#include "launch.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char opt_program_name[] = "lockstep-scale";

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const opt own_options[] = {
    { OPT_ROW("workers", "A,B,..", OPT_TEXT, AT(scale.counts), NULL, "",
              "counts to measure, 1 is added (1,2,4.. cores)") },
    { OPT_ROW("weak", NULL, OPT_FLAG, AT(scale.weak), NULL, "",
              "rows grow with the workers") },
    { OPT_ROW("repeat", "R", OPT_COUNT, AT(scale.repeats), NULL, "5",
              "runs of each count, in turn") },
    { OPT_ROW("steps", "N", OPT_COUNT, AT(scale.steps), NULL, "",
              "timed steps of a run (about half a second)") },
    { OPT_ROW("json", "FILE.json", OPT_TEXT, AT(scale.json), NULL, "",
              "write all numbers as JSON") },
    { OPT_ROW("csv", "FILE.csv", OPT_TEXT, AT(scale.csv), NULL, "",
              "write a line for each count") },
    { OPT_ROW("plot", "FILE.svg", OPT_TEXT, AT(scale.plot), NULL, "",
              "draw speed-up and times") },
};
/* clang-format on */

enum { COUNTS = 64 };

typedef struct scale {
    run run;
    settings asked; /* the settings as the command line has them */
    int counts;
    int count[COUNTS];
    int status; /* of what failed inside of the measurement */
    others others;
    bool tells; /* stderr is a terminal */
    ls_scaling *scaling;
    findings findings;
    char *command;
} scale;

/* ------ Stages before the measurement ------ */

static int read_counts(scale *s)
{
    static const opt_list list = {
        .option = "workers", .between = ',', .high = 65536, .least = 1,
        .most = COUNTS,
        .no_list = "is not a list of numbers from 1 to 65536, as 1,2,4"};
    int64_t count[COUNTS];
    int status = OPT_GO;

    if (s->asked.scale.counts)
        status = opt_numbers(&list, s->asked.scale.counts, count, &s->counts);
    for (int i = 0; i < s->counts && status == OPT_GO; i++)
        s->count[i] = (int)count[i];
    return status;
}

static int check_usage(scale *s)
{
    int status = run_check(&s->run);

    return status == OPT_GO ? read_counts(s) : status;
}

static int check_writable(scale *s)
{
    const char *path[] = {s->asked.scale.json, s->asked.scale.csv,
                          s->asked.scale.plot};
    int status = OPT_GO;

    for (int i = 0; i < 3 && status == OPT_GO; i++)
        status = writable_check(path[i], false);
    return status;
}

/* Planned for the most workers that will be measured. */
static int open_mesh(scale *s)
{
    int status;

    for (int i = 0; i < s->counts; i++)
        if (s->count[i] > s->run.set.workers)
            s->run.set.workers = s->count[i];
    s->run.details = true;
    status = run_open_mesh(&s->run);
    if (status != OPT_GO)
        return status;
    s->asked.devices = s->run.set.devices; /* auto is a number now */
    run_talk(&s->run);
    return OPT_GO;
}

/* ------ What is measured ------ */

/* --weak: the batch, and generated data, as many times. */
static int fold_settings(settings *s, int64_t fold)
{
    bool generated = !s->x && !s->data;

    if (fold == 1)
        return OPT_GO;
    if (!generated && !s->batch && !s->batch_per_device)
        return opt_fail(OPT_WRONG, "--weak needs --batch: a batch of all rows "
                        "cannot grow");
    s->batch *= fold;
    s->batch_per_device *= fold;
    s->rows *= generated ? fold : 1;
    if (s->rows > INT32_MAX || s->batch > INT32_MAX)
        return opt_fail(OPT_WRONG, "--weak: %lld times the rows are more than "
                        "%d", (long long)fold, INT32_MAX);
    return OPT_GO;
}

/* Anew for each trainer, which takes the data over. */
static int load(scale *s, int fold)
{
    run *r = &s->run;
    int status;

    data_free(&r->data);
    r->set = s->asked;
    status = fold_settings(&r->set, fold);
    return status == OPT_GO ? run_open_data(r) : status;
}

/* An ls_scaling_open_fn. */
static int open_trainer(void *user, ls_pool *pool, int fold,
                        ls_trainer **trainer, ls_batch **batch)
{
    scale *s = user;
    run *r = &s->run;

    s->status = load(s, fold);
    if (s->status != OPT_GO)
        return LS_EUSER;
    r->pool = pool;
    s->status = run_open_trainer(r);
    r->pool = NULL;
    *trainer = r->trainer;
    *batch = r->batch;
    ls_graph_free(r->graph);
    r->graph = NULL;
    r->trainer = NULL;
    r->batch = NULL;
    if (s->status != OPT_GO)
        return LS_EUSER;
    findings_count(&s->findings, *trainer);
    return 0;
}

/* An ls_scaling_fill_fn. */
static int fill(void *user, int64_t step, ls_batch *batch)
{
    scale *s = user;
    int64_t rows;

    s->status = data_fill(&s->run.data, step, batch, &rows);
    return s->status == OPT_GO ? 0 : LS_EUSER;
}

static void progress_line(void *user, int at, int runs, int workers)
{
    const scale *s = user;

    if (s->tells)
        fprintf(stderr, "\rrun %d of %d: %d worker%s    ", at + 1, runs,
                workers, workers == 1 ? "" : "s");
}

static int measure(scale *s)
{
    ls_scaling_options o = ls_scaling_defaults();
    ls_mesh_options mesh = ls_mesh_defaults();
    int status;

    o.open = open_trainer;
    o.fill = fill;
    o.progress = progress_line;
    o.user = s;
    mesh.devices = (int)s->asked.devices;
    mesh.cpus = s->asked.cpus;
    o.mesh = &mesh;
    o.counts = s->counts;
    o.count = s->count;
    o.weak = s->asked.scale.weak;
    o.precision = run_precision(&s->run);
    o.repeats = (int)s->asked.scale.repeats;
    o.steps = (int)s->asked.scale.steps;
    s->tells = isatty(STDERR_FILENO);
    others_start(&s->others);
    status = ls_scaling_run(&s->scaling, &o);
    if (s->tells)
        fprintf(stderr, "\r%40s\r", "");
    s->findings.others = others_used(&s->others);
    return s->status != OPT_GO ? s->status : opt_check(status);
}

/* ------ What is shown ------ */

static int make_findings(scale *s)
{
    findings *r = &s->findings;

    r->model = run_model_name(&s->run);
    r->command = s->command;
    r->cpu = ls_mesh_cpu(s->run.mesh);
    r->mesh = ls_mesh_text(s->run.mesh);
    r->isa = run_isa();
    r->products = s->run.products;
    r->cores = ls_mesh_usable_cores(s->run.mesh);
    r->weak = s->asked.scale.weak;
    r->tokens = s->run.set.seq_len;
    return findings_make(r, s->scaling);
}

static int write_files(scale *s)
{
    const findings *r = &s->findings;
    int status = OPT_GO;

    if (s->asked.scale.json)
        status = scale_json(r, s->asked.scale.json);
    if (s->asked.scale.csv && status == OPT_GO)
        status = scale_csv(r, s->asked.scale.csv);
    if (s->asked.scale.plot && status == OPT_GO)
        status = scale_plot(r, s->asked.scale.plot);
    return status;
}

/* What makes the numbers doubtful. */
static void doubt(const findings *r)
{
    enum { WIDE = 10 }; /* per cent */
    double spread = 0;

    if (r->others > 0.1)
        fprintf(stderr, "note: other programs used %.1f processors meanwhile\n",
                r->others);
    for (int i = 0; i < r->points; i++)
        if (!r->point[i].oversubscribed && r->rate[i].spread > spread)
            spread = r->rate[i].spread;
    if (spread > WIDE)
        fprintf(stderr, "note: runs of one count differ by up to %.0f %%; "
                "repeat on a quiet machine, or with more --repeat\n", spread);
}

static int show(scale *s)
{
    int status;

    scale_table(&s->findings);
    doubt(&s->findings);
    status = write_files(s);
    for (int i = 0; i < s->findings.points; i++) {
        const ls_scaling_point *p = &s->findings.point[i];

        if (!p->verified)
            status = opt_fail(OPT_FAILED, "%d workers: the state is not that "
                              "of 1 worker, so there is no speed-up",
                              p->workers);
    }
    return opt_end(status);
}

/* ------ */

/* The command line as one text. */
static char *join(int argc, char **argv)
{
    size_t room = sizeof opt_program_name;
    char *all;

    for (int i = 1; i < argc; i++)
        room += strlen(argv[i]) + 1;
    all = malloc(room);
    if (!all)
        return NULL;
    strcpy(all, opt_program_name);
    for (int i = 1; i < argc; i++)
        strcat(strcat(all, " "), argv[i]);
    return all;
}

static int start(scale *s, int argc, char **argv)
{
    int status;

    model_program(&s->run.program,
                  "Measure how a model's training scales with the workers.");
    opt_add(&s->run.program, sizeof own_options / sizeof *own_options,
            own_options);
    status = run_parse(&s->run, argc, argv);
    s->run.set.steps = 1000; /* the end of schedules that name none */
    s->asked = s->run.set;
    s->command = join(argc, argv);
    if (status == OPT_GO && !s->command)
        return opt_fail(OPT_FAILED, "out of memory");
    return status;
}

/* clang-format off */
static int (*const stages[])(scale *s) = {
    check_usage, check_writable, open_mesh, measure, make_findings, show,
};
/* clang-format on */

int main(int argc, char **argv)
{
    scale s = {0};
    int status;

    ls_blis_tune();
    status = launch_alone();
    if (status == OPT_GO)
        status = start(&s, argc, argv);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && status == OPT_GO;
         i++)
        status = stages[i](&s);
    ls_scaling_free(s.scaling);
    findings_free(&s.findings);
    free(s.command);
    run_close(&s.run);
    return status == OPT_DONE ? 0 : status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-scale: how a model's training scales with the workers, and with
 * ranks.
 *
 * The measurement is scaling.c's; this gives it the trainer that lockstep-train
 * would train, and shows what it found.  A count with another state than one
 * worker's has no speed-up, and the exit status is 1.  Ranks are those that
 * mpirun started. */
#define _GNU_SOURCE
#include "run/apart.h"
#include "opt/json_parts.h"
#include "scale/scale.h"
#include "train/train_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-scale";

#define AT(member) offsetof(scale_settings, member)

/* A mark: a file that each of several models would write over. */
enum { OF_MODEL = 1 << 16 };

/* clang-format off */
static const opt own_options[] = {
    { OPT_ROW("workers", "A,B,..", OPT_TEXT, AT(workers), NULL, "",
              "counts to measure, 1 is added (1,2,4.. cores)") },
    { OPT_ROW("ranks", "A,B,..", OPT_TEXT, AT(ranks), NULL, "",
              "counts of ranks of mpirun's, 1 is added (1,2,4.. all)") },
    { OPT_ROW("oversubscribe", NULL, OPT_FLAG, AT(oversubscribe), NULL, "",
              "measure counts of far more workers than cores, too") },
    { OPT_ROW("weak", NULL, OPT_FLAG, AT(weak), NULL, "",
              "rows grow with the workers") },
    { OPT_ROW("repeat", "R", OPT_COUNT, AT(repeats), NULL, "5",
              "runs of each count, in turn") },
    { OPT_ROW("steps", "N", OPT_COUNT, AT(steps), NULL, "",
              "timed steps of a run (about half a second)") },
    { OPT_ROW("no-roofs", NULL, OPT_FLAG, AT(no_roofs), NULL, "",
              "do not measure what the cores and the memory can do") },
    { OPT_ROW("report", "FILE.json", OPT_TEXT, AT(report), NULL, "",
              "write all that a report of speed needs (stdout)"),
      .not_with = "ranks", .alone = "/dev/stdout", .use = OPT_WRITTEN },
    { OPT_ROW("json", "FILE.json", OPT_TEXT, AT(json), NULL, "",
              "write all numbers as JSON"), .marks = OF_MODEL,
      .use = OPT_WRITTEN },
    { OPT_ROW("csv", "FILE.csv", OPT_TEXT, AT(csv), NULL, "",
              "write a line for each count"), .marks = OF_MODEL,
      .use = OPT_WRITTEN },
    { OPT_ROW("plot", "FILE.svg", OPT_TEXT, AT(plot), NULL, "",
              "draw speed-up and times"), .marks = OF_MODEL,
      .use = OPT_PICTURE },
};
/* clang-format on */

/* ------ Stages before the measurement ------ */

static int read_counts(const char *option, const char *text,
                       int out[SCALE_COUNTS],
                       int *n)
{
    const opt_list list = {
        .option = option, .between = ',', .high = 65536, .least = 1,
        .most = SCALE_COUNTS,
        .no_list = "is not a list of numbers from 1 to 65536, as 1,2,4"};
    int64_t count[SCALE_COUNTS];
    int status = text ? opt_numbers(&list, text, count, n) : OPT_GO;

    for (int i = 0; i < *n && status == OPT_GO; i++)
        out[i] = (int)count[i];
    return status;
}

static int most(const int *number, int n)
{
    int most = 1;

    for (int i = 0; i < n; i++)
        most = number[i] > most ? number[i] : most;
    return most;
}

static int check_usage(scale *s)
{
    int status = run_check(&s->run);

    if (status == OPT_GO && s->all)
        status = opt_refuse(&s->run.line, OF_MODEL, " is of one MODEL, and "
                            "none is named; --report writes them all");
    if (status == OPT_GO)
        status = read_counts("workers", s->set.workers, s->workers,
                             &s->n_workers);
    if (status == OPT_GO)
        status = read_counts("ranks", s->set.ranks, s->ranks, &s->n_ranks);
    return status;
}

/* Take the ranks that a launcher started. */
static int open_ranks(scale *s)
{
    int asked = most(s->ranks, s->n_ranks);
    int all = s->launch.transport ? s->launch.transport->ranks : 1;

    s->transport = s->launch.transport;
    if (s->transport && s->set.report)
        return opt_fail(OPT_WRONG, "--report is for one process, not for "
                        "ranks");
    if (asked > all)
        return opt_fail(OPT_WRONG, "--ranks: %d are more than the %d that were "
                        "started; mpirun -n %d lockstep-scale .. starts them",
                        asked, all, asked);
    return s->transport ? OPT_GO : run_check_alone(&s->run);
}

static int check_writable(scale *s)
{
    return apart_check(&s->run.line, 0, NULL, NULL);
}

/* A rank without devices is refused.  Where not said, there are as many as one
 * has cores, or ranks. */
static int settle_devices(scale *s)
{
    int ranks = s->n_ranks ? most(s->ranks, s->n_ranks) : s->transport->ranks;
    int devices = (int)s->run.how.devices;
    int status = launch_most(&s->launch, &devices);

    if (status != OPT_GO)
        return status;
    if (!run_given(&s->run, "devices") && devices < ranks)
        devices = ranks;
    s->run.how.devices = devices;
    return devices >= ranks
               ? OPT_GO
               : opt_fail(OPT_WRONG, "--devices %lld: %d ranks are more than "
                          "that", (long long)devices, ranks);
}

/* Threads that only wait for each other take minutes and tell nothing. */
static int check_workers(const scale *s)
{
    enum { LEAST = 64, OF_EACH = 4 };
    int cores = ls_mesh_usable_cores(s->run.mesh);
    int asked = most(s->workers, s->n_workers) * most(s->ranks, s->n_ranks);
    int bound = OF_EACH * cores > LEAST ? OF_EACH * cores : LEAST;

    if (asked <= bound || s->launch.transport || s->set.oversubscribe)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--workers: %d workers on %d core%s would take "
                    "minutes and tell little; at most %d are measured without "
                    "--oversubscribe", asked, cores, opt_s(cores), bound);
}

/* Planned for the most workers that will be measured. */
static int open_mesh(scale *s)
{
    int status;

    for (int i = 0; i < s->n_workers; i++)
        if (s->workers[i] > s->run.how.workers)
            s->run.how.workers = s->workers[i];
    s->run.details = true;
    status = run_open_mesh(&s->run);
    if (status == OPT_GO)
        status = check_workers(s);
    if (status == OPT_GO && s->transport)
        status = settle_devices(s);
    if (status != OPT_GO)
        return status;
    if (launch_first(&s->launch))
        run_talk(&s->run);
    return OPT_GO;
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
    r->weak = s->set.weak;
    r->tokens = s->run.set.model.seq_len;
    return findings_make(r, s->scaling);
}

/* Tells the reasons to doubt the numbers. */
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

static int refuse_state(const scaling_point *p)
{
    char ranks[32] = "";

    if (p->ranks > 1)
        snprintf(ranks, sizeof ranks, "%d ranks of ", p->ranks);
    return opt_fail(OPT_FAILED, "%s%d workers: the state is not that of 1 "
                    "worker, so there is no speed-up", ranks, p->workers);
}

static int write_files(const scale *s)
{
    const findings *r = &s->findings;
    int status = s->set.json ? scale_json(r, s->set.json) : OPT_GO;

    if (s->set.csv && status == OPT_GO)
        status = scale_csv(r, s->set.csv);
    if (s->set.plot && status == OPT_GO)
        status = scale_plot(r, s->set.plot);
    return status;
}

/* The first rank shows what all of them know; a report on stdout is alone
 * there. */
static int show(scale *s)
{
    int status;

    if (!launch_first(&s->launch))
        return OPT_GO;
    if (!s->set.report || strcmp(s->set.report, "/dev/stdout"))
        scale_table(&s->findings);
    doubt(&s->findings);
    status = write_files(s);
    if (s->set.report &&
        !(s->models = json_and(s->models, findings_json(&s->findings))))
        status = opt_no_memory("the report");
    for (int i = 0; i < s->findings.points; i++) {
        const scaling_point *p = &s->findings.point[i];

        if (!p->verified)
            status = refuse_state(p);
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

    run_program(&s->run,
                "Measure how a model's training scales with the workers.",
                &(run_own){train_report_options, train_keep_options, NULL});
    opt_add(&s->run.program, (opt_rows)OPT_ROWS(own_options), &s->set);
    status = run_parse(&s->run, argc, argv);
    s->run.is_fold = s->set.weak;
    s->run.set.data.steps = 1000; /* the end of schedules that name none */
    s->asked = s->run.set;
    return status;
}

/* clang-format off */
static int (*const stages[])(scale *s) = {
    check_usage, check_writable, open_ranks, open_mesh,
    scale_measure, make_findings, show,
};
/* clang-format on */

static int measure_model(scale *s, int argc, char **argv)
{
    int status = launch_agree(&s->launch, start(s, argc, argv), false);

    if (status == OPT_GO)
        status = run_compare(&s->run, &s->launch);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && status == OPT_GO;
         i++)
        status = stages[i](s);
    scaling_free(s->scaling);
    findings_free(&s->findings);
    run_close(&s->run);
    return status;
}

/* ------ Where nobody names a model ------ */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* A report is of all usual models then. */
static bool is_of_all(int argc, char **argv)
{
    bool asked = false;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version"))
            return false;
        asked |= begins(argv[i], "--report");
    }
    return asked && begins(argv[1], "--");
}

/* The same command line with each of the models, which need no data. */
static int measure_all(scale *s, int argc, char **argv)
{
    static const char *const usual[] = {"lm", "cnn", "mlp"};
    char **with = calloc((size_t)argc + 2, sizeof *with);
    static scale next; /* large, as main's is */
    int status = with ? OPT_GO : opt_fail(OPT_FAILED, "out of memory");

    next.all = true;
    next.launch = s->launch;
    next.models = s->models;
    next.command = s->command;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && status == OPT_GO;
         i++) {
        *s = next;
        with[0] = argv[0];
        with[1] = (char *)usual[i];
        memcpy(with + 2, argv + 1, (size_t)(argc - 1) * sizeof *with);
        if (i > 0)
            putchar('\n');
        status = measure_model(s, argc + 1, with);
    }
    free(with);
    return status;
}

/* ------ */

int main(int argc, char **argv)
{
    static scale s; /* 60 kB that a small stack need not have (ulimit -s) */
    int status;

    ls_blis_tune();
    status = launch_open(&s.launch);
    s.models = json_array();
    if (status == OPT_GO && !(s.command = join(argc, argv)))
        status = opt_fail(OPT_FAILED, "out of memory");
    if (status == OPT_GO)
        status = is_of_all(argc, argv) ? measure_all(&s, argc, argv)
                                       : measure_model(&s, argc, argv);
    if (status == OPT_GO && s.set.report)
        status = scale_report(s.models, s.command, s.run.how.cpus,
                              s.set.report);
    json_decref(s.models);
    free(s.command);
    status = launch_close(&s.launch, status);
    return status == OPT_DONE ? 0 : status;
}

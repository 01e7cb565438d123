/* SPDX-License-Identifier: BSD-3-Clause */
/* See verify.h.
 *
 * The level is chosen once in a process, so each other level of this CPU is
 * verified by this program started again with LS_ISA set to its name. */
#define _GNU_SOURCE

#include "info/verify.h"
#include "opt/opt.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_PUS = 8192 };

/* A run under way. */
typedef struct trial {
    const verify_run *run;
    int pu;                   /* that computes it alone; -1: as the run says */
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    verify_step got[VERIFY_STEPS];
    int number[VERIFY_TENSORS]; /* of tensor(), for each digest */
    char difference[LS_TEXT]; /* empty: the bytes are those recorded */
} trial;

/* ------ Training ------ */

static ls_trainer_options options_of(const verify_run *run)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_optimizer_defaults(run->optimizer, 0.01);
    o.schedule.kind = run->schedule;
    if (run->schedule != LS_CONSTANT)
        o.schedule.decay_steps = 2 * VERIFY_STEPS;
    o.clip_norm = run->clip_norm;
    o.accumulate = run->accumulate;
    o.mean = run->mean;
    o.state = run->state;
    o.backend = run->backend;
    o.precision = run->precision;
    return o;
}

static int open_trial(trial *t)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options p = ls_pool_defaults();
    ls_trainer_options o = options_of(t->run);
    char cpus[16];
    int status;

    if (t->run->devices)
        m.devices = t->run->devices;
    m.workers = t->run->workers;
    if (t->pu >= 0) {
        snprintf(cpus, sizeof cpus, "%d", t->pu);
        m.cpus = cpus;
        m.workers = 1;
        p.pin_caller = true; /* who is that worker */
    }
    if ((status = ls_mesh_open(&t->mesh, &m)) < 0 ||
        (status = ls_pool_open(&t->pool, t->mesh, &p)) < 0 ||
        (status = verify_graph(&t->graph, t->run->model)) < 0 ||
        (status = ls_trainer_open(&t->trainer, t->pool, t->graph, &o)) < 0)
        return status;
    return ls_batch_open(&t->batch, t->trainer);
}

static void close_trial(trial *t)
{
    ls_batch_close(t->batch);
    ls_trainer_close(t->trainer);
    ls_graph_free(t->graph);
    ls_pool_close(t->pool);
    ls_mesh_close(t->mesh);
}

/* ------ Tensors: parameters, then the moments there are ------ */

static const char *const moments[] = {"", "mu.", "nu.", "trace."};

/* Tensor i of a trainer by name, and its elements; false past the last. */
static bool tensor(const ls_trainer *t, int i, char name[LS_TEXT],
                   int64_t *elements)
{
    int params = ls_trainer_params(t), kind = i / params;
    int64_t shape[LS_MAX_RANK];

    *elements = 1;
    if (kind >= (int)(sizeof moments / sizeof *moments))
        return false;
    snprintf(name, LS_TEXT, "%s%s", moments[kind],
             ls_trainer_param_name(t, i % params));
    for (int k = ls_trainer_param_shape(t, i % params, shape); k-- > 0;)
        *elements *= shape[k];
    return true;
}

/* FNV-1a of the elements' bytes, the least of each first. */
static uint32_t digest(const float *x, int64_t n)
{
    uint32_t d = 2166136261u, word;

    for (int64_t i = 0; i < n; i++) {
        memcpy(&word, &x[i], sizeof word);
        for (int k = 0; k < 32; k += 8)
            d = (d ^ (word >> k & 255)) * 16777619u;
    }
    return d;
}

static int look(trial *t, verify_step *s)
{
    char name[LS_TEXT];
    int64_t n;
    int hashed = ls_trainer_hash(t->trainer, s->state);

    if (hashed < 0)
        return hashed;
    for (int i = 0; tensor(t->trainer, i, name, &n); i++) {
        float *x = malloc((size_t)n * sizeof *x);
        int status = x ? ls_trainer_get(t->trainer, name, n, x) : LS_ENOMEM;

        if (status == 0 && s->tensors < VERIFY_TENSORS) {
            t->number[s->tensors] = i;
            s->digest[s->tensors++] = digest(x, n);
        }
        free(x);
        if (status < 0 && status != LS_ENOTFOUND)
            return status;
    }
    return 0;
}

/* ------ Comparing ------ */

static const verify_known *known(const verify_run *run)
{
    const verify_known *k = verify_table;

    while (k->name && strcmp(k->name, run->like ? run->like : run->name))
        k++;
    return k->name ? k : NULL;
}

/* Say in what a step differs from what is recorded, if no step before did. */
static void compare(trial *t, int step)
{
    const verify_known *k = known(t->run);
    const verify_step *got = &t->got[step];
    char name[LS_TEXT];
    int64_t n;
    int i = 0;

    if (*t->difference || (k && !strcmp(k->step[step].state, got->state)))
        return;
    snprintf(name, LS_TEXT, k ? "the step's number" : "all: none is recorded");
    while (k && i < got->tensors && k->step[step].digest[i] == got->digest[i])
        i++;
    if (k && i < got->tensors)
        (void)tensor(t->trainer, t->number[i], name, &n);
    snprintf(t->difference, LS_TEXT, "differs in step %d, first in %.200s",
             step, name);
}

static int train(trial *t)
{
    ls_result r;
    int status = open_trial(t);

    for (int s = 0; s < VERIFY_STEPS && status == 0; s++) {
        if ((status = verify_rows(t->batch, t->run, s)) < 0 ||
            (status = ls_step(t->trainer, t->batch, &r)) < 0 ||
            (status = look(t, &t->got[s])) < 0)
            return status;
        compare(t, s);
    }
    return status;
}

/* ------ Showing ------ */

static json_t *json_step(const verify_step *s)
{
    json_t *digests = json_array();

    for (int i = 0; i < s->tensors; i++)
        json_array_append_new(digests, json_integer(s->digest[i]));
    return json_pack("{s:s, s:o}", "state", s->state, "digests", digests);
}

static json_t *json_run(const trial *t)
{
    json_t *steps = json_array();

    for (int s = 0; s < VERIFY_STEPS; s++)
        json_array_append_new(steps, json_step(&t->got[s]));
    return json_pack("{s:s, s:s*, s:b, s:s, s:o}", "name", t->run->name,
                     "like", t->run->like, "same", !*t->difference,
                     "difference", t->difference, "steps", steps);
}

/* ------ One level ------ */

typedef struct tally {
    int same, different, skipped;
    int pu;       /* that computes alone; -1: all do */
    bool crowd;   /* all PUs compute alone, at once */
    json_t *runs; /* NULL: as text */
} tally;

/* Does a run have bytes that are the same on every processor? */
static bool is_known(const verify_run *run)
{
    char text[LS_TEXT];

    return ls_backend_text(text, run->backend, run->precision) == 0;
}

/* A run that is right is told alone, of one PU with all others. */
static void print_run(const trial *t)
{
    if (t->pu < 0)
        printf("  %-28s %s\n", t->run->name,
               *t->difference ? t->difference : "the same bytes");
    else if (*t->difference)
        printf("  PU %d: %s %s\n", t->pu, t->run->name, t->difference);
}

static int verify_one(const verify_run *run, tally *sum)
{
    trial t = {.run = run, .pu = sum->pu};
    int status;

    if (!is_known(run)) {
        sum->skipped++;
        return OPT_GO;
    }
    status = opt_check(train(&t));
    *(*t.difference ? &sum->different : &sum->same) += 1;
    if (status == OPT_GO && sum->runs)
        json_array_append_new(sum->runs, json_run(&t));
    else if (status == OPT_GO)
        print_run(&t);
    close_trial(&t);
    return status;
}

static int end_level(tally *sum, const char *level)
{
    json_t *o;

    if (!sum->runs) {
        if (sum->pu >= 0)
            printf("  PU %d%s:", sum->pu, sum->crowd ? ", all at once" : "");
        printf("  %d the same, %d different", sum->same, sum->different);
        if (sum->skipped)
            printf(", %d left out (no such backend, or bits that depend on the "
                   "processor)", sum->skipped);
        putchar('\n');
        return OPT_GO;
    }
    o = json_pack("{s:s, s:s, s:i, s:b, s:i, s:i, s:i, s:o}", "version",
                  ls_version(), "level", level, "pu", sum->pu, "at_once",
                  sum->crowd, "same",
                  sum->same, "different", sum->different, "skipped",
                  sum->skipped, "runs", sum->runs);
    if (!o || json_dumpf(o, stdout, JSON_COMPACT))
        return opt_fail(OPT_FAILED, "the results do not become JSON");
    putchar('\n');
    json_decref(o);
    return OPT_GO;
}

static int verify_runs(tally *sum)
{
    int status = OPT_GO;

    for (int i = 0; verify_run_at(i) && status == OPT_GO; i++)
        status = verify_one(verify_run_at(i), sum);
    return status;
}

static int tell(tally *sum, const char *level)
{
    int status = end_level(sum, level);

    if (status != OPT_GO || !sum->different)
        return status;
    if (sum->pu >= 0)
        return opt_fail(OPT_FAILED, "%s: PU %d gave other bytes than those "
                        "recorded in %d of %d runs", level, sum->pu,
                        sum->different, sum->different + sum->same);
    return opt_fail(OPT_FAILED, "%s: %d of %d runs did not give the bytes that "
                    "are recorded", level, sum->different,
                    sum->different + sum->same);
}

/* All runs on one PU, or, -1, on those that each run says. */
static int verify_on(const char *level, int pu, bool json)
{
    tally sum = {.pu = pu, .runs = json ? json_array() : NULL};
    int status = verify_runs(&sum);

    return status == OPT_GO ? tell(&sum, level) : status;
}

/* ------ all PUs at once, which heats ------ */

typedef struct seat {
    pthread_t thread;
    bool runs;
    tally sum;
    int status;
} seat;

static void *sit(void *user)
{
    seat *s = user;

    s->status = verify_runs(&s->sum);
    return NULL;
}

static int verify_at_once(const char *level, const int *pu, int pus, bool json)
{
    seat *all = calloc((size_t)pus, sizeof *all);
    int status = all ? OPT_GO : opt_fail(OPT_FAILED, "out of memory"), one;

    for (int i = 0; all && i < pus; i++) {
        all[i].sum = (tally){.pu = pu[i], .crowd = true,
                             .runs = json ? json_array() : NULL};
        all[i].runs = pthread_create(&all[i].thread, NULL, sit, &all[i]) == 0;
    }
    for (int i = 0; all && i < pus; i++) {
        if (all[i].runs)
            pthread_join(all[i].thread, NULL);
        one = !all[i].runs ? opt_fail(OPT_FAILED, "no thread for PU %d", pu[i])
              : all[i].status == OPT_GO ? tell(&all[i].sum, level)
                                        : all[i].status;
        status = one > status ? one : status;
    }
    free(all);
    return status;
}

/* Each PU that this process may run on, one after the other, and then all. */
static int verify_cores(const char *level, bool json)
{
    cpu_set_t *set = CPU_ALLOC(MOST_PUS);
    size_t bytes = CPU_ALLOC_SIZE(MOST_PUS);
    int *list = calloc(MOST_PUS, sizeof *list);
    int status = OPT_GO, one, pus = 0;

    if (!set || !list || sched_getaffinity(0, bytes, set) < 0)
        status = opt_fail(OPT_FAILED, "the processors are not known: %s",
                          strerror(errno));
    for (int pu = 0; pu < MOST_PUS && set && list; pu++)
        if (CPU_ISSET_S(pu, bytes, set))
            list[pus++] = pu;
    for (int i = 0; i < pus && status != OPT_WRONG; i++) {
        one = verify_on(level, list[i], json);
        status = one > status ? one : status;
    }
    if (pus > 1 && status != OPT_WRONG) {
        one = verify_at_once(level, list, pus, json);
        status = one > status ? one : status;
    }
    CPU_FREE(set);
    free(list);
    return status;
}

static int verify_level(const char *level, const verify_options *o)
{
    if (!o->json)
        puts(level);
    return o->each_core ? verify_cores(level, o->json)
                        : verify_on(level, -1, o->json);
}

/* ------ All levels ------ */

/* The same command in a process of its own, on another level. */
static int start_again(const char *level, const verify_options *o)
{
    char *args[5] = {"lockstep-info", "--verify"};
    int n = 2, result = 0, error;
    pid_t child;

    if (o->json)
        args[n++] = "--json";
    if (o->each_core)
        args[n++] = "--each-core";
    fflush(stdout);
    if (setenv("LS_ISA", level, 1))
        return opt_fail(OPT_FAILED, "no memory for LS_ISA=%s", level);
    error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ);
    unsetenv("LS_ISA");
    if (error)
        return opt_fail(OPT_FAILED, "cannot start a process for level %s: %s",
                        level, strerror(error));
    if (waitpid(child, &result, 0) < 0 || !WIFEXITED(result))
        return opt_fail(OPT_FAILED, "the process for level %s did not end "
                        "by itself", level);
    return WEXITSTATUS(result);
}

static int verify_levels(const verify_options *o)
{
    const char *asked = getenv("LS_ISA");
    int status = OPT_GO, one;
    ls_isa isa;

    for (int i = 0; ls_isa_level(i, &isa); i++) {
        if (!isa.here || (asked && *asked && !isa.used))
            continue;
        one = isa.used ? verify_level(isa.name, o) : start_again(isa.name, o);
        status = one > status ? one : status;
    }
    return status;
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rounds until the time is over, or something differs. */
int verify(const verify_options *o)
{
    double end = seconds() + 60 * o->minutes;
    int status;

    do
        status = verify_levels(o);
    while (status == OPT_GO && seconds() < end);
    return opt_end(status);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurement in lockstep-scale: the trainer of a count, and its ranks. */
#define _GNU_SOURCE
#include "scale/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --weak: the batch, and generated data, as many times. */
static int fold_settings(data_settings *s, int64_t fold)
{
    bool generated = !s->x && !s->path;

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
    status = fold_settings(&r->set.data, fold);
    return status == OPT_GO ? run_open_data(r) : status;
}

/* A scaling_open_fn. */
static int open_trainer(void *user, ls_pool *pool, int fold,
                        const ls_transport *transport, ls_trainer **trainer,
                        ls_batch **batch)
{
    scale *s = user;
    run *r = &s->run;

    r->transport = transport;
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

/* An scaling_fill_fn. */
static int fill(void *user, int64_t step, ls_batch *batch)
{
    scale *s = user;
    int64_t rows;

    s->status = data_fill(&s->run.data, step, batch, &rows);
    return s->status == OPT_GO ? 0 : LS_EUSER;
}

/* Say what runs; without a terminal once, and after the first run how long. */
static void progress_line(void *user, int at, int runs, int workers)
{
    scale *s = user;

    if (at == 0)
        s->began = opt_seconds();
    if (s->tells)
        fprintf(stderr, "\rrun %d of %d: %d worker%s    ", at + 1, runs,
                workers, opt_s(workers));
    else if (at == 0)
        fprintf(stderr, "measuring %s: %d run%s\n", run_model_name(&s->run),
                runs, opt_s(runs));
    else if (at == 1)
        fprintf(stderr, "the first run took %.1f s; about %.0f s to go\n",
                opt_seconds() - s->began,
                (runs - 1) * (opt_seconds() - s->began));
}

static int measure_rank(scale *s)
{
    scaling_options o = {0};
    ls_mesh_options mesh = ls_mesh_defaults();
    int status;

    o.open = open_trainer;
    o.transport = s->transport;
    o.n_ranks = s->n_ranks;
    o.ranks = s->ranks;
    o.fill = fill;
    o.progress = progress_line;
    o.user = s;
    mesh.devices = (int)s->run.how.devices;
    mesh.cpus = s->run.how.cpus;
    o.mesh = &mesh;
    o.n_workers = s->n_workers;
    o.workers = s->workers;
    o.weak = s->set.weak;
    o.no_roofs = s->set.no_roofs;
    o.precision = run_precision(&s->run);
    o.repeats = (int)s->set.repeats;
    o.steps = (int)s->set.steps;
    status = scaling_run(&s->scaling, &o);
    return s->status != OPT_GO ? s->status : opt_check(status);
}

/* ------ The load of other programs ------ */

/* Processor seconds of all of them, from the first line of /proc/stat ("cpu
 * user nice system idle iowait irq softirq steal .."), less our own. */
static double of_all(void)
{
    double user, nice, system, irq, soft;
    FILE *f = fopen("/proc/stat", "r");
    int n;

    if (!f)
        return 0;
    n = fscanf(f, "cpu %lf %lf %lf %*f %*f %lf %lf", &user, &nice, &system,
               &irq, &soft);
    fclose(f);
    return n == 5 ? (user + nice + system + irq + soft) /
                        (double)sysconf(_SC_CLK_TCK)
                  : 0;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static double of_others(void)
{
    struct rusage own;

    getrusage(RUSAGE_SELF, &own);
    return of_all() - seconds(own.ru_utime) - seconds(own.ru_stime);
}

/* Processors that others have used, on average; 0 where /proc/stat does not
 * say. */
static double used_since(double began, double theirs)
{
    double time = opt_seconds() - began, used = of_others() - theirs;

    return time > 0 && used > 0 ? used / time : 0;
}

int scale_measure(scale *s)
{
    double began, theirs;
    int status;

    s->tells = isatty(STDERR_FILENO) && launch_first(&s->launch);
    began = opt_seconds();
    theirs = of_others();
    status = measure_rank(s);
    if (s->tells)
        fprintf(stderr, "\r%40s\r", "");
    s->findings.others = used_since(began, theirs);
    return status;
}
